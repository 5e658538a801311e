"""The shapes of answers about a workspace's settings, and about what a portal draws itself from."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from engine.control.workspace_settings import BrandColors, Branding, CustomerMay, SettingsDraft
from engine.core.vocabulary import Environment
from engine.drafts import DocumentedAs, Uuid, shown_of, told
from engine.model.instants import Timestamp
from engine.model.words import Word

# What callers may leave out, answers hold.
Looks = Annotated[dict[str, Any], DocumentedAs(shown_of(Branding, colors=shown_of(BrandColors)))]
Abilities = Annotated[dict[str, bool], DocumentedAs(shown_of(CustomerMay))]


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

    workspaceName: str
    environment: Word[Environment]
    customerAccountId: Uuid
    customerExternalId: str
    expiresAt: Annotated[Timestamp, told("When the session ends. Ask for another one before.")]
    branding: Looks
    locale: Annotated[str, told("That of the branding; `en` where it has none.")]
    permissions: Annotated[
        Abilities,
        told("What to offer: what the workspace lets its customers do, and its plan allows."),
    ]
    limits: EmbedLimits
