"""The CPU cost of an event in the Python client: for events that a producer sends, and for single events
that one task or many tasks send."""

from bench.checks import require
from bench.programs import Module
from bench.service import Figures, Receiver, Service

EVENTS_A_SECOND = 8_000
MICROS_AN_EVENT = 60
MANY_OVER_ONE = 1.5  # CPU of an event with many tasks over that with one


def producer(
    service: Service, receiver: Receiver, *, events: int, singles: int, tasks: int
) -> Figures:
    """Measure a client that sends `events` events through `angarium.Producer`. Then alternately measure
    clients with one task and clients with `tasks` tasks. Each of these clients sends `singles` events,
    one event in a request.

    No rule matches the events, so the server makes no deliveries.
    """
    plan = {"url": service.url, "key": service.key, "singles": singles, "tasks": tasks}
    Module.run("bench.producer_client", plan={**plan, "events": max(1, events // 10)})
    found: Figures = Module.run("bench.producer_client", plan={**plan, "events": events})
    require(found.pop("accepted") == events, "the producer lost events")
    return found
