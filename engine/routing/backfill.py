"""The search for past events that the rules of one destination choose, in slices."""

from collections.abc import Callable, Sequence
from functools import partial

from engine.core.pattern_index import SLICE_STEPS, Steps
from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryClass, DeliveryKind, DeliveryOrigin, Origin
from engine.filters import facts_of
from engine.routing.router import Candidate, Choice, CompiledRoute, Router
from engine.runtime.slices import worked_off

EVENT_STEPS = SLICE_STEPS // 32  # of one event without filters, some 15 us


class DestinationRoutes:
    """The routes of past events, for replay jobs. Implements `engine.replay.ports.Routes`."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def meant(self, destination: str, events: Sequence[Event]) -> list[Event]:
        """Return the events for which the destination has a rule. Filters are not evaluated."""

        def work(pause: Callable[[], None]) -> list[Event]:
            steps, routes = Steps(pause), _Routes(self._router, destination, pause)
            found = []
            for event in events:
                steps.spend(EVENT_STEPS)
                if routes.of(event) is not None:
                    found.append(event)
            return found

        return await worked_off(work)

    async def chosen(self, destination: str, events: Sequence[Event]) -> list[Delivery]:
        return await worked_off(partial(self._chosen, destination, events))

    def _chosen(
        self, destination: str, events: Sequence[Event], pause: Callable[[], None]
    ) -> list[Delivery]:
        steps, routes = Steps(pause), _Routes(self._router, destination, pause)
        found = []
        for event in events:
            steps.spend(EVENT_STEPS)
            choice = _choice(routes.of(event), event, pause)
            if choice is not None:
                found.append(_delivery(event, choice))
        return found


_Found = tuple[CompiledRoute, Choice | Candidate]


class _Routes:
    """The routes of events to one destination, looked up once for each type and customer."""

    def __init__(self, router: Router, destination: str, pause: Callable[[], None]) -> None:
        self._router = router
        self._destination = destination
        self._pause = pause
        self._known: dict[tuple[str, str | None], _Found | None] = {}

    def of(self, event: Event) -> _Found | None:
        key = (event.type, event.customer)
        if key not in self._known:
            route = self._router.route(event.environment, event.type, event.customer, self._pause)
            self._known[key] = self._find(route)
        return self._known[key]

    def _find(self, route: CompiledRoute) -> _Found | None:
        if route.filters is None:
            for choice in route.plain:
                if choice.destination.id == self._destination:
                    return route, choice
            return None
        for candidate in route.filters.candidates:
            if candidate.options[0].choice.destination.id == self._destination:
                return route, candidate
        return None


def _choice(chosen: _Found | None, event: Event, pause: Callable[[], None]) -> Choice | None:
    if chosen is None:
        return None
    route, found = chosen
    if isinstance(found, Choice):
        return found
    assert route.filters is not None
    return found.choice(facts_of(event, route.filters.fields, pause), route.filters.failed)


def _delivery(event: Event, choice: Choice) -> Delivery:
    kind = DeliveryKind.FILE if event.origin is Origin.FILE else DeliveryKind.EVENT
    destination = choice.destination
    return Delivery(
        event.id,
        event,
        destination.id,
        DeliveryClass.REPLAY,
        event.lane,
        0,
        choice.priority,
        kind,
        DeliveryOrigin.REPLAY,
        destination.customer,
    )
