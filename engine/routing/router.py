"""The router: it finds the destinations of an event in memory, by compiled rules.

There is a compiled route for each environment, event type and customer. After a change of rules,
schemas or destinations, a route is compiled again when it is next needed. Nothing here awaits.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Generic, TypeVar

from msgspec import Struct

from engine.core.destination import Destination
from engine.core.pattern_index import SLICE_STEPS, PatternIndex, Steps, names
from engine.core.records import Event
from engine.core.vocabulary import (
    CLASS_OF_PRIORITY,
    DeliveryClass,
    DestinationStatus,
    Priority,
)
from engine.filters import EvaluationError, Facts, Filter, FilterError, compile_filter, facts_of
from engine.model.identity import MAX_FANOUT
from engine.model.read_models import Models, PayloadCheck, RuleModel
from engine.routing.judging_time import JudgingTime
from engine.runtime.fair_cache import FairCache

R = TypeVar("R")
Key = tuple[int, str, str | None]

# The limits on the total weight of the routes in the cache (some 15 MB), and of one environment's routes.
# The weight of a route is the number of its rules, plus one.
MOST = 100_000
MOST_EACH = 25_000


class RouteCache(Generic[R]):
    """Owner of the compiled routes, each with the routing version from which it was compiled."""

    __slots__ = ("_cache", "found")

    def __init__(self) -> None:
        self._cache: FairCache[int, Key, tuple[int, R]] = FairCache(MOST, MOST_EACH)
        self.found = self._cache.found  # for the look-up of each event

    @property
    def weight(self) -> int:
        return self._cache.weight

    def put(self, key: Key, version: int, route: R, rules: int) -> None:
        """Keep a route. `rules`: the number of the route's rules. If the route's weight (`rules` + 1)
        exceeds MOST_EACH, the route is not kept."""
        self._cache.put(key[0], key, (version, route), rules + 1)


FILTER_STEPS = SLICE_STEPS // 2  # for the compilation of a filter, up to 6 ms: two in a slice
ORDERED = (
    20_000  # rules of one type that are sorted, in some 5 ms; more cannot each make a delivery
)


class Choice(Struct, frozen=True):
    """A destination that an event goes to, with the highest priority of the rules that chose it."""

    destination: Destination
    priority: Priority
    queue: DeliveryClass


Failed = Callable[[RuleModel, str], None]  # the rule whose filter failed, and why


class Alternative(Struct, frozen=True):
    """One rule that can choose a destination."""

    rule: RuleModel
    filter: Filter | None
    choice: Choice


class Candidate(Struct, frozen=True):
    """A destination that some events of the type go to. `options` has the destination's rules in order
    of priority, the highest first. It ends with the first rule without a filter: this rule always
    matches."""

    options: tuple[Alternative, ...]

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
    """The filters of one event type: they choose the destinations of each event by its content. `fields`
    has the members of the event that the filters read."""

    candidates: tuple[Candidate, ...]
    fields: frozenset[str]
    failed: Failed

    def choices(self, event: Event, pause: Callable[[], None] | None = None) -> tuple[Choice, ...]:
        """Return the destinations of an event. Each filter ends within a bounded number of steps, and
        calls `pause` after some of them."""
        facts = facts_of(event, self.fields, pause)
        found = (candidate.choice(facts, self.failed) for candidate in self.candidates)
        return tuple(choice for choice in found if choice is not None)


class CompiledRoute(Struct, frozen=True):
    """The route of events of one type and one customer, or no customer. If no rule has a filter,
    `plain` has the destinations. Otherwise `plain` is empty, and `filters` finds the destinations of
    each event."""

    plain: tuple[Choice, ...]
    check: PayloadCheck | None = None  # the active schema of the type
    filters: Filters | None = None

    def choices(self, event: Event, pause: Callable[[], None] | None = None) -> tuple[Choice, ...]:
        """Return the destinations of an event."""
        return self.plain if self.filters is None else self.filters.choices(event, pause)


class Router:
    """Owner of the routes of all environments, on the trio thread. The router calls `failed` for each
    filter that could not be evaluated.

    `judging` counts the CPU time of schemas, of filters, and of the compilation of routes. Compilations
    count because each event of a new type causes one.
    """

    def __init__(
        self, models: Models, failed: Failed | None = None, judging: JudgingTime | None = None
    ) -> None:
        self._models = models
        self.judging = judging or JudgingTime()
        self._failed = failed or _unheard
        self._routes: RouteCache[CompiledRoute] = RouteCache()
        self._own_routes: RouteCache[CompiledRoute] = RouteCache()

    def known(
        self, environment: int, event_type: str, customer: str | None
    ) -> CompiledRoute | None:
        """Return the route of an event type and a customer. None if it must be compiled first."""
        if customer is None:
            version = self._models.routing_version(environment)
        else:
            customer, version = self._audience(environment, customer)
        known = self._routes.found.get((environment, event_type, customer))
        if known is not None and known[0] == version:
            return known[1]
        return None

    def route(
        self,
        environment: int,
        event_type: str,
        customer: str | None = None,
        pause: Callable[[], None] | None = None,
    ) -> CompiledRoute:
        """Return the route of an event type and a customer. Compile it if it is new or out of date, and
        call `pause` after each slice of the compilation."""
        known = self.known(environment, event_type, customer)
        if known is not None:
            return known
        return self._compiled(self._routes, environment, event_type, customer, Steps(pause))

    def own_route(
        self,
        environment: int,
        event_type: str,
        customer: str | None = None,
        pause: Callable[[], None] | None = None,
    ) -> CompiledRoute:
        """Return the route of Angarium's own events of a type. Clients must not send such events.

        The route is kept in `_own_routes`. If it were in `_routes`, clients could send events of the
        type: ingestion accepts a type that has a route in `_routes` without a further check of the type.
        """
        audience, version = self._audience(environment, customer)
        known = self._own_routes.found.get((environment, event_type, audience))
        if known is not None and known[0] == version:
            return known[1]
        return self._compiled(self._own_routes, environment, event_type, customer, Steps(pause))

    def _audience(self, environment: int, customer: str | None) -> tuple[str | None, int]:
        """Return the customer and the routing version under which the routes of `customer` are kept.

        The returned customer is None if `customer` has no rules of its own. Its events then share the
        routes of events without a customer."""
        models = self._models
        version = models.routing_version(environment)
        if customer is None or models.index_of(environment, customer) is None:
            return None, version
        return customer, version + models.routing_version(environment, customer)

    def _compiled(
        self,
        cache: RouteCache[CompiledRoute],
        environment: int,
        event_type: str,
        customer: str | None,
        steps: Steps,
    ) -> CompiledRoute:
        """Compile a route, and keep it with the routing version from before the compilation. If rules
        change while the compilation pauses, this version is out of date. The route is then compiled again
        when an event needs it.
        """
        models = self._models
        audience, version = self._audience(environment, customer)
        check = models.check_of(environment, event_type)
        indexes = [models.index_of(environment, None)]
        if audience is not None:
            indexes.append(models.index_of(environment, audience))
        candidates = [
            candidate
            for index in indexes
            if index is not None
            for candidate in self._candidates(index, event_type, steps)
        ]
        options = [option for each in candidates for option in each.options]
        filters = [option.filter for option in options if option.filter is not None]
        if filters:
            fields = frozenset[str]().union(*(each.fields for each in filters))
            route = CompiledRoute((), check, Filters(tuple(candidates), fields, self._failed))
        else:
            route = CompiledRoute(tuple(each.options[0].choice for each in candidates), check)
        cache.put((environment, event_type, audience), version, route, len(options))
        return route

    def _candidates(
        self, index: PatternIndex[RuleModel], event_type: str, steps: Steps
    ) -> Iterator[Candidate]:
        """Yield the destinations that events of the type can go to. Stop after `MAX_FANOUT` + 1
        destinations that have a rule without a filter. An event of the type is refused in this case,
        because each of these destinations would get it.
        """
        matching = chain.from_iterable(index.portions(event_type, steps))
        first = list(islice(matching, ORDERED + 1))
        if len(first) <= ORDERED:
            first.sort(key=lambda rule: rule.id)  # so that processes agree on deliveries' order
        # For each destination, `plain` has the best of the rules that have no filter, or None. `filtered`
        # has the rules that have a filter, by their ids: they are few.
        plain: dict[str, RuleModel | None] = {}
        filtered: dict[str, dict[str, RuleModel]] = {}
        for number, rule in enumerate(chain(first, matching), 1):
            if number % SLICE_STEPS == 0:
                steps.spend(SLICE_STEPS)
            if rule.enabled:
                best = plain.setdefault(rule.destination, None)
                if rule.filter is not None:
                    filtered.setdefault(rule.destination, {})[rule.id] = rule
                elif best is None or _rank(rule) < _rank(best):
                    plain[rule.destination] = rule
        certain = 0
        for identifier, best in plain.items():
            steps.spend(1)
            destination = self._models.destinations[identifier]
            if destination.status is not DestinationStatus.ARCHIVED:
                yield _candidate(destination, best, filtered.get(identifier, {}).values(), steps)
                certain += best is not None
                if certain > MAX_FANOUT:
                    return


def matching_pattern(patterns: Iterable[str], event_type: str) -> str | None:
    """Return the first of the patterns that names an event type."""
    for pattern in patterns:
        if names(pattern, event_type):
            return pattern
    return None


def filter_of(rule: RuleModel) -> Filter | None:
    """Return a rule's filter. A filter that an older release accepted, but this one refuses, becomes a
    filter that always fails."""
    if rule.filter is None:
        return None
    try:
        return compile_filter(rule.filter)
    except FilterError as error:
        message = str(error)

        def refused(facts: Facts) -> bool:
            raise EvaluationError(message)

        return Filter(refused, frozenset())


def _rank(rule: RuleModel) -> tuple[int, bool, str]:
    return -rule.priority, rule.filter is not None, rule.id


def _candidate(
    destination: Destination, plain: RuleModel | None, filtered: Iterable[RuleModel], steps: Steps
) -> Candidate:
    rules = sorted(filtered, key=_rank)
    if plain is not None:
        rules = [*(rule for rule in rules if _rank(rule) < _rank(plain)), plain]
    options: list[Alternative] = []
    for rule in rules:
        if rule.filter is not None:
            steps.spend(FILTER_STEPS)
        choice = Choice(destination, rule.priority, CLASS_OF_PRIORITY[rule.priority])
        options.append(Alternative(rule, filter_of(rule), choice))
    return Candidate(tuple(options))


def _unheard(rule: RuleModel, message: str) -> None:
    """Ignore a failure, where failures are not counted."""
