"""Settlement of a group: all or nothing, also in reruns."""

import pytest

from engine.core.vocabulary import DeliveryStatus
from engine.ports import (
    PoisonError,
    SnapshotWrite,
)
from tests.storage.ends import ENDS, Maker
from tests.storage.world import (
    DAY_MS,
    ENVIRONMENT,
    World,
    deliveries_of,
    event,
    failure,
    identity,
    settle_group,
    shifted,
    success,
    unattempted,
)

A, B = sorted(identity.other() for _ in range(2))


async def test_a_group_run_again_changes_nothing_twice(world: World) -> None:
    deliveries = await world.accept(*[event() for _ in ENDS], to=[A])
    settlements = [make(d) for (make, _), d in zip(ENDS.values(), deliveries, strict=True)]
    group = settle_group(
        settlements, snapshots=[SnapshotWrite(ENVIRONMENT, A, b"s")], now_ms=1, again=True
    )
    await world.settle.settle(group)
    once = await world.contents()
    assert len(once["attempts"]) == 4
    await world.settle.settle(group)
    assert await world.contents() == once


@pytest.mark.parametrize("days", [1, 2])
async def test_successes_run_again_are_there_already_in_their_deliveries_own_rows(
    world: World, days: int
) -> None:
    late = [event(id=shifted(identity.event(), DAY_MS))] if days == 2 else []
    deliveries = await world.accept(event(), event(), *late, to=[A])
    group = settle_group([success(each) for each in deliveries])
    await world.settle.settle(group)
    once = await world.contents()
    assert once["attempts"] == []
    group.again = True  # its outcome was unknown
    await world.settle.settle(group)
    assert await world.contents() == once


async def test_a_group_that_was_settled_before_is_poison_unless_it_is_run_again(
    world: World,
) -> None:
    deliveries = await world.accept(event(), event(), to=[A])
    for group in (
        settle_group([success(deliveries[0])]),
        settle_group([unattempted(deliveries[1], DeliveryStatus.DRY_RUN)]),
    ):
        await world.settle.settle(group)
        before = await world.contents()
        with pytest.raises(PoisonError):
            await world.settle.settle(group)
        assert await world.contents() == before


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("end", [success, failure])
async def test_a_group_with_one_that_is_settled_already_changes_nothing_and_can_be_bisected(
    world: World, again: bool, end: Maker
) -> None:
    deliveries = await world.accept(*[event() for _ in range(4)], to=[A])
    settlements = [end(each) for each in deliveries]
    await world.settle.settle(settle_group([settlements[2]]))
    before = await world.contents()
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group(settlements, again=again))
    assert await world.contents() == before
    await world.settle.settle(settle_group(settlements[:2], again=again))
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([settlements[2]]))
    await world.settle.settle(settle_group([settlements[3]], again=again))
    assert {row["attempt_count"] for row in await world.rows("deliveries")} == {1}
    (counted,) = await world.rows("destination_minutes")
    assert counted["attempts"] == 4


async def test_a_row_that_is_not_there_is_poison(world: World) -> None:
    one = event()
    (ghost,) = deliveries_of(one, A)
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([success(ghost)]))
    assert await world.rows("attempt_log") == []


@pytest.mark.parametrize("attempted", [True, False])
@pytest.mark.parametrize("alone", [True, False])
async def test_a_row_of_a_partition_that_is_gone_is_poison_and_nothing_to_wait_for(
    world: World, attempted: bool, alone: bool
) -> None:
    (ghost,) = deliveries_of(event(id=shifted(identity.event(), -40 * DAY_MS)), A)
    settlement = failure(ghost) if attempted else unattempted(ghost, DeliveryStatus.DRY_RUN)
    others = [] if alone else [success(each) for each in await world.accept(event(), to=[A])]
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([settlement, *others]))
    assert await world.rows("attempt_log") == []
    if others:
        await world.settle.settle(settle_group(others))


async def test_an_unwritable_response_is_poison_and_writes_nothing(world: World) -> None:
    deliveries = await world.accept(event(), event(), to=[A])
    bad = success(deliveries[1], status=70_000)  # too large for a smallint
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([success(deliveries[0]), bad]))
    assert {row["status"] for row in await world.rows("deliveries")} == {0}
    assert await world.rows("attempt_log") == []


async def test_text_that_is_no_unicode_is_recorded_all_the_same(world: World) -> None:
    (delivery,) = await world.accept(event(), to=[A])
    await world.settle.settle(settle_group([failure(delivery, message="\ud800 \x00")]))
    assert (await world.row(delivery))["last_error"] == b"? \x00"
