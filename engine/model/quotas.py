"""Quotas of customers' accounts, and a workspace's settings for its customers' portal: records only.

A quota limits what a customer can do in embed sessions. Requests with the workspace's own API keys are
limited only by the plan.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct, structs


class Quota(Enum):
    """A kind of row that an account has a quota of. The values are field names of `Quotas` and `Used`."""

    DESTINATIONS = "destinations"
    RULES = "rules"
    TRANSFORMS = "transforms"


class Quotas(Struct, frozen=True, kw_only=True):
    """The quotas that a workspace has set for one account. None: the plan's quota applies."""

    destinations: int | None = None
    rules: int | None = None
    transforms: int | None = None
    requests_per_minute: int | None = None


class Ability(Enum):
    """An action that customers can take on their own resources, unless the workspace denies it."""

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


class Erasure(Struct, frozen=True):
    """The last request to erase a customer's contents. `events`: how many events are erased so far."""

    requested_at_ms: int
    finished_at_ms: int | None
    events: int


class CustomerAccount(Struct, frozen=True, kw_only=True):
    """One version of a customer's account. Version 0 is an account without a name, quotas or
    permissions of its own."""

    id: str
    environment: int
    external_id: str
    version: int = 0
    name: str | None = None
    quotas: Quotas = Quotas()
    permissions: Mapping[Ability, bool] = {}  # its own; they override the workspace's
    erasure: Erasure | None = None


class Used(Struct, frozen=True):
    """How many destinations, rules and transforms a customer's account has. Archived destinations do not
    count, nor do their rules and transforms. A number that has reached `at_most` can be too low (see
    `CustomerStore.used`).

    `tally` is not the sum of these numbers. It is a counter that rises by one whenever an embed session
    of the customer adds a row. By this counter, a session notices if another session adds a row at the
    same time."""

    tally: int
    destinations: int
    rules: int
    transforms: int

    def of(self, quota: Quota) -> int:
        number: int = getattr(self, quota.value)
        return number


class CustomerTally(Struct, frozen=True):
    """The tally of an account (see `Used`) when its quota was checked. After the check, a statement adds
    the caller's new row. If another session has added a row since the check, the account's tally has
    changed, and the statement fails."""

    account: str
    tally: int


class WorkspaceSettings(Struct, frozen=True, kw_only=True):
    """One version of a workspace's settings. Version 0 is the defaults: it applies until a caller writes
    the settings."""

    workspace: str
    version: int = 0
    branding: dict[str, Any] | None = None  # as callers wrote it, without null members
    origins: tuple[str, ...] = ()  # as browsers write them
    denied: frozenset[Ability] = frozenset()
    return_url: str | None = None  # where the portal's return link leads
    updated_at_ms: int | None = None

    def allows(self, ability: Ability) -> bool:
        return ability not in self.denied

    def for_customer(self, permissions: Mapping[Ability, bool]) -> "WorkspaceSettings":
        """Return the workspace's settings for one customer. `permissions`: the customer's own
        permissions, which override the permissions in the settings."""
        if not permissions:
            return self
        denied = frozenset(
            each for each in Ability if not permissions.get(each, each not in self.denied)
        )
        return structs.replace(self, denied=denied)
