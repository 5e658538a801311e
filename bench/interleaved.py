"""Comparisons of two ways to do the same work. The two ways are measured in turns, so that noise of the
machine affects both equally."""

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.checks import require, whole
from bench.intervals import paired, ratios
from bench.limits import verdict
from bench.results import Measurement
from bench.service import Figures, Receiver, Service
from bench.work import work

BASE = "ANGARIUM_BENCH_BASE"
NEW_OVER_OLD = 1.03  # CPU for an event with unused features, compared with the tree without them
FILTER = 'event.payload.order.total > 100 && event.payload.order.currency == "EUR"'
SCHEMA = {
    "type": "object",
    "required": ["n", "order", "customer", "items"],
    "properties": {
        "n": {"type": "integer", "minimum": 0},
        "order": {
            "type": "object",
            "required": ["id", "total", "currency"],
            "properties": {
                "id": {"type": "string", "maxLength": 64},
                "total": {"type": "integer", "minimum": 0},
                "currency": {"enum": ["EUR", "USD", "GBP"]},
            },
        },
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["sku", "qty"],
                "properties": {"sku": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}},
            },
        },
    },
}


@dataclass(frozen=True)
class Cost:
    """The CPU time for an event, divided by the CPU time of a bare request and its answer (the floor),
    which was measured just before. `void`: the reason why the measurement does not count; empty if it
    counts."""

    times_floor: float
    void: str


def cost(service: Service, receiver: Receiver, **plan: object) -> Cost:
    """Run a load generator's plan, and return the cost of an event. Each event must make one delivery.
    Raises Broken unless all events were accepted, arrived once, and were recorded."""
    floor = receiver.floor(service.floor_requests)
    done = work(service, receiver, plan, lambda accepted: accepted)
    accepted, events = done.sent["accepted"], plan["events"]
    require(accepted == events, f"accepted {accepted} of {events}: {done.sent['answers']}")
    whole(done.sent, done.stats)
    _, void = verdict(done.sent, done.stats)
    return Cost(done.cpu_s / accepted * 1e6 / floor, void)


def in_turns(
    rounds: int,
    first: Callable[[], Cost],
    second: Callable[[], Cost],
    *,
    most: int = 0,
    wide: float = 0.0,
) -> Measurement:
    """Measure `first` and `second` once in each round, in alternating order, after a warm-up round.

    The result has the ratio of the second cost to the first. After `rounds` rounds, further rounds follow
    until the confidence interval of this ratio is at most `wide` wide, or until there are `most` rounds.
    """
    sides = (first, second)
    for side in sides:
        side()
    found: tuple[list[Cost], list[Cost]] = ([], [])
    ones: list[float] = []
    others: list[float] = []
    while len(ones) < rounds or (len(ones) < most and _wide(ones, others) > wide):
        for place in (1, 0) if len(ones) % 2 else (0, 1):
            found[place].append(sides[place]())
        ones, others = ([each.times_floor for each in costs] for costs in found)
    measurement = Measurement(
        {
            "firstTimesFloor": round(statistics.median(ones), 2),
            "secondTimesFloor": round(statistics.median(others), 2),
            **ratios("ratio", ones, others),
        }
    )
    if void := next((each.void for each in (*found[0], *found[1]) if each.void), ""):
        measurement.verdict, measurement.reason = "void", void
    return measurement


def _wide(ones: list[float], others: list[float]) -> float:
    interval = paired(ones, others)
    return interval.high - interval.low


def features(
    service: Service, receiver: Receiver, *, events: int, connections: int, rounds: int
) -> Measurement:
    """Compare events that pass a filter and an active schema with events that have neither."""
    service.destination(receiver.url + "/plain", ["plain"], concurrency=64)
    guarded = service.destination(receiver.url + "/guarded", ["guarded"], concurrency=64)
    (rule,) = service.api("GET", f"/routing-rules?destinationId={guarded}")["items"]
    service.api("PATCH", f"/routing-rules/{rule['id']}", {"filter": FILTER})
    schema = service.api("POST", "/schemas", {"eventType": "guarded", "schema": SCHEMA})
    service.api("POST", f"/schemas/{schema['id']}/activate", {})
    plan: Figures = {"events": events, "connections": connections}
    return in_turns(
        rounds,
        lambda: cost(service, receiver, event_type="plain", **plan),
        lambda: cost(service, receiver, event_type="guarded", **plan),
    )


def against(
    service: Service,
    receiver: Receiver,
    *,
    events: int,
    connections: int,
    batch: int,
    rate: int,
    rounds: int,
) -> Measurement:
    """Compare another source tree (first) with this source tree (second). The environment variable
    ANGARIUM_BENCH_BASE names the other tree; without the variable, this tree is compared with itself.

    `rate`: events a second. If it is 0, a connection posts again as soon as it has an answer.
    """
    tree = os.environ.get(BASE)
    with Service(root=None if tree is None else Path(tree)) as other:
        for each in (other, service):
            each.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
        plan: Figures = {
            "events": events,
            "connections": connections,
            "batch": batch,
            "rate": rate,
        }
        require(other.port != service.port, "both have the same server")
        return in_turns(
            rounds,
            lambda: cost(other, receiver, **plan),
            lambda: cost(service, receiver, **plan),
        )
