"""Reads of the backlog: order, lanes, bounds, and the rows from which recovery starts."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, DlqStatus
from engine.model.identity import shard_of
from engine.ports import BacklogMark, BacklogRow, ReadBack, SnapshotWrite
from storage.backlog import reading as backlog
from storage.backlog.reading import BACKLOG, PostgresBacklog
from tests.storage.world import (
    ENVIRONMENT,
    World,
    deliveries_of,
    event,
    failure,
    identity,
    intake_group,
    now_ms,
    settle_group,
    success,
    unattempted,
)

# of different shards: an id ends with its shard
A, B = (identity.other()[:-2] + shard for shard in ("0a", "0b"))
STANDARD = (DeliveryClass.STANDARD,)
ALL = tuple(DeliveryClass)
ROOM = 1 << 30


DISABLED = """
    INSERT INTO destinations (environment, id, version, status, name, url, concurrency, ordering,
        timeout_ms, dry_run, retry_schedule_s, algorithm, headers, sealed, updated_at_ms)
    VALUES ($1, $2::uuid, 1, 2, '', '', 1, 0, 100, false, '{}', 1, '', '', 0)"""


@pytest.fixture
async def store(world: World) -> PostgresBacklog:
    return PostgresBacklog(world.bridge.make_pool(BACKLOG, size=1))


@pytest.fixture
def few_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "EXAMINED", 10)
    # The text of a statement contains EXAMINED. The functions that build this text have a cache, so they
    # can return a text with the former value of EXAMINED. `__wrapped__` is the function without a cache.
    for name in ("queue_statement", "passed_statement"):
        monkeypatch.setattr(backlog, name, getattr(backlog, name).__wrapped__)


async def read(
    store: PostgresBacklog,
    classes: Sequence[DeliveryClass] = STANDARD,
    after: int = 0,
    limit: int = 1000,
    max_bytes: int = ROOM,
    **how: Any,
) -> ReadBack:
    how = {"ordered": False, **how}
    return await store.read_queue(ENVIRONMENT, A, classes, after, limit, max_bytes, **how)


def ids(deliveries: Sequence[Delivery]) -> list[str]:
    return [each.id for each in deliveries]


async def test_what_is_read_back_is_what_was_accepted(world: World, store: PostgresBacklog) -> None:
    full = event(
        metadata=b"{}", source="s", customer="c", correlation_id="k", request_id="r",
        attachments=b"[]", file=identity.other(), idempotency_key=None,
    )  # fmt: skip
    deliveries = deliveries_of(full, A, customer="c") + deliveries_of(event(), A)
    await world.put(deliveries)
    assert (await read(store)).deliveries == deliveries


async def test_an_empty_queue_is_at_its_end(store: PostgresBacklog) -> None:
    assert await read(store, after=5) == ReadBack([], 5, {}, True)


async def test_only_what_waits_is_read_and_only_of_the_classes_asked_for(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = [
        each for queue in ALL * 3 for each in deliveries_of(event(), A, queue=DeliveryClass(queue))
    ]
    await world.put([*deliveries, *deliveries_of(event(), B)])
    done, tried, dead, dry = deliveries[4:8]
    settlements = [
        success(done),
        failure(tried),
        failure(dead, DeliveryStatus.FAILED),
        unattempted(dry, DeliveryStatus.DRY_RUN),
    ]
    await world.settle.settle(settle_group(settlements))
    waiting = deliveries[:4] + deliveries[8:]
    found = await read(store, ALL)
    assert found == ReadBack(waiting, deliveries[-1].seq, {}, True)
    for queue in ALL:
        assert ids((await read(store, (queue,))).deliveries) == ids(
            [each for each in waiting if each.queue is queue]
        )
    assert ids((await read(store, ALL, ordered=True)).deliveries) == ids(
        sorted([*waiting, tried], key=lambda each: each.seq)
    )


@pytest.mark.parametrize("classes", [STANDARD, ALL])
async def test_a_walk_by_cursor_sees_each_once_and_in_order(
    world: World, store: PostgresBacklog, classes: Sequence[DeliveryClass]
) -> None:
    deliveries = await world.accept(*[event() for _ in range(23)], to=[A])
    seen: list[str] = []
    after = 0
    while True:
        found = await read(store, classes, after, limit=5)
        seen += ids(found.deliveries)
        after = found.through
        if found.end:
            break
        assert found.through == found.deliveries[-1].seq
    assert seen == ids(deliveries)
    assert after == deliveries[-1].seq


async def test_bytes_bound_a_read_but_one_is_always_returned(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await world.accept(*[event(payload=b"x" * 100) for _ in range(5)], to=[A])
    found = await read(store, max_bytes=1)
    assert found == ReadBack(deliveries[:1], deliveries[0].seq, {}, False)
    found = await read(store, max_bytes=201)
    assert ids(found.deliveries) == ids(deliveries[:3])
    assert (found.through, found.end) == (deliveries[2].seq, False)


@pytest.mark.usefixtures("few_examined")
async def test_long_settled_stretches_are_walked_in_bounded_steps(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await world.accept(*[event() for _ in range(35)], to=[A])
    await world.settle.settle(settle_group([success(each) for each in deliveries[:34]]))
    for classes in (STANDARD, ALL):
        steps, after = 0, 0
        seen: list[Delivery] = []
        while True:
            found = await read(store, classes, after)
            assert found.through > after
            steps, after, seen = steps + 1, found.through, seen + found.deliveries
            if found.end:
                break
        assert (steps, seen) == (4, deliveries[34:])


# --- lanes


async def lanes(world: World, *names: str | None) -> list[Delivery]:
    deliveries = [each for name in names for each in deliveries_of(event(), A, lane=name)]
    await world.put(deliveries)
    return deliveries


async def test_skipped_lanes_are_passed_over_and_remembered_by_their_first(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await lanes(world, "x", "y", None, "y", "z", "x", "y")
    await world.settle.settle(settle_group([success(deliveries[0])]))
    found = await read(store, ALL, ordered=True, skip_lanes=["y", "x", "nobody"])
    assert found.deliveries == [deliveries[2], deliveries[4]]
    assert found.skipped == {"y": deliveries[1].seq, "x": deliveries[5].seq}
    assert (found.through, found.end) == (deliveries[6].seq, True)


async def test_what_lies_beyond_the_stretch_is_not_reported_as_skipped(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await lanes(world, "x", None, None, "y")
    found = await read(store, ALL, limit=1, ordered=True, skip_lanes=["y", "x"])
    assert found.deliveries == [deliveries[1]]
    assert (found.through, found.skipped) == (deliveries[1].seq, {"x": deliveries[0].seq})


@pytest.mark.usefixtures("few_examined")
async def test_a_stretch_of_nothing_but_skipped_lanes_moves_the_cursor(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await lanes(world, *["x"] * 15, "z")
    found = await read(store, ALL, ordered=True, skip_lanes=["x"])
    assert found == ReadBack([], deliveries[9].seq, {"x": deliveries[0].seq}, False)
    found = await read(store, ALL, found.through, ordered=True, skip_lanes=["x"])
    assert (found.deliveries, found.end) == ([deliveries[15]], True)
    assert found.skipped == {"x": deliveries[10].seq}


async def test_one_lane_can_be_read_by_itself(world: World, store: PostgresBacklog) -> None:
    deliveries = await lanes(world, "x", "y", None, "y")
    await world.settle.settle(settle_group([failure(deliveries[1])]))
    found = await read(store, ALL, ordered=True, only_lane="y")
    assert ids(found.deliveries) == ids([deliveries[1], deliveries[3]])
    assert (found.through, found.skipped, found.end) == (deliveries[3].seq, {}, True)


# --- retries, dead deliveries and recovery


async def test_retries_are_read_when_due_the_earliest_first(
    world: World, store: PostgresBacklog
) -> None:
    now = time.time()
    deliveries = await world.accept(*[event() for _ in range(4)], to=[A])
    due = [now + 3, now + 1, now + 2, now + 9]
    settlements = [
        failure(each, next_attempt_at=at) for each, at in zip(deliveries, due, strict=True)
    ]
    await world.settle.settle(settle_group(settlements))
    before_ms = int((now + 5) * 1000)
    found = await store.read_due(ENVIRONMENT, A, before_ms, 10)
    assert ids(found) == ids([deliveries[1], deliveries[2], deliveries[0]])
    assert found[0].attempt_count == 1
    assert found[0].next_attempt_at is not None
    assert now + 1 <= found[0].next_attempt_at < now + 1.002, "never earlier than it was scheduled"
    assert ids(await store.read_due(ENVIRONMENT, A, before_ms, 2)) == ids(
        [deliveries[1], deliveries[2]]
    )
    assert await store.read_due(ENVIRONMENT, B, before_ms, 2) == []
    lowest, earliest_ms = await store.first_retry(ENVIRONMENT, A)
    assert lowest == deliveries[0].seq
    assert earliest_ms is not None
    assert 0 <= earliest_ms - due[1] * 1000 <= 1
    assert await store.first_retry(ENVIRONMENT, B) == (None, None)


async def test_the_dead_are_read_until_they_are_discarded(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await world.accept(*[event() for _ in range(5)], to=[A])
    await world.settle.settle(
        settle_group([failure(each, DeliveryStatus.FAILED) for each in deliveries[:4]])
    )
    discarded = []
    while dead := await store.read_dead(ENVIRONMENT, A, 3):
        assert all(each.dlq_status is DlqStatus.IN_DLQ for each in dead)
        discarded += ids(dead)
        settlements = [
            unattempted(each, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED)
            for each in dead
        ]
        await world.settle.settle(settle_group(settlements))
    assert discarded == ids(deliveries[:4])


async def test_what_waits_is_counted_from_a_seq_on_and_every_retry(
    world: World, store: PostgresBacklog
) -> None:
    deliveries = await world.accept(*[event() for _ in range(6)], to=[A])
    critical = deliveries_of(event(), A, queue=DeliveryClass.CRITICAL)
    await world.put(critical)
    await world.settle.settle(settle_group([failure(deliveries[0]), success(deliveries[4])]))
    assert await store.count_waiting(ENVIRONMENT, A, 0) == 6
    assert await store.count_waiting(ENVIRONMENT, A, deliveries[3].seq) == 4
    assert await store.count_waiting(ENVIRONMENT, B, 0) == 0
    assert await store.last_seqs(ENVIRONMENT, A) == {0: critical[0].seq, 2: deliveries[5].seq}
    assert await store.last_seqs(ENVIRONMENT, B) == {}


async def test_recovery_finds_dirty_destinations_due_ones_and_snapshots(
    world: World, store: PostgresBacklog
) -> None:
    acceptance = await world.intake.accept(intake_group([event()], dirty=[A, B]))
    now = now_ms()
    await world.settle.settle(
        settle_group(
            [],
            marks=[
                BacklogMark(ENVIRONMENT, A, 0, now + 1),
                BacklogMark(ENVIRONMENT, B, 0, now),
            ],
            snapshots=[SnapshotWrite(ENVIRONMENT, A, b"state")],
        )
    )
    rows = {
        A: BacklogRow(ENVIRONMENT, A, acceptance.base, now + 1),
        B: BacklogRow(ENVIRONMENT, B, acceptance.base, now),
    }
    found = await store.backlog(range(256))
    assert {row.destination: row for row in found} == rows
    assert [row.destination for row in await store.backlog([shard_of(A)])] == [A]
    assert await store.backlog([]) == []
    assert await store.due_destinations(now + 2, 10) == [rows[B], rows[A]]
    assert await store.due_destinations(now + 1, 10) == [rows[B]]
    assert await store.due_destinations(now + 2, 1) == [rows[B]]
    # Destination B is now disabled. Its row is still due, but nothing is sent to B. So a list of only one
    # due destination must contain A instead of B.
    await world.bridge.pool.fetch(DISABLED, ENVIRONMENT, B)
    assert await store.due_destinations(now + 2, 1) == [rows[A]]
    actors = [(ENVIRONMENT, B), (ENVIRONMENT, A), (ENVIRONMENT + 1, A)]
    assert await store.read_snapshots(actors) == [None, b"state", None]


async def test_another_environment_has_a_queue_of_its_own(
    world: World, store: PostgresBacklog
) -> None:
    await world.accept(event(), to=[A])
    found = await store.read_queue(ENVIRONMENT + 1, A, ALL, 0, 10, ROOM, ordered=True)
    assert found == ReadBack([], 0, {}, True)
