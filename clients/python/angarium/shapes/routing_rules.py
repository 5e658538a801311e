# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.routing_rules`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.shared import EventInput, FilterMember, PreviewDestination, PreviewRefusal
from angarium.shapes.words import DestinationStatus, Environment, Priority


class FilterErrors(TypedDict):
    """How often a rule's filter could not be evaluated since it was written; such an event does
    not match.
    """

    count: int
    lastAt: str
    lastMessage: str


class PreviewRule(TypedDict):
    """One rule's judgement of the event."""

    # Null for the rule to be tried.
    ruleId: str | None
    name: str
    destinationId: str | None
    destinationStatus: DestinationStatus | None
    enabled: bool
    # The first of `eventTypes` that matches the type.
    pattern: str | None
    # Whether the destination is the event's customer's, or tied to no customer.
    customerMatches: bool
    filter: str | None
    # Null without a filter, or if it failed.
    filterValue: bool | None
    filterError: str | None
    # The values that the filter reads from the event, 8 members at most.Null in an embed session
    # whose workspace does not let its customers `viewPayloads`.
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
    # Patterns: * is one segment, at the end one or more; * alone is everything but angarium.*.
    eventTypes: list[str]
    # A CEL expression over `event` (eventType, payload, metadata, source, customerExternalId,
    # occurredAt), at most 2 KiB. Null: every event of these types.
    filter: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    enabled: NotRequired[bool | None]


class RuleTrial(TypedDict):
    """A rule that is not there yet, to be tried. Without `destinationId` it is judged alone."""

    name: NotRequired[str]
    destinationId: NotRequired[str | None]
    eventTypes: list[str]
    filter: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    enabled: NotRequired[bool]


class PreviewInput(TypedDict):
    """An example event, as for `POST /events`, and a rule to be tried with it."""

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
    """The result of the rules for an event."""

    eventType: str
    customerExternalId: str | None
    accepted: bool
    refusal: PreviewRefusal | None
    destinations: list[PreviewDestination]
    # The rules that name the type, and the rule to be tried.
    rules: list[PreviewRule]
    # Rules that name other types only.
    otherRules: int
    # Rules that are not listed: beyond 1,000, or 1 MiB; other customers' last.
    omittedRules: int
