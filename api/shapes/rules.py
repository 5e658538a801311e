"""The shapes of answers about routing rules."""

from typing import Any, Literal

from pydantic import Field

from api.shapes import ErrorDetail, Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import DestinationStatusName, EnvironmentName, PriorityName


class FilterErrors(Document):
    """How often a rule's filter gave neither true nor false since it was written; such an event does not
    match."""

    count: int
    last_at: Timestamp
    last_message: str


class RoutingRule(Document):
    """A routing rule."""

    id: Uuid
    environment: EnvironmentName
    name: str
    destination_id: Uuid
    event_types: list[str]
    filter: str | None
    filter_errors: FilterErrors | None = Field(description="Null where there were none.")
    priority: PriorityName
    enabled: bool
    created_at: Timestamp
    updated_at: Timestamp


class PreviewRefusal(Document):
    """Why the event would not be accepted: the active schema of its type refuses it."""

    code: str
    message: str
    details: list[ErrorDetail]


class PreviewDestination(Document):
    """A destination that the event would go to."""

    destination_id: Uuid
    name: str
    status: Literal["ACTIVE", "DISABLED"] = Field(description="DISABLED holds its deliveries.")
    priority: PriorityName
    rule_id: Uuid | None = Field(description="By which rule; null: by the one that is tried.")


class PreviewRule(Document):
    """What one rule says of the event."""

    rule_id: Uuid | None = Field(description="Null for the rule that is tried.")
    name: str
    destination_id: Uuid | None
    destination_status: DestinationStatusName | None
    enabled: bool
    pattern: str | None = Field(description="Of `eventTypes`, the first that names the type.")
    customer_matches: bool = Field(
        description="Whether the destination is the customer's, or tied to none."
    )
    filter: str | None
    filter_value: bool | None = Field(description="Null without a filter, or where it failed.")
    filter_error: str | None
    priority: PriorityName
    matches: bool
    reason: Literal[
        "MATCHES", "OTHER_TYPE", "RULE_DISABLED", "DESTINATION_ARCHIVED", "OTHER_CUSTOMER",
        "FILTER_FALSE", "FILTER_FAILED",
    ]  # fmt: skip


class RulePreview(Document):
    """What would become of an event."""

    event_type: str
    customer_external_id: str | None
    accepted: bool
    refusal: PreviewRefusal | None
    destinations: list[PreviewDestination]
    rules: list[PreviewRule] = Field(
        description="The rules that name the type, and the one that is tried."
    )
    other_rules: int = Field(description="Rules that name other types only.")
    omitted_rules: int = Field(
        description="Rules that are not listed: beyond 1,000, other customers' last."
    )


RULE_EXAMPLE: dict[str, Any] = {
    "name": "Orders to billing",
    "destinationId": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
    "eventTypes": ["order.*"],
    "filter": "event.payload.total >= 100 && event.payload.country in ['DE', 'FR']",
    "priority": "STANDARD",
}
