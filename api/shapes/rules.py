"""The shapes of answers about routing rules."""

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from api.shapes import ErrorDetail, Named
from engine.control.views import RuleDocument
from engine.core.vocabulary import DestinationStatus, Priority
from engine.drafts import Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import Word
from engine.routing.preview import Reason


class FilterErrors(TypedDict):
    """How often a rule's filter gave neither true nor false since it was written; such an event does not
    match."""

    count: int
    lastAt: Timestamp
    lastMessage: str


class RoutingRule(Named, RuleDocument):
    """A routing rule."""

    filterErrors: Annotated[FilterErrors | None, told("Null where there were none.")]
    createdAt: Timestamp
    updatedAt: Timestamp


class PreviewRefusal(TypedDict):
    """Why the event would not be accepted: the active schema of its type refuses it."""

    code: str
    message: str
    details: list[ErrorDetail]


class PreviewDestination(TypedDict):
    """A destination that the event would go to."""

    destinationId: Uuid
    name: str
    status: Annotated[Literal["ACTIVE", "DISABLED"], told("DISABLED holds its deliveries.")]
    priority: Word[Priority]
    ruleId: Annotated[Uuid | None, told("By which rule; null: by the one that is tried.")]


class PreviewRule(TypedDict):
    """What one rule says of the event."""

    ruleId: Annotated[Uuid | None, told("Null for the rule that is tried.")]
    name: str
    destinationId: Uuid | None
    destinationStatus: Word[DestinationStatus] | None
    enabled: bool
    pattern: Annotated[str | None, told("Of `eventTypes`, the first that names the type.")]
    customerMatches: Annotated[
        bool, told("Whether the destination is the customer's, or tied to none.")
    ]
    filter: str | None
    filterValue: Annotated[bool | None, told("Null without a filter, or where it failed.")]
    filterError: str | None
    priority: Word[Priority]
    matches: bool
    reason: Word[Reason]


class RulePreview(TypedDict):
    """What would become of an event."""

    eventType: str
    customerExternalId: str | None
    accepted: bool
    refusal: PreviewRefusal | None
    destinations: list[PreviewDestination]
    rules: Annotated[
        list[PreviewRule], told("The rules that name the type, and the one that is tried.")
    ]
    otherRules: Annotated[int, told("Rules that name other types only.")]
    omittedRules: Annotated[
        int, told("Rules that are not listed: beyond 1,000, other customers' last.")
    ]


RULE_EXAMPLE: dict[str, Any] = {
    "name": "Orders to billing",
    "destinationId": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
    "eventTypes": ["order.*"],
    "filter": "event.payload.total >= 100 && event.payload.country in ['DE', 'FR']",
    "priority": "STANDARD",
}
