"""Checks of the service's promises. They compare the answers that the posters got, the requests that the
receiver got, and the rows of the database."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Protocol

from tests.process.house import House
from tests.process.posting import Poster
from tests.process.receiver import Arrival

JITTER = 0.8  # the smallest fraction of a scheduled wait


class Rows(Protocol):
    """A server whose database can be queried."""

    def rows(self, sql: str, *arguments: object) -> list[Any]:
        """Query the database."""

    def value(self, sql: str, *arguments: object) -> Any:
        """Query a single value."""


def nothing_lost_or_invented(
    house: House, posters: Iterable[Poster], kind: str = "e.one"
) -> dict[str, str]:
    """Check that every accepted event is stored once, under the id that its poster received. Check also
    that each stored event of the type `kind` was accepted, or is part of a batch without an answer.

    Returns the id of each stored event, by the event's number.
    """
    rows = house.rows("SELECT idempotency_key, id::text FROM events WHERE type = $1", kind)
    there = dict(rows)
    assert len(there) == len(rows), "an idempotency key has two events"
    allowed: set[str] = set()
    for poster in posters:
        assert not poster.wrong, poster.wrong[:3]
        for number, identifier in poster.accepted.items():
            assert there.get(number) == identifier, f"{number} was accepted as {identifier}"
        here = [number for number in poster.refused if number in there]
        assert not here, f"refused with 503, and there all the same: {here[:5]}"
        for batch in poster.torn:
            count = sum(number in there for number in batch)
            assert count in (0, len(batch)), f"{count} of a batch of {len(batch)}"
            allowed.update(batch)
        allowed.update(poster.accepted)
    assert there.keys() <= allowed, f"invented: {list(there.keys() - allowed)[:5]}"
    return there


def all_arrived(there: dict[str, str], arrivals: list[Arrival]) -> None:
    """Check that every event arrived, always with the same id and bytes, and that nothing
    else arrived."""
    events: dict[str, set[tuple[str, bytes]]] = defaultdict(set)
    succeeded = set()
    for arrival in arrivals:
        events[arrival.n].add((arrival.event, arrival.body))
        if arrival.status < 300:
            succeeded.add(arrival.n)
    assert succeeded == there.keys(), f"lost: {list(there.keys() - succeeded)[:5]}"
    for number, known in events.items():
        assert len(known) == 1, f"{number} came with several ids or bodies"
        assert next(iter(known))[0] == there[number]


def in_order(house: House, destination: str, firsts: list[Arrival], *, lanes: bool) -> None:
    """Check that a destination got its deliveries in the order in which they were accepted. `firsts` has
    the first successful request of each delivery, in the order of arrival. If `lanes` is true, check the
    order only within each lane."""
    rows = house.rows(
        "SELECT id::text, seq FROM deliveries WHERE destination = $1::text::uuid", destination
    )
    seqs = dict(rows)
    highest: dict[str | None, int] = defaultdict(lambda: -1)
    for arrival in firsts:
        lane = arrival.lane if lanes else None
        seq = seqs[arrival.delivery]
        assert seq > highest[lane], f"{arrival.n} came after a later one of lane {lane}"
        highest[lane] = seq


def in_order_of_posting(posters: Iterable[Poster], firsts: list[Arrival]) -> None:
    """Check the order of arrival: an event that was posted after the 202 of another event must arrive
    after that event."""
    place = {arrival.n: index for index, arrival in enumerate(firsts)}
    for poster in posters:
        places = [place[number] for number in poster.accepted]
        assert places == sorted(places), f"of {poster.name}"


def attempts_by_schedule(house: House, destination: str, schedule: list[int]) -> None:
    """Check the attempts of each delivery. Their numbers must have no gaps. There must be at most as
    many as the schedule allows. No attempt may begin too early, or follow a success."""
    rows = house.rows(
        """SELECT a.delivery::text, number, started_at_ms, duration_ms, success
        FROM attempt_log a JOIN deliveries d ON d.environment = a.environment AND d.id = a.delivery
        WHERE d.destination = $1::text::uuid ORDER BY a.delivery, number""",
        destination,
    )
    by_delivery = defaultdict(list)
    for delivery, *attempt in rows:
        by_delivery[delivery].append(attempt)
    for delivery, attempts in by_delivery.items():
        assert [number for number, *_ in attempts] == list(range(1, len(attempts) + 1)), delivery
        assert len(attempts) <= 1 + len(schedule), f"{delivery} was tried {len(attempts)} times"
        assert not any(success for *_, success in attempts[:-1]), f"{delivery} after its success"
        for (number, began, took, _), (_, again, _, _) in pairwise(attempts):
            least = schedule[number - 1] * 1000 * JITTER
            assert again >= began + took + least - 1, f"{delivery}: attempt {number + 1} is early"


def repeated_only_by_crashes(
    house: House, destination: str, arrivals: list[Arrival], crashes: int
) -> int:
    """Check how often each delivery arrived. Each recorded attempt is one arrival. Each crash can add one
    arrival whose attempt was not recorded.

    Returns the number of arrivals without a recorded attempt.
    """
    rows = house.rows(
        "SELECT id::text, attempt_count FROM deliveries WHERE destination = $1::text::uuid",
        destination,
    )
    came: dict[str, int] = defaultdict(int)
    for arrival in arrivals:
        came[arrival.delivery] += 1
    extra = 0
    for delivery, count in rows:
        assert count <= came[delivery] <= count + crashes, (
            f"{delivery}: {came[delivery]} of {count}"
        )
        extra += came[delivery] - count
    return extra


def sums_equal_rows(house: Rows) -> None:
    """Check that the counters of every destination and minute equal the sums of attempts and
    deliveries."""
    counted = house.rows(
        """SELECT destination::text, minute, attempts, failed, retried, delivered, dead_lettered
        FROM destination_minutes ORDER BY 1, 2"""
    )
    real = house.rows(
        """WITH tried AS (
            SELECT d.destination, ((a.started_at_ms + a.duration_ms) / 60000)::int AS minute,
                count(*) AS attempts, count(*) FILTER (WHERE NOT a.success) AS failed,
                count(*) FILTER (WHERE a.number > 1) AS retried
            FROM attempt_log a JOIN deliveries d ON d.environment = a.environment AND d.id = a.delivery
            WHERE d.origin <> 3 GROUP BY 1, 2
        ), ended AS (
            SELECT destination, (delivered_at_ms / 60000)::int AS minute, count(*) AS delivered
            FROM deliveries WHERE status = 2 AND origin <> 3 GROUP BY 1, 2
        ), dead AS (
            SELECT destination, (dead_lettered_at_ms / 60000)::int AS minute, count(*) AS dead
            FROM deliveries WHERE dead_lettered_at_ms IS NOT NULL AND origin <> 3 GROUP BY 1, 2
        )
        SELECT destination::text, minute, coalesce(attempts, 0), coalesce(failed, 0),
            coalesce(retried, 0), coalesce(delivered, 0), coalesce(dead, 0)
        FROM tried FULL JOIN ended USING (destination, minute) FULL JOIN dead USING (destination, minute)
        ORDER BY 1, 2"""
    )
    assert [tuple(row) for row in counted] == [tuple(row) for row in real]
    errors = house.value(
        f"""SELECT coalesce(sum({"+".join(f"error_{k:02}" for k in range(1, 14))}), 0)::int
        - coalesce(sum(failed), 0)::int FROM destination_minutes"""
    )
    latencies = house.value(
        f"""SELECT coalesce(sum({"+".join(f"latency_{k:02}" for k in range(24))}), 0)::int
        - coalesce(sum(attempts), 0)::int FROM destination_minutes"""
    )
    assert (errors, latencies) == (0, 0)
