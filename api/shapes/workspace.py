"""The shapes of answers about a workspace's settings, and about what a portal draws itself from."""

from typing import TYPE_CHECKING

from pydantic import Field

from api.shapes import Timestamp
from engine.control.workspace_settings import BrandColors, SettingsDraft
from engine.drafts import Document, Uuid, shown_of
from engine.model.words import EnvironmentName

if TYPE_CHECKING:
    from engine.control.workspace_settings import Branding, CustomerMay
else:  # what callers may leave out, answers hold
    from engine.control import workspace_settings as drafts

    Branding = shown_of(drafts.Branding, colors=shown_of(BrandColors))
    CustomerMay = shown_of(drafts.CustomerMay)


class Workspace(Document):
    """A workspace with its settings, which hold in all of its environments."""

    id: Uuid
    name: str
    plan: str
    branding: Branding
    allowed_origins: list[str] = Field(
        description=SettingsDraft.model_fields["allowed_origins"].description
    )
    customer_may: CustomerMay
    updated_at: Timestamp | None = Field(
        description="Of the settings; null: as they are by default."
    )


class EmbedLimits(Document):
    """What the workspace leaves to a customer."""

    requests_per_minute: int = Field(description="Of all sessions of this customer together.")
    destinations: int = Field(description="Of this customer, archived ones left out.")
    rules: int = Field(description="Routing rules of this customer's destinations.")
    transforms: int = Field(
        description="Transform scripts of this customer's destinations; 0: none."
    )
    retention_days: int = Field(description="How long events and deliveries are shown.")


class EmbedContext(Document):
    """What a portal needs to draw itself for whoever's session it has."""

    workspace_name: str
    environment: EnvironmentName
    customer_account_id: Uuid
    customer_external_id: str
    expires_at: Timestamp = Field(description="When the session ends. Ask for another one before.")
    branding: Branding
    locale: str = Field(description="That of the branding; `en` where it has none.")
    permissions: CustomerMay = Field(
        description="What to offer: what the workspace lets its customers do, and its plan allows."
    )
    limits: EmbedLimits
