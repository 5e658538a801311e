"""The shapes of answers about routing rules."""

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from api.shapes import UNSEEN, ErrorDetail, Named
from engine.control.views import RuleDocument
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, Priority
from engine.drafts import Uuid, doc
from engine.model.instants import Timestamp
from engine.model.words import Word
from engine.routing.preview import Reason


class FilterErrors(TypedDict):
    """The failed evaluations of a rule's filter since the filter was written. If its evaluation for an
    event fails, the rule does not match the event."""

    count: int
    lastAt: Timestamp
    lastMessage: str


class RoutingRule(Named, RuleDocument):
    """A routing rule."""

    filterErrors: Annotated[FilterErrors | None, doc("Null if there were none.")]
    createdAt: Timestamp
    updatedAt: Timestamp


class PreviewRefusal(TypedDict):
    """The reason why the event would be refused: it does not match the active schema of its type."""

    code: str
    message: str
    details: list[ErrorDetail]


class PreviewDestination(TypedDict):
    """A destination that the event would reach."""

    destinationId: Uuid
    name: str
    status: Annotated[Literal["ACTIVE", "DISABLED"], doc("DISABLED: its deliveries are held.")]
    priority: Word[Priority]
    ruleId: Annotated[Uuid | None, doc("The rule that selects it; null for the trial rule.")]


class FilterMember(TypedDict):
    """A field of the event that a filter reads."""

    path: Annotated[str, doc("The path, such as `event.payload.total`.")]
    value: Annotated[
        str | None,
        doc("The value as JSON, cut off after 200 characters. Null: the event has no such field."),
    ]


class PreviewRule(TypedDict):
    """One rule's judgement of the event."""

    ruleId: Annotated[Uuid | None, doc("Null for the trial rule.")]
    name: str
    destinationId: Uuid | None
    destinationStatus: Word[DestinationStatus] | None
    enabled: bool
    pattern: Annotated[str | None, doc("The first of `eventTypes` that matches the type.")]
    customerMatches: Annotated[
        bool, doc("True if the destination belongs to the event's customer, or to no customer.")
    ]
    filter: str | None
    filterValue: Annotated[bool | None, doc("The filter's result. Null: no filter, or it failed.")]
    filterError: str | None
    filterRead: Annotated[
        list[FilterMember] | None,
        doc("The values that the filter reads from the event, at most 8. " + UNSEEN),
    ]
    priority: Word[Priority]
    matches: bool
    reason: Word[Reason]


class ExplainedRule(PreviewRule):
    """One present rule's judgement of an accepted event."""

    changedSince: Annotated[bool, doc("True if the rule was created or changed after the event.")]
    deliveryId: Annotated[
        Uuid | None, doc("The delivery to the rule's destination. Null: there is none.")
    ]


class RecordedDelivery(TypedDict):
    """A delivery made when the event was accepted."""

    deliveryId: Uuid
    destinationId: Uuid
    status: Word[DeliveryStatus]


class RulePreview(TypedDict):
    """The result of the routing rules for an example event."""

    eventType: str
    customerExternalId: str | None
    accepted: bool
    refusal: PreviewRefusal | None
    destinations: list[PreviewDestination]
    rules: Annotated[list[PreviewRule], doc("The rules for this type, and the trial rule.")]
    otherRules: Annotated[int, doc("The number of rules for other types only.")]
    omittedRules: Annotated[
        int,
        doc(
            "The number of rules that are not listed: `rules` has at most 1,000, and 1 MiB. Rules "
            "of other customers' destinations come last."
        ),
    ]


class EventExplanation(TypedDict):
    """The destinations that the present rules choose for an event, and its recorded deliveries."""

    eventId: Uuid
    eventType: str
    customerExternalId: str | None
    accepted: Annotated[bool, doc("True if the type's active schema accepts it.")]
    refusal: PreviewRefusal | None
    destinations: Annotated[
        list[PreviewDestination], doc("The destinations of the event by the present rules.")
    ]
    rules: Annotated[list[ExplainedRule], doc("The rules for its type: at most 1,000, and 1 MiB.")]
    otherRules: Annotated[int, doc("The number of rules for other types only.")]
    omittedRules: Annotated[int, doc("The number of rules that are not listed.")]
    recorded: Annotated[
        list[RecordedDelivery],
        doc("The deliveries made when the event was accepted, at most 1,000."),
    ]
    atLeast: Annotated[bool, doc("True if there can be more deliveries than `recorded` lists.")]


RULE_EXAMPLE: dict[str, Any] = {
    "name": "Orders to billing",
    "destinationId": "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01",
    "eventTypes": ["order.*"],
    "filter": "event.payload.total >= 100 && event.payload.country in ['DE', 'FR']",
    "priority": "STANDARD",
}
