"""Where an event goes: rules compiled per environment and event type, looked up in memory.

A compiled route is thrown away when anything of its environment changes. Where no rule of a type has a
filter, the choice depends on the customer alone. Nothing here awaits.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct

from engine.core.destination import Destination
from engine.core.records import Event
from engine.core.vocabulary import (
    CLASS_OF_PRIORITY,
    DeliveryClass,
    DestinationStatus,
    Priority,
)
from engine.event_json import check_type
from engine.filters import EvaluationError, Facts, Filter, FilterError, compile_filter, facts_of
from engine.judging_time import JudgingTime
from engine.models import Models, PayloadCheck, Rule

COMPILED_ROUTES = 10_000  # tenants choose event types: a bound, about 10 MB, then all start over
_EVERYTHING = "*"
_OWN = "angarium."


class Choice(Struct, frozen=True):
    """A destination that an event goes to, with the highest priority of the rules that chose it."""

    destination: Destination
    priority: Priority
    queue: DeliveryClass


Failed = Callable[[Rule, str], None]  # a rule's filter said neither true nor false: why


class Option(Struct, frozen=True):
    """One rule's way to a destination."""

    rule: Rule
    filter: Filter | None
    choice: Choice


class Candidate(Struct, frozen=True):
    """A destination that some events of the type go to: its rules, the highest priority first, up to the
    first without a filter."""

    options: tuple[Option, ...]

    def choice(self, facts: Facts, failed: Failed) -> Choice | None:
        """Return the choice of the first rule that matches."""
        for option in self.options:
            if option.filter is None:
                return option.choice
            try:
                if option.filter.matches(facts):
                    return option.choice
            except EvaluationError as error:
                failed(option.rule, str(error))
        return None


class Filters(Struct, frozen=True):
    """Where events of one type may go, where that depends on the event. `fields`: those that are read."""

    everyone: tuple[Candidate, ...]
    of_customer: dict[str, tuple[Candidate, ...]]
    fields: frozenset[str]
    failed: Failed

    def choices(self, event: Event, pause: Callable[[], None] | None = None) -> tuple[Choice, ...]:
        """Return the destinations of an event. Each filter ends within a bounded number of steps, and
        calls `pause` after some of them."""
        candidates = self.everyone
        if event.customer is not None and self.of_customer:
            candidates += self.of_customer.get(event.customer, ())
        facts = facts_of(event, self.fields, pause)
        found = (candidate.choice(facts, self.failed) for candidate in candidates)
        return tuple(choice for choice in found if choice is not None)


class Route(Struct, frozen=True):
    """Where events of one type go: to `everyone`'s always, to a customer's own besides; where a rule of
    the type has a filter, as `filters` say."""

    everyone: tuple[Choice, ...]
    of_customer: dict[str, tuple[Choice, ...]]
    check: PayloadCheck | None = None  # the active schema of the type
    filters: Filters | None = None

    def choices(self, event: Event) -> tuple[Choice, ...]:
        """Return the destinations of an event."""
        if self.filters is not None:
            return self.filters.choices(event)
        if event.customer is None or not self.of_customer:
            return self.everyone
        return self.everyone + self.of_customer.get(event.customer, ())


def names(pattern: str, event_type: str) -> bool:
    """Whether a pattern names an event type, as the expression of `compile_pattern` says.

    By hand, since a thousand rules may have a hundred thousand patterns, and each takes an expression
    100 us to be compiled: what is left here is 0.1 us for most.
    """
    star = pattern.find("*")
    if star < 0:
        return pattern == event_type
    if not event_type.startswith(pattern[:star]):
        return False
    if event_type.startswith(_OWN) and not pattern.startswith(_OWN):
        return False
    parts, segments = pattern.split("."), event_type.split(".")
    if parts[-1] == "*":
        parts.pop()
        if not any(segments[len(parts) :]) and len(segments) <= len(parts) + 1:
            return False
    elif len(parts) != len(segments):
        return False
    return all(
        part == segment or (part == "*" and segment != "")
        for part, segment in zip(parts, segments, strict=False)
    )


