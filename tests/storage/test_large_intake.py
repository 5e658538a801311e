"""Groups that the intake writes in parts. The rows must be the same as if a single statement wrote the
group. If a part fails, no row of the group is written."""

from typing import Any

import pytest
import trio

import storage.intake.large
from engine.core.records import Delivery, Event
from engine.ports import IntakeGroup, NewCustomer, OwnershipLostError, PoisonError, StoreAwayError
from storage.database.profiles import INTAKE, UPKEEP
from storage.intake.large import PostgresLargeIntake, parts_of
from storage.intake.store import PostgresIntake
from tests.storage.world import (
    ENVIRONMENT,
    World,
    claim,
    deliveries_of,
    event,
    identity,
    intake_group,
)

A, B = sorted(identity.other() for _ in range(2))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.intake.large, "PART_ROWS", 6)


@pytest.fixture
def large(world: World) -> PostgresLargeIntake:
    connection = world.bridge.connection(INTAKE, world.ownership.renew_intake)
    return PostgresLargeIntake(connection, world.ownership)


def batch(count: int = 8) -> tuple[list[Event], list[Delivery]]:
    events = [event(source="s" if number % 3 else None) for number in range(count)]
    deliveries = [
        delivery
        for number, each in enumerate(events)
        for delivery in deliveries_of(each, *([A, B][: number % 3]))
    ]
    return events, deliveries


def whole(events: list[Event], deliveries: list[Delivery], **more: Any) -> IntakeGroup:
    customers = [NewCustomer(ENVIRONMENT, "c-1", identity.other())]
    return intake_group(events, deliveries, customers=customers, dirty=[A, B], **more)


async def test_it_writes_what_one_statement_writes(
    world: World, large: PostgresLargeIntake
) -> None:
    events, deliveries = batch()
    acceptance = await large.accept(whole(events, deliveries))
    rows = sorted(await world.rows("deliveries"), key=lambda row: int(row["seq"]))
    assert [str(row["id"]) for row in rows] == [each.id for each in deliveries]
    assert [row["seq"] - acceptance.base for row in rows] == list(range(len(deliveries)))
    written = {str(row["id"]): row for row in await world.rows("events")}
    assert [written[each.id]["source"] for each in events] == [each.source for each in events]
    assert [written[each.id]["deliveries"] for each in events] == [n % 3 for n in range(8)]
    backlog = await world.rows("destination_backlog")
    assert {(str(row["destination"]), row["low_seq"]) for row in backlog} == {
        (A, acceptance.base),
        (B, acceptance.base),
    }
    assert len(await world.rows("customer_accounts")) == 1


async def test_keys_that_others_hold_are_lost_whatever_part_they_are_in(
    world: World, large: PostgresLargeIntake
) -> None:
    first, _ = await world.keyed("first")
    last, _ = await world.keyed("last")
    events, deliveries = batch()
    claims = [claim(events[0], "first"), claim(events[3], "mine"), claim(events[7], "last")]
    group = whole(events, deliveries, claims=claims)
    acceptance = await large.accept(group)
    assert {each: held.event for each, held in acceptance.lost.items()} == {
        events[0].id: first.id,
        events[7].id: last.id,
    }
    there = {str(row["id"]) for row in await world.rows("events")}
    assert there - {first.id, last.id} == {each.id for each in events[1:7]}
    group.again = True
    assert await large.accept(group) == acceptance
    assert await world.intake.accept(group) == acceptance


async def test_of_a_group_that_is_refused_in_its_last_part_nothing_is_there(
    world: World, large: PostgresLargeIntake
) -> None:
    events, deliveries = batch()
    events[-1].type = "order\0created"
    with pytest.raises(PoisonError):
        await large.accept(whole(events, deliveries))
    assert await world.rows("events") == []
    assert await world.rows("destination_backlog") == []
    events[-1].type = "order.created"
    await large.accept(whole(events, deliveries))
    assert len(await world.rows("events")) == 8


async def test_a_group_whose_connection_is_lost_half_way_is_written_by_its_next_run(
    world: World, large: PostgresLargeIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, deliveries = batch()
    group = whole(events, deliveries)
    runs = 0
    run = PostgresIntake._run

    async def cut(self: PostgresIntake, *arguments: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs == 3:
            raw = self._connection._raw
            assert raw is not None
            raw.terminate()
        return await run(self, *arguments)

    monkeypatch.setattr(PostgresIntake, "_run", cut)
    with pytest.raises(StoreAwayError):
        await large.accept(group)
    group.again = True
    acceptance = await large.accept(group)
    rows = await world.rows("deliveries")
    assert sorted(row["seq"] - acceptance.base for row in rows) == list(range(len(deliveries)))


async def test_who_was_replaced_writes_nothing(world: World, large: PostgresLargeIntake) -> None:
    await large.check()
    upkeep = world.bridge.connection(UPKEEP)
    await World(world.bridge).ownership.take(upkeep)
    await world.bridge.release(upkeep)
    with pytest.raises(OwnershipLostError):
        await large.accept(whole(*batch()))
    assert await world.rows("events") == []


async def test_both_connections_may_be_renewed_at_once(
    world: World, large: PostgresLargeIntake
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.intake.check)
        nursery.start_soon(large.check)
    await large.accept(whole(*batch()))
    await world.accept(event(), to=[A])
    assert len(await world.rows("events")) == 9


def test_deliveries_in_another_order_are_told_of() -> None:
    events, deliveries = batch()
    with pytest.raises(ValueError, match="not in the order"):
        list(parts_of(whole(events, deliveries[::-1])))
