"""Where an event goes: rules compiled per environment and event type, looked up in memory.

A compiled route is thrown away when anything of its environment changes. Nothing here awaits.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from engine.core.destination import Destination
from engine.core.vocabulary import (
    CLASS_OF_PRIORITY,
    DeliveryClass,
    DestinationStatus,
    Priority,
)
from engine.event_json import check_type
from engine.models import Models, PayloadCheck

COMPILED_ROUTES = 10_000  # tenants choose event types: a bound, about 10 MB, then all start over
_EVERYTHING = "*"


class Choice(Struct, frozen=True):
    """A destination that an event goes to, with the highest priority of the rules that chose it."""

    destination: Destination
    priority: Priority
    queue: DeliveryClass


class Route(Struct, frozen=True):
    """Where events of one type go: to `everyone`'s always, to a customer's own besides."""

    everyone: tuple[Choice, ...]
    of_customer: dict[str, tuple[Choice, ...]]
    check: PayloadCheck | None = None  # the active schema of the type

    def choices(self, customer: str | None) -> tuple[Choice, ...]:
        """Return the destinations of an event of `customer` (its customerExternalId)."""
        if customer is None or not self.of_customer:
            return self.everyone
        return self.everyone + self.of_customer.get(customer, ())


@lru_cache(4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of an event type pattern.

    A `*` stands for one segment between dots, at the end for one or more; `*` alone is everything
    but the service's own `angarium.` types.
    """
    if pattern == _EVERYTHING:
        return re.compile(r"(?!angarium\.).+")
    segments = [r"[^.]+" if part == "*" else re.escape(part) for part in pattern.split(".")]
    if pattern.endswith(".*"):
        segments[-1] = r".+"
    own = "" if pattern.startswith("angarium.") else r"(?!angarium\.)"
    return re.compile(own + r"\.".join(segments))


class Router:
    """Routes of all environments. Owner of the compiled routes: the trio thread."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._routes: dict[tuple[int, str], tuple[int, Route]] = {}

    def route(self, environment: int, event_type: str) -> Route:
        """Return where events of a type go, compiling it when it is new or out of date.

        Raises Refusal for what is no event type.
        """
        version = self._models.routing_version(environment)
        known = self._routes.get((environment, event_type))
        if known is not None and known[0] == version:
            return known[1]
        check_type(event_type)
        if len(self._routes) >= COMPILED_ROUTES:
            self._routes.clear()
        route = self._compile(environment, event_type)
        self._routes[environment, event_type] = (version, route)
        return route

    def _compile(self, environment: int, event_type: str) -> Route:
        best: dict[str, Priority] = {}
        for rule in self._models.rules_of(environment):
            if rule.enabled and _matches(rule.event_types, event_type):
                best[rule.destination] = max(
                    rule.priority, best.get(rule.destination, rule.priority)
                )
        everyone: list[Choice] = []
        of_customer: dict[str, list[Choice]] = {}
        for identifier, priority in best.items():
            destination = self._models.destinations.get(identifier)
            if destination is None or destination.status is DestinationStatus.ARCHIVED:
                continue
            choice = Choice(destination, priority, CLASS_OF_PRIORITY[priority])
            if destination.customer is None:
                everyone.append(choice)
            else:
                of_customer.setdefault(destination.customer, []).append(choice)
        return Route(
            tuple(everyone),
            {key: tuple(value) for key, value in of_customer.items()},
            self._models.check_of(environment, event_type),
        )


def _matches(patterns: Iterable[str], event_type: str) -> bool:
    return any(compile_pattern(pattern).fullmatch(event_type) for pattern in patterns)
