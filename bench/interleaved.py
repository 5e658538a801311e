"""Comparisons of two ways to do the same work, taken in turns: a noisy machine disturbs both alike.

What is stated is the ratio of CPU an event, each over the floor of its minute, with a 95 % confidence
interval over the rounds.
"""

import os
import statistics
from collections.abc import Callable
from pathlib import Path

from bench.checks import require
from bench.intervals import ratios
from bench.posting import posted
from bench.service import Figures, Receiver, Service

BASE = "ANGARIUM_BENCH_BASE"
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


def in_turns(rounds: int, first: Callable[[], float], second: Callable[[], float]) -> Figures:
    """Measure both once a round, in changing order, after a round that only warms them."""
    first(), second()
    ones: list[float] = []
    others: list[float] = []
    for number in range(rounds):
        if number % 2:
            others.append(second())
            ones.append(first())
        else:
            ones.append(first())
            others.append(second())
    return {
        "firstTimesFloor": round(statistics.median(ones), 2),
        "secondTimesFloor": round(statistics.median(others), 2),
        **ratios("ratio", ones, others),
    }


def features(
    service: Service, receiver: Receiver, *, events: int, connections: int, rounds: int
) -> Figures:
    """Compare events that a filter and an active schema judge with events that nothing judges."""
    service.destination(receiver.url + "/plain", ["plain"], concurrency=64)
    guarded = service.destination(receiver.url + "/guarded", ["guarded"], concurrency=64)
    (rule,) = service.api("GET", f"/routing-rules?destinationId={guarded}")["items"]
    service.api("PATCH", f"/routing-rules/{rule['id']}", {"filter": FILTER})
    schema = service.api("POST", "/schemas", {"eventType": "guarded", "schema": SCHEMA})
    service.api("POST", f"/schemas/{schema['id']}/activate", {})
    plan: Figures = {"events": events, "connections": connections}
    return in_turns(
        rounds,
        lambda: _cost(posted(service, receiver, event_type="plain", **plan)),
        lambda: _cost(posted(service, receiver, event_type="guarded", **plan)),
    )


def against(
    service: Service,
    receiver: Receiver,
    *,
    events: int,
    connections: int,
    batch: int,
    rounds: int,
) -> Figures:
    """Compare another source tree (first; by default this one) with this one (second)."""
    tree = os.environ.get(BASE)
    with Service(root=None if tree is None else Path(tree)) as other:
        for each in (other, service):
            each.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
        plan: Figures = {"events": events, "connections": connections, "batch": batch}
        require(other.port != service.port, "one and the same server")
        return in_turns(
            rounds,
            lambda: _cost(posted(other, receiver, **plan)),
            lambda: _cost(posted(service, receiver, **plan)),
        )


def _cost(figures: Figures) -> float:
    return float(figures["timesFloor"])
