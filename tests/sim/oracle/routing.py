"""Routing: when an event is routed, each destination of a matching rule gets one delivery, and no other
destination gets any. If a rule changes while an event is routed, the event's deliveries may follow either
the old or the new version of the rule."""

from collections import defaultdict
from collections.abc import Iterator
from math import inf

from tests.sim.oracle.sight import Process, Request, Sight, Version
from tests.sim.trace import Configured, DeliveryRow, EventRow, Item, Ruled

OWN = "angarium."


def judge(sight: Sight) -> Iterator[str]:
    first: dict[str, list[DeliveryRow]] = defaultdict(list)
    for row in sight.rows.deliveries:
        event = sight.events.get(row.event)
        if event is None:
            yield f"delivery {row.id} is of an event that is not there"
        elif event.environment != row.environment:
            yield f"delivery {row.id} is of another environment than its event"
        elif (known := sight.final(row.destination)) is None:
            yield f"delivery {row.id} goes to a destination that never was"
        elif known.environment != row.environment:
            yield f"delivery {row.id} goes to another environment's destination"
        if row.origin == "NORMAL":
            first[row.event].append(row)
    if len(sight.deliveries) != len(sight.rows.deliveries):
        yield "two deliveries have one id"
    made: dict[tuple[int, str], list[Request]] = defaultdict(list)
    items: dict[tuple[int, str], Item] = {}
    for request in sight.requests:
        if request.answer in ("accepted", "internal", "lost"):
            for item in request.posted.items:
                made[request.posted.environment, item.mark].append(request)
                items[request.posted.environment, item.mark] = item
    for event in sight.rows.events:
        requests = made.get((event.environment, event.mark))
        if requests and not event.type.startswith(OWN):
            item = items[event.environment, event.mark]
            yield from _event(sight, event, item, requests, first[event.id])


def _event(
    sight: Sight, event: EventRow, item: Item, requests: list[Request], rows: list[DeliveryRow]
) -> Iterator[str]:
    lane = _lane(item)
    for row in rows:
        if row.lane != lane:
            yield f"delivery {row.id} is in lane {row.lane} instead of {lane}"
    there = [row.destination for row in rows]
    for destination in sorted({each for each in there if there.count(each) > 1}):
        yield f"event {event.id} has several deliveries to {destination}"
    for destination, versions in sight.destinations.items():
        fact = versions[0].fact
        if not isinstance(fact, Configured) or fact.environment != event.environment:
            continue
        if fact.customer is not None and fact.customer != item.customer:
            if destination in there:
                yield f"event {event.id} went to {destination}, of another customer"
            continue
        ways = [_way(sight, destination, item, request) for request in requests]
        if destination in there and not any(possible for _, possible in ways):
            yield f"event {event.id} went to {destination} without a rule"
        if destination not in there and all(sure for sure, _ in ways):
            yield f"event {event.id} did not go to {destination}, to which a rule leads"


def _lane(item: Item) -> str | None:
    keys = (("c", item.customer), ("k", item.correlation_id), ("s", item.source))
    return next((f"{kind}:{key}" for kind, key in keys if key is not None), None)


def _way(sight: Sight, destination: str, item: Item, request: Request) -> tuple[bool, bool]:
    """Return two answers: whether an event must have a delivery to a destination, and whether it can have
    one."""
    process = sight.processes.get(request.by)
    since = request.posted.at
    until = request.begun_by if process is None else min(request.begun_by, process.ended_at)
    archived = [
        isinstance(fact, Configured) and fact.status == "ARCHIVED"
        for fact in _held(sight.destinations[destination], process, since, until)
    ]
    if not archived or all(archived):
        return False, False
    sure = possible = False
    for versions in sight.rules.values():
        fact = versions[0].fact
        if not isinstance(fact, Ruled) or fact.destination != destination:
            continue
        matches = [
            isinstance(each, Ruled) and _matches(each, item)
            for each in _held(versions, process, since, until)
        ]
        possible = possible or any(matches)
        begun = versions[0].known_by(process) <= since
        sure = sure or (begun and bool(matches) and all(matches))
    known = sight.destinations[destination][0].known_by(process) <= since
    return sure and known and not any(archived), possible


def _held(
    versions: list[Version], process: Process | None, since: float, until: float
) -> list[Configured | Ruled]:
    found: list[Configured | Ruled] = []
    for number, version in enumerate(versions):
        if version.fact.at > until:
            break
        gone_at = versions[number + 1].known_by(process) if number + 1 < len(versions) else inf
        if gone_at >= since:
            found.append(version.fact)
    return found


def _matches(rule: Ruled, item: Item) -> bool:
    if not rule.live or (rule.only is not None and rule.only != item.customer):
        return False
    return any(named_by(pattern, item.type) for pattern in rule.types)


def named_by(pattern: str, event_type: str) -> bool:
    """Return True if a pattern names an event type. A `*` stands for one segment, and a `*` at the end
    for one or more. The types of the service's own events are named only by patterns that begin with
    `angarium.`."""
    if event_type.startswith(OWN) and not pattern.startswith(OWN):
        return False
    return _rest(pattern.split("."), event_type.split("."))


def _rest(pattern: list[str], segments: list[str]) -> bool:
    if not pattern:
        return not segments
    if not segments:
        return False
    if pattern == ["*"]:
        return True
    return pattern[0] in ("*", segments[0]) and _rest(pattern[1:], segments[1:])
