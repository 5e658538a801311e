"""Reads of waiting deliveries, on both databases."""

from typing import Any

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, DestinationStatus
from engine.model.identity import shard_of
from engine.ports import BacklogMark, ReadBack
from tests.sim.conformance.house import House
from tests.storage.world import ENVIRONMENT, event, failure, success

ALL = list(DeliveryClass)


async def read(
    house: House, after: int = 0, limit: int = 99, size: int = 1 << 20, **fields: Any
) -> ReadBack:
    fields = {"ordered": False, **fields}
    return await house.ports.backlog.read_queue(
        ENVIRONMENT, house.a, ALL, after, limit, size, **fields
    )


def seqs(deliveries: list[Delivery]) -> list[int]:
    return [each.seq for each in deliveries]


async def test_a_stretch_ends_where_rows_bytes_or_the_queue_do(house: House) -> None:
    high = await house.waiting(2, house.a, payload=b"x" * 10)
    for each in high[:1]:
        await house.settle(failure(each, started_at=house.past, next_attempt_at=house.past))
    low = await house.waiting(2, house.a, payload=b"x" * 10)
    await house.waiting(1, house.b)
    urgent = await house.accept(event(), to=[house.a], queue=DeliveryClass.CRITICAL)
    waiting = [high[1], *low, *urgent]
    whole = await read(house)
    assert seqs(whole.deliveries) == seqs(waiting)
    assert (whole.through, whole.end, whole.skipped) == (urgent[0].seq, True, {})
    ordered = await read(house, ordered=True)
    assert seqs(ordered.deliveries) == seqs([high[0], *waiting])
    few = await read(house, limit=2)
    assert (seqs(few.deliveries), few.through, few.end) == (seqs(waiting[:2]), low[0].seq, False)
    small = await read(house, size=11)  # an event that begins below the limit is taken whole
    assert (seqs(small.deliveries), small.end) == (seqs(waiting[:2]), False)
    exact = await read(house, size=10)
    assert seqs(exact.deliveries) == seqs(waiting[:1])
    rest = await read(house, after=low[1].seq)
    assert seqs(rest.deliveries) == seqs(urgent)
    none = await read(house, after=urgent[0].seq)
    assert (none.deliveries, none.through, none.end) == ([], urgent[0].seq, True)


async def test_lanes_are_passed_over_or_read_alone(house: House) -> None:
    a1, b1, a2, c1 = [
        (await house.waiting(1, house.a, customer=each))[0] for each in ("a", "b", "a", "c")
    ]
    (free,) = await house.waiting(1, house.a)
    skipping = await read(house, skip_lanes=["c:a", "c:c"])
    assert seqs(skipping.deliveries) == seqs([b1, free])
    assert skipping.skipped == {"c:a": a1.seq, "c:c": c1.seq}
    first = await read(house, limit=1, skip_lanes=["c:a", "c:c"])
    assert (first.through, first.skipped) == (b1.seq, {"c:a": a1.seq})
    alone = await read(house, only_lane="c:a")
    assert (seqs(alone.deliveries), alone.through) == (seqs([a1, a2]), free.seq)


async def test_a_read_looks_at_so_many_rows_whatever_it_finds(narrow: House) -> None:
    done = await narrow.waiting(9, narrow.a)
    await narrow.settle(*[success(each, started_at=narrow.past) for each in done])
    (last,) = await narrow.waiting(1, narrow.a)
    first = await read(narrow)
    assert (first.deliveries, first.through, first.end) == ([], done[6].seq, False)
    second = await read(narrow, after=first.through)
    assert (seqs(second.deliveries), second.through, second.end) == ([last.seq], last.seq, True)


async def test_what_is_due_and_dead_and_how_much_waits(house: House) -> None:
    late, soon, dead, waits = await house.waiting(4, house.a)
    await house.settle(
        failure(late, started_at=house.past, next_attempt_at=house.past + 60),
        failure(soon, started_at=house.past, next_attempt_at=house.past + 30),
        failure(dead, DeliveryStatus.FAILED, started_at=house.past),
    )
    backlog = house.ports.backlog
    due_ms = int((house.past + 60) * 1000) + 1
    due = await backlog.read_due(ENVIRONMENT, house.a, due_ms + 1, 9)
    assert [each.id for each in due] == [soon.id, late.id]
    assert due[0].attempt_count == 1
    assert [each.id for each in await backlog.read_due(ENVIRONMENT, house.a, due_ms + 1, 1)] == [
        soon.id
    ]
    assert await backlog.read_due(ENVIRONMENT, house.a, int(house.past * 1000), 9) == []
    after_ms = due[0].next_attempt_at
    assert after_ms is not None
    behind = await backlog.read_due(ENVIRONMENT, house.a, due_ms + 1, 9, round(after_ms * 1000))
    assert [each.id for each in behind] == [late.id]
    seq, first_ms = await backlog.first_retry(ENVIRONMENT, house.a)
    assert seq == late.seq
    assert first_ms is not None
    assert abs(first_ms - int((house.past + 30) * 1000)) <= 1
    assert await backlog.first_retry(ENVIRONMENT, house.b) == (None, None)
    assert await backlog.count_waiting(ENVIRONMENT, house.a, 0) == 3
    assert await backlog.count_waiting(ENVIRONMENT, house.a, waits.seq + 1) == 2
    (urgent,) = await house.waiting(1, house.a, customer="u")
    assert await backlog.last_seqs(ENVIRONMENT, house.a) == {DeliveryClass.STANDARD: urgent.seq}
    assert [each.id for each in await backlog.read_dead(ENVIRONMENT, house.a, 9)] == [dead.id]
    assert await backlog.read_dead(ENVIRONMENT, house.a, 0) == []


async def test_destinations_are_due_by_their_rows_unless_they_are_disabled(house: House) -> None:
    await house.waiting(1, house.a)
    await house.waiting(1, house.b)
    backlog = house.ports.backlog
    await house.settle(
        marks=[
            BacklogMark(ENVIRONMENT, house.a, 1, 2_000),
            BacklogMark(ENVIRONMENT, house.b, 1, 1_000),
        ]
    )
    due = await backlog.due_destinations(2_001, 9)
    assert [row.destination for row in due] == [house.b, house.a]
    assert [row.destination for row in await backlog.due_destinations(2_000, 9)] == [house.b]
    assert [row.destination for row in await backlog.due_destinations(2_001, 1)] == [house.b]
    await house.switch(house.b, DestinationStatus.DISABLED)
    assert [row.destination for row in await backlog.due_destinations(2_001, 1)] == [house.a]
    of_one = await backlog.backlog([shard_of(house.a)])
    assert house.a in [row.destination for row in of_one]


async def test_what_is_read_is_the_readers_own(house: House) -> None:
    await house.waiting(1, house.a)
    mine = (await read(house)).deliveries[0]
    mine.attempt_count, mine.event.type, mine.event.body = 9, "changed", b"built"
    again = (await read(house)).deliveries[0]
    assert (again.attempt_count, again.event.type, again.event.body) == (0, "order.created", None)
