"""Routing rules, and what they would do with an event."""

from typing import Literal, TypedDict

from angarium.shapes.events import RefusedDetail
from angarium.shapes.vocabulary import DestinationStatus, Environment, Priority


class RuleChange(TypedDict, total=False):
    """A PATCH of a routing rule: what is absent stays."""

    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    priority: Priority
    enabled: bool


class FilterErrors(TypedDict):
    """How often a rule's filter gave neither true nor false since it was written."""

    count: int
    lastAt: str
    lastMessage: str


class RoutingRule(TypedDict):
    """Which events go to a destination. `filterErrors` is null where there were none."""

    id: str
    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    filterErrors: FilterErrors | None
    priority: Priority
    enabled: bool
    environment: Environment
    createdAt: str
    updatedAt: str


class PreviewRefusal(TypedDict):
    """Why the event would not be accepted."""

    code: str
    message: str
    details: list[RefusedDetail]


class PreviewDestination(TypedDict):
    """A destination that the event would go to, and by which rule (null: the one that is tried)."""

    destinationId: str
    name: str
    status: Literal["ACTIVE", "DISABLED"]
    priority: Priority
    ruleId: str | None


class PreviewRule(TypedDict):
    """What one rule says of the event."""

    ruleId: str | None
    name: str
    destinationId: str | None
    destinationStatus: DestinationStatus | None
    enabled: bool
    pattern: str | None
    customerMatches: bool
    filter: str | None
    filterValue: bool | None
    filterError: str | None
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


class RulePreview(TypedDict):
    """What would become of an event."""

    eventType: str
    customerExternalId: str | None
    accepted: bool
    refusal: PreviewRefusal | None
    destinations: list[PreviewDestination]
    rules: list[PreviewRule]
    otherRules: int
    omittedRules: int
