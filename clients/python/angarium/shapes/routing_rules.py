# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.routing_rules`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.shared import EventInput, FilterMember, PreviewDestination, PreviewRefusal
from angarium.shapes.words import DestinationStatus, Environment, Priority


class FilterErrors(TypedDict):
    """The failed evaluations of a rule's filter since it was written; an event whose evaluation
    fails does not match.
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
    # Null without a filter, or if it failed.
    filterValue: bool | None
    filterError: str | None
    # The values that the filter reads from the event, at most 8 members. Null in an embed session
    # without the permission `viewPayloads`.
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
    # Patterns. A * matches one segment; at the end, one or more. A single * matches all types but
    # angarium.*.
    eventTypes: list[str]
    # A CEL expression over `event` (eventType, payload, metadata, source, customerExternalId,
    # occurredAt), at most 2 KiB. Null: every event of these types.
    filter: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    enabled: NotRequired[bool | None]


class RuleTrial(TypedDict):
    """A trial rule, which is not stored. Without `destinationId` it has no destination."""

    name: NotRequired[str]
    destinationId: NotRequired[str | None]
    eventTypes: list[str]
    filter: NotRequired[str | None]
    priority: NotRequired[Priority | None]
    enabled: NotRequired[bool]


class PreviewInput(TypedDict):
    """An example event, as for `POST /events`, and an optional trial rule."""

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
    # The rules that name the type, and the trial rule.
    rules: list[PreviewRule]
    # Rules that name other types only.
    otherRules: int
    # Rules beyond 1,000, or beyond 1 MiB, which are not listed; other customers' rules come last.
    omittedRules: int
