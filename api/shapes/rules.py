"""The shapes of answers about routing rules."""

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from api.shapes import UNSEEN, ErrorDetail, Named
from engine.control.views import RuleDocument
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, Priority
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


class FilterMember(TypedDict):
    """A member of the event that a filter names."""

    path: Annotated[str, told("Such as `event.payload.total`.")]
    value: Annotated[
        str | None,
        told("As JSON, cut off after 200 characters. Null: the event has no such member."),
    ]


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
    filterRead: Annotated[
        list[FilterMember] | None,
        told("What the filter names of the event, 8 members at the most. " + UNSEEN),
    ]
    priority: Word[Priority]
    matches: bool
    reason: Word[Reason]


class ExplainedRule(PreviewRule):
    """What one rule says of an event that was accepted, by its present version."""

    changedSince: Annotated[bool, told("The rule was made or changed after the event.")]
    deliveryId: Annotated[
        Uuid | None, told("The delivery to its destination that the event had from the first.")
    ]


class RecordedDelivery(TypedDict):
    """A delivery that an event had from the first."""

    deliveryId: Uuid
    destinationId: Uuid
    status: Word[DeliveryStatus]


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
        int, told("Rules that are not listed: beyond 1,000, or 1 MiB; other customers' last.")
    ]


class EventExplanation(TypedDict):
    """Who got an event and why: the rules of now, and what was recorded."""

    eventId: Uuid
    eventType: str
    customerExternalId: str | None
    accepted: Annotated[bool, told("Whether the schema of now accepts it.")]
    refusal: PreviewRefusal | None
    destinations: Annotated[
        list[PreviewDestination], told("Those that it would go to by the rules of now.")
    ]
    rules: Annotated[list[ExplainedRule], told("The rules that name its type.")]
    otherRules: Annotated[int, told("Rules that name other types only.")]
    omittedRules: Annotated[int, told("Rules that are not listed: beyond 1,000, or 1 MiB.")]
    recorded: Annotated[
        list[RecordedDelivery], told("The deliveries that it had from the first, at most 1,000.")
    ]
    atLeast: Annotated[bool, told("There may be more in `recorded` than are listed.")]


RULE_EXAMPLE: dict[str, Any] = {
    "name": "Orders to billing",
    "destinationId": "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01",
    "eventTypes": ["order.*"],
    "filter": "event.payload.total >= 100 && event.payload.country in ['DE', 'FR']",
    "priority": "STANDARD",
}