@lru_cache(4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of an event type pattern, for who reads the log by it.

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
    """Routes of all environments. Owner of the compiled routes: the trio thread. `failed` is told of
    filters that could not be evaluated; `judging` has the time of schemas, filters, and the compilation
    of routes, of which whoever sends ever new types asks one for each event."""

    def __init__(
        self, models: Models, failed: Failed | None = None, judging: JudgingTime | None = None
    ) -> None:
        self._models = models
        self.judging = judging or JudgingTime()
        self._failed = failed or _unheard
        self._routes: dict[tuple[int, str], tuple[int, Route]] = {}
        self._own_routes: dict[tuple[int, str], tuple[int, Route]] = {}

    def route(self, environment: int, event_type: str) -> Route:
        """Return where events of a type go, compiling it when it is new or out of date.

        Raises Refusal for what is no event type, or one of the service's own, and `overloaded`.
        """
        version = self._models.routing_version(environment)
        known = self._routes.get((environment, event_type))
        if known is not None and known[0] == version:
            return known[1]
        check_type(event_type)
        judging = self.judging
        judging.admit(environment)
        if len(self._routes) >= COMPILED_ROUTES:
            self._routes.clear()
        began = judging.cpu()
        route = self._compile(environment, event_type)
        judging.charge(environment, judging.cpu() - began, 0)
        self._routes[environment, event_type] = (version, route)
        return route

    def own_route(self, environment: int, event_type: str) -> Route:
        """Return where the service's own events of a type go."""
        version = self._models.routing_version(environment)
        known = self._own_routes.get((environment, event_type))
        if known is not None and known[0] == version:
            return known[1]
        if len(self._own_routes) >= COMPILED_ROUTES:
            self._own_routes.clear()
        route = self._compile(environment, event_type)
        self._own_routes[environment, event_type] = (version, route)
        return route

    def _compile(self, environment: int, event_type: str) -> Route:
        found: dict[str, list[Rule]] = {}
        for rule in self._models.rules_of(environment):
            if rule.enabled and matching_pattern(rule.event_types, event_type) is not None:
                found.setdefault(rule.destination, []).append(rule)
        everyone: list[Candidate] = []
        of_customer: dict[str, list[Candidate]] = {}
        for identifier, rules in found.items():
            destination = self._models.destinations.get(identifier)
            if destination is None or destination.status is DestinationStatus.ARCHIVED:
                continue
            candidate = _candidate(destination, rules)
            if destination.customer is None:
                everyone.append(candidate)
            else:
                of_customer.setdefault(destination.customer, []).append(candidate)
        return self._route(
            tuple(everyone),
            {key: tuple(value) for key, value in of_customer.items()},
            self._models.check_of(environment, event_type),
        )

    def _route(
        self,
        everyone: tuple[Candidate, ...],
        of_customer: dict[str, tuple[Candidate, ...]],
        check: PayloadCheck | None,
    ) -> Route:
        fields: set[str] = set()
        filtered = False
        for candidates in (everyone, *of_customer.values()):
            for option in (option for each in candidates for option in each.options):
                if option.filter is not None:
                    filtered = True
                    fields |= option.filter.fields
        if filtered:
            return Route(
                (), {}, check, Filters(everyone, of_customer, frozenset(fields), self._failed)
            )
        return Route(
            _firsts(everyone),
            {key: _firsts(candidates) for key, candidates in of_customer.items()},
            check,
        )


def matching_pattern(patterns: Iterable[str], event_type: str) -> str | None:
    """Return the first of the patterns that names an event type."""
    for pattern in patterns:
        if names(pattern, event_type):
            return pattern
    return None


def filter_of(rule: Rule) -> Filter | None:
    """Return a rule's filter. One that was written before the rules became stricter fails always."""
    if rule.filter is None:
        return None
    try:
        return compile_filter(rule.filter)
    except FilterError as error:
        message = str(error)

        def refused(facts: Facts) -> bool:
            raise EvaluationError(message)

        return Filter(rule.filter, refused, frozenset())


def _candidate(destination: Destination, rules: list[Rule]) -> Candidate:
    options: list[Option] = []
    for rule in sorted(rules, key=lambda rule: (-rule.priority, rule.filter is not None, rule.id)):
        choice = Choice(destination, rule.priority, CLASS_OF_PRIORITY[rule.priority])
        options.append(Option(rule, filter_of(rule), choice))
        if rule.filter is None:
            break
    return Candidate(tuple(options))


def _firsts(candidates: tuple[Candidate, ...]) -> tuple[Choice, ...]:
    return tuple(candidate.options[0].choice for candidate in candidates)


def _unheard(rule: Rule, message: str) -> None:
    """Ignore a failure: where no one counts them."""
