"""Settings of a workspace for its customers' portal: looks, origins, abilities. Values alone."""

from enum import Enum
from typing import Any

from msgspec import Struct


class Ability(Enum):
    """An action that customers may take on their own things, unless the workspace denies it."""

    CREATE_DESTINATIONS = "createDestinations"
    EDIT_DESTINATIONS = "editDestinations"
    SWITCH_DESTINATIONS = "switchDestinations"
    ARCHIVE_DESTINATIONS = "archiveDestinations"
    TEST_DESTINATIONS = "testDestinations"
    EDIT_HEADERS = "editHeaders"
    EDIT_DELIVERY_OPTIONS = "editDeliveryOptions"
    ROTATE_SECRETS = "rotateSecrets"
    MANAGE_RULES = "manageRules"
    MANAGE_TRANSFORMS = "manageTransforms"
    RETRY_DELIVERIES = "retryDeliveries"
    DISCARD_DELIVERIES = "discardDeliveries"
    REPLAY = "replay"
    VIEW_PAYLOADS = "viewPayloads"


class WorkspaceSettings(Struct, frozen=True, kw_only=True):
    """One version of a workspace's settings. Version 0 holds until one is written."""

    workspace: str
    version: int = 0
    branding: dict[str, Any] | None = None  # as callers wrote it, without null members
    origins: tuple[str, ...] = ()  # as browsers write them
    denied: frozenset[Ability] = frozenset()
    return_url: str | None = None  # where a portal leads back to
    updated_at_ms: int | None = None

    def allows(self, ability: Ability) -> bool:
        """Return True if customers have an ability."""
        return ability not in self.denied
