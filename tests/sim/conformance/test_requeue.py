"""The dead-letter queue, on both databases."""

from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus
from engine.log.delivery_log import DeliveryFilter
from engine.recording.requeue import CHUNK_BYTES, ChunkAudit
from tests.sim.conformance.house import House
from tests.storage.world import ENVIRONMENT, event, failure, success


async def test_what_is_dead_waits_again_at_the_tail_with_a_fresh_schedule(house: House) -> None:
    one, two = await house.dead(2, house.a)
    (waits,) = await house.waiting(1, house.a)
    (archived,) = await house.dead(1, house.b)
    (lost,) = await house.dead(1, house.a)
    await house.switch(house.b, DestinationStatus.ARCHIVED)
    await house.side.remove_event(ENVIRONMENT, lost.event.id)
    by = house.chunk_audit("retried", before=3)
    base, done = await house.requeue([two, waits, archived, lost, one], by)
    assert (done.done, done.left) == ([two.id, one.id], [])
    assert [(each.id, each.seq) for each in done.alive] == [(two.id, base), (one.id, base + 4)]
    alive = done.alive[0]
    assert (alive.attempt_count, alive.schedule_start) == (1, 1)
    assert (alive.dlq_status, alive.next_attempt_at) == (DlqStatus.RETRIED_FROM_DLQ, None)
    row = await house.row(two)
    assert (row["status"], row["trouble"], row["updated_at_ms"]) == (0, 4, -1)
    assert [row[3] for row in await house.table("backlog") if row[1] == house.a] == [one.seq]
    entry = [row for row in await house.table("audit") if row[1] == by.entry.id]
    assert entry[0][2] == {"retried": {"from": 0, "to": 5}}
    # After the requeue, a settlement has its usual effect. Here it lets the delivery die again, so the
    # delivery can be requeued again.
    await house.settle(failure(alive, DeliveryStatus.FAILED, started_at=house.past))
    _, again = await house.requeue([two], house.chunk_audit())
    assert [each.id for each in again.alive] == [two.id]
    assert (await house.requeue([waits], house.chunk_audit()))[1].done == []


async def test_a_chunk_is_as_large_as_its_bytes_allow(house: House) -> None:
    large = await house.dead(3, house.a, payload=b"x" * (CHUNK_BYTES // 2 + 1))
    _, done = await house.requeue(large, house.chunk_audit())
    assert (done.done, done.left) == ([each.id for each in large[:2]], [large[2].id])


async def test_a_requeue_whose_outcome_is_unknown_is_done_once(house: House) -> None:
    one, two, three = await house.dead(3, house.a)
    (waits,) = await house.waiting(1, house.a)
    by = house.chunk_audit("retried")
    base, first = await house.requeue([one, waits, two, three], by)
    await house.settle(success(first.alive[0], started_at=house.past))
    tried = failure(
        first.alive[2], DeliveryStatus.PENDING, started_at=house.past, next_attempt_at=None
    )
    await house.settle(tried)
    before = await house.table("deliveries")
    house.side.lose("intake")
    _, again = await house.requeue([one, waits, two, three], by, again=True, base=base)
    assert (again.done, again.left) == ([one.id, two.id, three.id], [waits.id])
    assert [each.id for each in again.alive] == [two.id]  # actors already know of the others
    assert await house.table("deliveries") == before
    (fresh,) = await house.dead(1, house.a)
    _, never = await house.requeue([fresh], house.chunk_audit(), again=True)
    assert never.done == [fresh.id]


async def test_discarding_is_final_and_done_once(house: House) -> None:
    one, two = await house.dead(2, house.a)
    (waits,) = await house.waiting(1, house.a)
    by = house.chunk_audit("retried")
    ids = [one.id, waits.id, two.id]
    discard = house.ports.requeue.discard
    assert sorted(await discard(ENVIRONMENT, ids, by, again=False)) == [one.id, two.id]
    row = await house.row(one)
    assert (row["status"], row["trouble"], row["dlq"]) == (3, 2, DlqStatus.DISCARDED)
    assert (await house.requeue([one], house.chunk_audit()))[1].done == []
    assert sorted(await discard(ENVIRONMENT, ids, by, again=True)) == [one.id, two.id]
    assert await discard(ENVIRONMENT, ids, by, again=False) == []
    assert await discard(ENVIRONMENT, ids, house.chunk_audit(), again=True) == []
    (last,) = await house.dead(1, house.a)
    rest = ChunkAudit(by.entry, "retried", before=2)  # the next chunk of the same request
    assert await discard(ENVIRONMENT, [last.id], rest, again=True) == [last.id]


async def test_the_queue_is_looked_through_oldest_first(narrow: House) -> None:
    first = await narrow.dead(3, narrow.a)
    second = await narrow.dead(3, narrow.b, type="order.paid")
    dead, count = narrow.ports.dead.dead, narrow.ports.dead.count
    found = await dead(ENVIRONMENT, DeliveryFilter(), None, 2)
    assert ([each.id for each in found.found], found.through) == (
        [each.id for each in first[:2]],
        first[1].id,
    )
    rest = await dead(ENVIRONMENT, DeliveryFilter(), first[1].id, 9)
    assert [each.id for each in rest.found] == [each.id for each in [first[2], *second]]
    assert (rest.matched, rest.through) == (4, second[2].id)  # a read looks at no more rows
    paid = DeliveryFilter(event_types=("order.paid",))
    none = await dead(ENVIRONMENT, paid, None, 9)
    assert ([each.id for each in none.found], none.through) == ([second[0].id], second[0].id)
    counted = await count(ENVIRONMENT, paid, None)
    assert (counted.found, counted.matched, counted.through) == ([], 2, second[1].id)
    of_one = await count(ENVIRONMENT, DeliveryFilter(destinations=(narrow.b,)), None)
    assert (of_one.matched, of_one.through) == (3, None)
    named = DeliveryFilter(ids=(second[1].id, first[0].id, event().id))
    stretch = await dead(ENVIRONMENT, named, None, 9)
    assert [each.id for each in stretch.found] == [first[0].id, second[1].id]
    nothing = await dead(ENVIRONMENT, DeliveryFilter(destinations=()), None, 9)
    assert (nothing.found, nothing.through) == ([], None)
