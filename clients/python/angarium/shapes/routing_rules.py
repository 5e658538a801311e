# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.routing_rules`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.shared import EventInput, FilterMember, PreviewDestination, PreviewRefusal
from angarium.shapes.words import DestinationStatus, Environment, Priority


class FilterErrors(TypedDict):
    """The failed evaluations of a rule's filter since the filter was written. If its evaluation
    for an event fails, the rule does not match the event.
    """

    count: int
    lastAt: str
    lastMessage: str


class PreviewRule(TypedDict):
    """One rule's judgement of the event."""

    # Null for the trial rule.
    ruleId: str | None
    name: str
    destinationId: str | None
    destinationStatus: DestinationStatus | None
    enabled: bool
    # The first of `eventTypes` that matches the type.
    pattern: str | None
    # True if the destination belongs to the event's customer, or to no customer.
    customerMatches: bool
    filter: str | None
    # The filter's result. Null: no filter, or it failed.
    filterValue: bool | None
    filterError: str | None
    # The values that the filter reads from the event, at most 8. Null in an embed session without
    # the permission `viewPayloads`.
    filterRead: list[FilterMember] | None
    priority: Priority
    matches: bool
    reason: Literal[
        "MATCHES",
        "OTHER_TYPE",
        "RULE_DISABLED",
        "DESTINATION_ARCHIVED",
        "OTHER_CUSTOMER",
        "FILTER_FALSE",
        "FILTER_FAILED",
    ]


class RuleDraft(TypedDict):
    """A routing rule as a caller writes it."""

    name: str
    destinationId: str
    # Patterns, such as `order.*`. A * matches one segment; at the end, one or more. A single *
    # matches all types except angarium.*.
    eventTypes: list[str]
    # A CEL expression over `event` (eventType, payload, metadata, source, customerExternalId,
    # occurredAt), at most 2 KiB. Null: every event of these types.
    filter: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    enabled: NotRequired[bool | None]


class RuleTrial(TypedDict):
    """A rule to try, which is not stored. `destinationId` can be left out."""

    name: NotRequired[str]
    destinationId: NotRequired[str | None]
    eventTypes: list[str]
    filter: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    enabled: NotRequired[bool]


class PreviewInput(TypedDict):
    """An example event, as for `POST /events`, and optionally a rule to try."""

    event: EventInput
    rule: NotRequired[RuleTrial | None]


class RoutingRule(TypedDict):
    """A routing rule."""

    id: str
    environment: Environment
    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    priority: Priority
    enabled: bool
    # Null if there were none.
    filterErrors: FilterErrors | None
    createdAt: str
    updatedAt: str


class RulePreview(TypedDict):
    """The result of the routing rules for an example event."""

    eventType: str
    customerExternalId: str | None
    accepted: bool
    refusal: PreviewRefusal | None
    destinations: list[PreviewDestination]
    # The rules for this type, and the trial rule.
    rules: list[PreviewRule]
    # The number of rules for other types only.
    otherRules: int
    # The number of rules that are not listed: `rules` has at most 1,000, and 1 MiB. Rules of other
    # customers' destinations come last.
    omittedRules: int
