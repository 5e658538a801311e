"""Requeueing and discarding dead letters: the statements check the state that they change."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DlqStatus, ErrorCategory
from engine.log.delivery_log import DeliveryFilter
from engine.model.configuration import AuditEntry
from engine.model.identity import created_at_ms, shard_of
from engine.ports import DirtyDestination, OwnershipLostError
from engine.recording.requeue import ChunkAudit, Requeued
from storage.audit.log import values
from storage.backlog.reading import BACKLOG, PostgresBacklog
from storage.dead_letters import reading as dead_letters
from storage.dead_letters import requeue
from storage.dead_letters.reading import PostgresDeadLetters
from storage.dead_letters.requeue import PostgresRequeue
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.test_plans import SLACK, load
from tests.storage.world import (
    ENVIRONMENT,
    World,
    event,
    failure,
    identity,
    settle_group,
    success,
    unattempted,
)

A, B = (identity.other() for _ in range(2))
WORKSPACE = identity.other()


def chunk_audit(counted: str | None = None, before: int = 0, **fields: Any) -> ChunkAudit:
    changes = b'{"retried":{"from":0,"to":0}}' if counted else b'{"dlqStatus":{}}'
    fields = {
        "id": identity.other(),
        "workspace": WORKSPACE,
        "environment": ENVIRONMENT,
        "action": "dlq.retry",
        "object_type": "dlq",
        "object_id": "*",
        "actor_type": "API_KEY",
        "actor_id": "k",
        "changes": changes,
        **fields,
    }
    return ChunkAudit(AuditEntry(**fields), counted, before)


@pytest.fixture
def store(world: World) -> PostgresRequeue:
    return PostgresRequeue(world.intake_connection, world.ownership)


async def destinations(world: World, *ids: str, status: int = 1) -> None:
    for each in ids:
        await world.bridge.pool.fetch(
            """INSERT INTO destinations (environment, id, version, status, name, url, concurrency,
                   ordering, timeout_ms, dry_run, retry_schedule_s, algorithm, headers, sealed,
                   updated_at_ms)
               VALUES ($1, $2, 1, $3, 'n', 'u', 1, 0, 1, false, '{}', 1, '', '', 0)""",
            ENVIRONMENT,
            each,
            status,
        )


async def dead(world: World, count: int = 1, to: str = A, **fields: Any) -> list[Delivery]:
    deliveries = await world.accept(*[event(**fields) for _ in range(count)], to=[to])
    await world.settle.settle(
        settle_group([failure(each, DeliveryStatus.FAILED) for each in deliveries])
    )
    return deliveries


async def retry(
    world: World,
    store: PostgresRequeue,
    deliveries: Sequence[Delivery | str],
    by: ChunkAudit | None = None,
    **options: Any,
) -> tuple[int, Requeued]:
    base = options.pop("base", None) or await world.intake.draw()
    ids = [each if isinstance(each, str) else each.id for each in deliveries]
    dirty = [
        DirtyDestination(ENVIRONMENT, each, shard_of(each)) for each in options.pop("dirty", ())
    ]
    options = {"again": False, **options}
    return base, await store.requeue(ENVIRONMENT, ids, base, dirty, by or chunk_audit(), **options)


async def test_a_dead_delivery_waits_again_at_the_tail_with_a_fresh_schedule(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    (delivery,) = await dead(world, customer="c")
    before = await world.row(delivery)
    base, requeued = await retry(world, store, [delivery], dirty=[A])
    row = await world.row(delivery)
    assert (row["status"], row["dlq_status"], row["trouble"]) == (0, 2, 4)
    assert (row["attempt_count"], row["schedule_start"], row["seq"]) == (1, 1, base)
    assert (row["next_attempt_at_ms"], row["class"]) == (None, before["class"])
    assert row["dead_lettered_at_ms"] == before["dead_lettered_at_ms"]
    assert (row["error_category"], row["lane"]) == (before["error_category"], "c:c")
    assert row["updated_at_ms"] >= before["updated_at_ms"]
    (alive,) = requeued.alive
    assert (requeued.done, requeued.left) == ([delivery.id], [])
    assert (alive.seq, alive.attempt_count, alive.schedule_start) == (base, 1, 1)
    assert (alive.dlq_status, alive.event) == (DlqStatus.RETRIED_FROM_DLQ, delivery.event)
    (backlog,) = await world.rows("destination_backlog")
    assert (str(backlog["destination"]), backlog["low_seq"]) == (A, base)


async def test_it_goes_on_as_any_delivery_and_may_die_again(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    (delivery,) = await dead(world)
    _, first = await retry(world, store, [delivery])
    (alive,) = first.alive
    await world.settle.settle(settle_group([failure(alive, DeliveryStatus.FAILED)]))
    row = await world.row(delivery)
    assert (row["status"], row["dlq_status"], row["trouble"], row["attempt_count"]) == (3, 1, 3, 2)
    _, second = await retry(world, store, [delivery])
    await world.settle.settle(settle_group([success(second.alive[0])]))
    row = await world.row(delivery)
    assert (row["status"], row["dlq_status"], row["trouble"], row["attempt_count"]) == (2, 2, 4, 3)
    assert [row["number"] for row in await world.rows("attempt_log")] == [1, 2, 3]


async def test_what_is_not_in_the_queue_is_left_as_it_is(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    await destinations(world, B, status=3)
    pending, delivered, discarded = await world.accept(*[event() for _ in range(3)], to=[A])
    await world.settle.settle(
        settle_group(
            [
                success(delivered),
                unattempted(discarded, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED),
            ]
        )
    )
    (of_archived,) = await dead(world, to=B)
    (orphan,) = await dead(world)
    await world.bridge.pool.fetch("DELETE FROM events WHERE id = $1", orphan.event.id)
    before = await world.contents()
    everything = [pending, delivered, discarded, of_archived, orphan]
    _, requeued = await retry(world, store, [*everything, identity.other()])
    assert (requeued.done, requeued.left, requeued.alive) == ([], [], [])
    assert await world.contents() == before
    assert await world.rows("audit_log") == []


async def test_of_two_retries_one_does_it(world: World, store: PostgresRequeue) -> None:
    await destinations(world, A)
    (delivery,) = await dead(world)
    found = [(await retry(world, store, [delivery]))[1].done for _ in range(2)]
    assert found == [[delivery.id], []]


async def test_a_settlement_of_its_former_life_does_not_touch_a_requeued_delivery(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    (delivery,) = await world.accept(event(), to=[A])
    death = unattempted(
        delivery, DeliveryStatus.FAILED, dlq_status=DlqStatus.IN_DLQ, dead_lettered=True
    )
    await world.settle.settle(settle_group([death]))
    _, requeued = await retry(world, store, [delivery])
    # The first answer was lost.
    await world.settle.settle(settle_group([death], again=True))
    assert (await world.row(delivery))["status"] == 0
    await world.settle.settle(settle_group([success(requeued.alive[0])]))


async def test_a_chunk_is_as_large_as_its_bytes_allow_and_says_what_is_left(
    world: World, store: PostgresRequeue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requeue, "CHUNK_BYTES", 2_500)
    await destinations(world, A)
    deliveries = await dead(world, 5, payload=b"x" * 1_000)
    base, requeued = await retry(world, store, deliveries)
    ids = [each.id for each in deliveries]
    assert (requeued.done, requeued.left) == (ids[:3], ids[3:])
    assert [each.seq for each in requeued.alive] == [base, base + 1, base + 2]


async def test_run_again_it_returns_what_the_first_run_wrote_and_writes_nothing(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    deliveries = await dead(world, 3)
    by = chunk_audit("retried", before=4)
    base, first = await retry(world, store, deliveries, by)
    contents = await world.contents()
    _, second = await retry(world, store, deliveries, by, base=base, again=True)
    assert second == first
    assert await world.contents() == contents
    # Before the rerun, an actor has sent one of the requeued deliveries. The rerun must not return this
    # delivery as one that still has to be sent.
    await world.settle.settle(settle_group([success(first.alive[0])]))
    _, third = await retry(world, store, deliveries, by, base=base, again=True)
    assert third.done == first.done
    assert [each.id for each in third.alive] == [each.id for each in deliveries[1:]]


async def test_run_again_after_a_run_that_wrote_nothing_it_writes(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    deliveries = await dead(world, 2)
    _, requeued = await retry(world, store, deliveries, again=True)
    assert requeued.done == [each.id for each in deliveries]


@pytest.mark.parametrize("again", [False, True])
async def test_a_former_owner_changes_nothing(
    world: World, store: PostgresRequeue, again: bool
) -> None:
    await destinations(world, A)
    (delivery,) = await dead(world)
    await World(world.bridge).take()
    before = await world.contents()
    with pytest.raises(OwnershipLostError):
        await retry(world, store, [delivery], again=again)
    with pytest.raises(OwnershipLostError):
        await store.discard(ENVIRONMENT, [delivery.id], chunk_audit(), again=again)
    assert await world.contents() == before


async def test_a_start_finds_what_was_requeued_and_never_told(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    (delivery,) = await dead(world)
    await retry(world, store, [delivery], dirty=[A])
    backlog = PostgresBacklog(world.bridge.make_pool(BACKLOG, 1))
    (row,) = await backlog.backlog(range(256))
    found = await backlog.read_queue(
        ENVIRONMENT, A, list(delivery.queue.__class__), row.low_seq - 1, 10, 1 << 20, ordered=False
    )
    (read,) = found.deliveries
    assert (read.id, read.schedule_start) == (delivery.id, 1)
    assert await backlog.count_waiting(ENVIRONMENT, A, row.low_seq) == 1


async def test_discarding_is_final_and_counts_nowhere(world: World, store: PostgresRequeue) -> None:
    await destinations(world, A)
    first, second = await dead(world, 2)
    minutes = await world.rows("destination_minutes")
    ids = [first.id, identity.other()]
    by = chunk_audit()
    assert await store.discard(ENVIRONMENT, ids, by, again=False) == [first.id]
    assert await store.discard(ENVIRONMENT, ids, by, again=True) == [first.id]
    assert await store.discard(ENVIRONMENT, ids, chunk_audit(), again=False) == []
    row = await world.row(first)
    assert (row["status"], row["dlq_status"], row["trouble"]) == (3, 3, 2)
    assert row["error_category"] == ErrorCategory.HTTP_5XX
    assert (await world.row(second))["dlq_status"] == 1
    assert await world.rows("destination_minutes") == minutes
    _, requeued = await retry(world, store, [first])
    assert requeued.done == []


async def test_a_request_in_chunks_has_one_audit_entry_that_counts_up(
    world: World, store: PostgresRequeue
) -> None:
    await destinations(world, A)
    deliveries = await dead(world, 5)
    by = chunk_audit("retried")
    await retry(world, store, deliveries[:3], by)
    await retry(world, store, deliveries[3:], ChunkAudit(by.entry, "retried", 3))
    (entry,) = await world.rows("audit_log")
    assert entry["changes"] == b'{"retried": {"to": 5, "from": 0}}'
    assert (entry["action"], entry["object_id"]) == ("dlq.retry", "*")


# --- searches in the queue


FILTERS = {
    "everything": DeliveryFilter(),
    "a destination": DeliveryFilter(destinations=(A,)),
    "destinations": DeliveryFilter(destinations=(A, B)),
    "none": DeliveryFilter(destinations=()),
    "a type": DeliveryFilter(event_types=("t.1",)),
    "a type of a destination": DeliveryFilter(event_types=("t.1",), destinations=(B,)),
    "an error": DeliveryFilter(error_categories=(ErrorCategory.DNS,)),
}


@pytest.mark.parametrize(("examined", "limit"), [(2_000, 500), (7, 500), (7, 2)])
async def test_the_queue_is_looked_through_oldest_first_and_counted_exactly(
    world: World, monkeypatch: pytest.MonkeyPatch, examined: int, limit: int
) -> None:
    monkeypatch.setattr(dead_letters, "EXAMINED", examined)
    monkeypatch.setattr(dead_letters, "COUNTED", examined)
    log = PostgresDeadLetters(world.bridge.pool)
    rows: list[tuple[Delivery, ErrorCategory]] = []
    for number in range(40):
        (delivery,) = await world.accept(event(type=f"t.{number % 3}"), to=[(A, B)[number % 2]])
        category = ErrorCategory.DNS if number % 5 == 0 else ErrorCategory.HTTP_5XX
        ends = DeliveryStatus.RETRYING if number % 7 == 0 else DeliveryStatus.FAILED
        await world.settle.settle(settle_group([failure(delivery, ends, category)]))
        if ends is DeliveryStatus.FAILED:
            rows.append((delivery, category))
    middle = created_at_ms(rows[20][0].id)
    ids = tuple(each.id for each, _ in rows[5:9])
    filters = {
        **FILTERS,
        "a time": DeliveryFilter(from_ms=middle, to_ms=middle + 1_000_000),
        "before": DeliveryFilter(to_ms=middle),
        "ids": DeliveryFilter(ids=ids),
        "ids of a destination": DeliveryFilter(ids=ids, destinations=(A,)),
    }
    for what, which in filters.items():
        expected = [
            each.id
            for each, category in rows
            if (which.destinations is None or each.destination in which.destinations)
            and (which.event_types is None or each.event.type in which.event_types)
            and (which.error_categories is None or category in which.error_categories)
            and (which.ids is None or each.id in which.ids)
            and (which.from_ms is None or created_at_ms(each.id) >= which.from_ms)
            and (which.to_ms is None or created_at_ms(each.id) < which.to_ms)
        ]
        found: list[str] = []
        after: str | None = None
        while True:
            stretch = await log.dead(ENVIRONMENT, which, after, limit)
            assert len(stretch.found) == stretch.matched <= limit
            found += [each.id for each in stretch.found]
            if stretch.through is None:
                break
            after = stretch.through
        assert found == expected, what
        total, after = 0, None
        while True:
            stretch = await log.count(ENVIRONMENT, which, after)
            total += stretch.matched
            if stretch.through is None:
                break
            after = stretch.through
        assert total == len(expected), what


async def test_what_is_dead_is_looked_up_by_its_id_on_a_day_that_has_no_statistics(
    world: World,
) -> None:
    ids = [each.id for each in await dead(world, 32)]
    await destinations(world, A)
    await load(world, 20_000)
    connection, by = world.intake_connection, chunk_audit()
    await connection.ensure()
    owner = (world.ownership.process, world.ownership.intake_epoch, ENVIRONMENT)
    room = (1 << 40, 1 << 30, [ENVIRONMENT], [A], [shard_of(A)])
    for name, sql, named, more in (
        ("requeue", requeue._REQUEUE, ids[:16], room),
        ("discard", requeue._DISCARD, ids[16:], ()),
    ):
        await prepare(connection, sql, name)
        arguments = (*owner, named, *values(by.entry), by.counted, by.before, *more)
        plan = await explain(connection, *arguments, name=name)
        assert 16 <= most_rows(plan) <= 16 + SLACK, plan
