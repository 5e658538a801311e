"""Idempotency keys: for a day, an environment has only one event with a given key. The day is measured by
the clocks of the processes that accept the event."""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.oracle.sight import Request, Sight
from tests.sim.trace import EventRow

DAY_S = 86_400.0


def judge(sight: Sight) -> Iterator[str]:
    posts: dict[tuple[int, str], list[Request]] = defaultdict(list)
    for request in sight.requests:
        for key in {item.key for item in request.posted.items if item.key is not None}:
            posts[request.posted.environment, key].append(request)
    rows: dict[tuple[int, str], list[EventRow]] = defaultdict(list)
    for row in sight.rows.events:
        if row.key is not None:
            rows[row.environment, row.key].append(row)
    for (environment, key), found in rows.items():
        requests = posts.get((environment, key), [])
        if len(found) > 1 + expiries(sight, requests):
            yield f"key {key} has {len(found)} events: {', '.join(row.id for row in found)}"
    for (environment, key), requests in posts.items():
        if not expiries(sight, requests):
            yield from _twins(key, requests)
        there = {row.id for row in rows.get((environment, key), [])}
        for identifier in _told(key, requests):
            if identifier not in there:
                yield f"key {key} was answered with {identifier}, which does not have it"


def _told(key: str, requests: list[Request]) -> set[str]:
    ids: set[str] = set()
    for request in requests:
        if request.answer == "accepted" and request.answered is not None:
            pairs = zip(request.posted.items, request.answered.ids, strict=False)
            ids |= {identifier for item, identifier in pairs if item.key == key and identifier}
    return ids


def _twins(key: str, requests: list[Request]) -> Iterator[str]:
    ids = _told(key, requests)
    if len(ids) > 1:
        yield f"key {key} was answered with {len(ids)} ids: {', '.join(sorted(ids))}"


def expiries(sight: Sight, requests: list[Request]) -> int:
    """Return how often a key can have expired between the requests that posted it.

    The process that accepts a key stores its expiry: a day later by this process's clock. The process
    that handles the next request compares the expiry with its own clock, which can be days ahead. So the
    result is the number of whole days between the earliest and the latest time that the clocks of these
    processes showed during the requests.
    """
    clocks: list[float] = []
    for request in requests:
        for number in (*request.tried, request.by):
            process = sight.processes.get(number)
            aheads = [0.0] if process is None else sight.ahead_s(process.number)
            ended = inf_is(request.end, sight.quiet_at if process is None else process.ended_at)
            span = request.posted.at, min(ended, request.posted.at + DAY_S)
            clocks += [at + ahead for at in span for ahead in aheads]
    if not clocks:
        return 0
    return int((max(clocks) - min(clocks)) // DAY_S)


def inf_is(at: float, otherwise: float) -> float:
    return otherwise if at == float("inf") else at
