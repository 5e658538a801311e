"""Acceptance: accepted events are durable, refused events are not stored, batches are stored whole or not
at all, and no stored event is invented. A request gets an answer, unless a process that handles it ends
or a fault interferes."""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.oracle.keys import expiries
from tests.sim.oracle.sight import Request, Sight
from tests.sim.trace import EventRow, Item

OWN = "angarium."  # types of the service's own events, which nobody posts
PATIENCE_S = 20.0  # how long a caller waits; it gives up sooner if its answer was lost
TROUBLE_S = 60.0  # a fault can last so long


def judge(sight: Sight) -> Iterator[str]:
    rows: dict[tuple[int, str], list[EventRow]] = defaultdict(list)
    for row in sight.rows.events:
        rows[row.environment, row.mark].append(row)
    if len({row.id for row in sight.rows.events}) != len(sight.rows.events):
        yield "two events have one id"
    posted: dict[tuple[int, str], list[Request]] = defaultdict(list)
    for request in sight.requests:
        for item in request.posted.items:
            posted[request.posted.environment, item.mark].append(request)
    for request in sight.requests:
        yield from _answers(sight, request, rows, posted)
    for (environment, mark), found in rows.items():
        if all(row.type.startswith(OWN) for row in found):
            continue
        may = posted.get((environment, mark), [])
        possible = sum(_may_be_there(request) for request in may)
        if found[0].key is not None:
            # A request can be relayed to a second process. If the event's idempotency key has expired by
            # the clock of the second process, this process stores the event a second time.
            possible += sum(expiries(sight, [request]) for request in may if request.tried)
        if not may:
            yield f"event {found[0].id} was never posted"
        elif len(found) > possible:
            yield f"{mark} is there {len(found)} times, and was posted {possible} times with success"


def _may_be_there(request: Request) -> bool:
    return request.answer in ("accepted", "internal", "lost")


def _answers(
    sight: Sight,
    request: Request,
    rows: dict[tuple[int, str], list[EventRow]],
    posted: dict[tuple[int, str], list[Request]],
) -> Iterator[str]:
    environment, items = request.posted.environment, request.posted.items
    name = f"request {request.posted.request}"
    if request.answer == "accepted":
        assert request.answered is not None
        ids = request.answered.ids
        if len(ids) != len(items):
            yield f"{name} of {len(items)} events was told {len(ids)} ids"
        for item, identifier in zip(items, ids, strict=False):
            if identifier:
                yield from _accepted(sight, request, item, identifier)
        return
    if request.answer == "lost" and _forgotten(sight, request):
        yield f"{name} was answered by nobody, although its process lived on and nothing was wrong"
    alone = [item for item in items if len(posted[environment, item.mark]) == 1]
    there = [item for item in alone if rows.get((environment, item.mark))]
    if request.answer in ("overloaded", "refused"):
        for item in there:
            yield f"{name} was {request.answer}, and {item.mark} is there all the same"
    elif there and len(there) < len(alone):
        yield f"{name}, whose fate was unknown, is there with {len(there)} of {len(alone)} events"


def _forgotten(sight: Sight, request: Request) -> bool:
    process, by = (sight.processes.get(each) for each in (request.posted.process, request.by))
    since, until = request.posted.at, request.end
    if process is None or by is None or until - since < PATIENCE_S:
        return False
    if min(process.ended_at, by.ended_at) <= until:
        return False
    troubled = any(since - TROUBLE_S <= fault.at <= until for fault in sight.faults)
    return not troubled and min(process.over_at, by.over_at) > until


def _accepted(sight: Sight, request: Request, item: Item, identifier: str) -> Iterator[str]:
    row = sight.events.get(identifier)
    name = f"{item.mark} of request {request.posted.request}"
    if row is None:
        yield f"{name} was accepted as {identifier}, which is not there"
    elif row.environment != request.posted.environment:
        yield f"{name} was accepted as an event of environment {row.environment}"
    elif row.mark != item.mark and (item.key is None or row.key != item.key):
        yield f"{name} was accepted as {identifier}, which is {row.mark}"
    elif row.type != item.type:
        yield f"{name} was accepted as an event of type {row.type}"
