"""The shapes of answers about a workspace's settings, and about what a portal draws itself from."""

from typing import Annotated

from typing_extensions import TypedDict

from api.shapes import PERMISSIONS, Abilities, Looks, ReturnUrl
from engine.control.workspace_settings import SettingsDraft
from engine.core.vocabulary import Environment
from engine.drafts import Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import Word


class Workspace(TypedDict):
    """A workspace with its settings, which hold in all of its environments."""

    id: Uuid
    name: str
    plan: str
    branding: Looks
    allowedOrigins: Annotated[
        list[str], told(SettingsDraft.model_fields["allowed_origins"].description)
    ]
    customerMay: Abilities
    returnUrl: ReturnUrl
    updatedAt: Annotated[Timestamp | None, told("Of the settings; null: as they are by default.")]


class EmbedLimits(TypedDict):
    """What the workspace leaves to a customer."""

    requestsPerMinute: Annotated[int, told("Of all sessions of this customer together.")]
    destinations: Annotated[int, told("Of this customer, archived ones left out.")]
    rules: Annotated[int, told("Routing rules of this customer's destinations.")]
    transforms: Annotated[int, told("Transform scripts of this customer's destinations; 0: none.")]
    retentionDays: Annotated[int, told("How long events and deliveries are shown.")]


class EmbedContext(TypedDict):
    """What a portal needs to draw itself for whoever's session it has."""

    workspaceId: Uuid
    workspaceName: str
    environment: Word[Environment]
    customerAccountId: Uuid
    customerExternalId: str
    expiresAt: Annotated[Timestamp, told("When the session ends. Ask for another one before.")]
    branding: Looks
    locale: Annotated[str, told("That of the branding; `en` where it has none.")]
    permissions: Annotated[Abilities, told(PERMISSIONS)]
    returnUrl: ReturnUrl
    limits: EmbedLimits
