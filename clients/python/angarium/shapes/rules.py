"""Routing rules, and what they would do with an event."""

from typing import NotRequired, TypedDict

from angarium.shapes.vocabulary import Environment, JsonObject, Priority


class RuleChange(TypedDict, total=False):
    """A PATCH of a routing rule: what is absent stays."""

    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    priority: Priority
    enabled: bool


class FilterErrors(TypedDict):
    """How often a rule's filter could not be evaluated."""

    count: int
    lastAt: str | None
    lastMessage: str | None


class RoutingRule(TypedDict):
    """Which events go to a destination."""

    id: str
    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    filterErrors: NotRequired[FilterErrors | None]
    priority: Priority
    enabled: bool
    environment: Environment
    createdAt: str
    updatedAt: str


RulePreview = JsonObject
