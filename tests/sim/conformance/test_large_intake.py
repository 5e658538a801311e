"""Large groups of events, written in several parts to PostgreSQL and to the simulated database. A group
is written whole or not at all. Other groups are written between its parts."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.ports import Claimed, ContentionError, NewCustomer, OwnershipLostError, PoisonError
from storage.intake.store import PostgresIntake
from tests.postgres import LOCK_WAITS
from tests.sim.conformance.house import House
from tests.sim.conformance.sides import Postgres, Side
from tests.sim.store.connection import HotConnection
from tests.storage.world import ENVIRONMENT, claim, deliveries_of, event, identity, intake_group


class Gap:
    """A pause while a large group of events is written, after its first part. When the test sets `over`,
    the other parts are written."""

    def __init__(self) -> None:
        self.reached, self.over = trio.Event(), trio.Event()

    async def halt(self) -> None:
        self.reached.set()
        await self.over.wait()


@pytest.fixture
def gap(side: Side, monkeypatch: pytest.MonkeyPatch) -> Gap:
    made = Gap()
    run: Callable[..., Awaitable[Any]]
    if isinstance(side, Postgres):
        run = PostgresIntake._run

        async def halting(self: Any, group: Any, epoch: int, base: int | None = None) -> Any:
            done = await run(self, group, epoch, base)
            if base is not None:
                await made.halt()
            return done

        monkeypatch.setattr(PostgresIntake, "_run", halting)
        return made
    run = HotConnection.run

    async def halted(self: Any, statement: str, work: Any, *, writes: bool = True) -> Any:
        done = await run(self, statement, work, writes=writes)
        if statement == "accept part":
            await made.halt()
        return done

    monkeypatch.setattr(HotConnection, "run", halted)
    return made


async def wait_held_up(side: Side) -> None:
    while True:
        if isinstance(side, Postgres):
            waiting = await side.bridge.pool.fetch_value(LOCK_WAITS)
        else:
            await wait_all_tasks_blocked()
            waiting = True
        if waiting:
            return


async def test_parts_are_one_group(house: House) -> None:
    holder = event()
    await house.ports.intake.accept(intake_group([holder], (), [claim(holder, "held", 1)]))
    events = [event(customer="c-1"), event(source="s"), event(), event(), event()]
    deliveries = [each for one in events for each in deliveries_of(one, house.a, house.b)]
    claims = [claim(events[1], "mine", 2), claim(events[3], "held", 2)]
    account = NewCustomer(ENVIRONMENT, "c-1", identity.other())
    group = intake_group(events, deliveries, claims, customers=[account], dirty=[house.a, house.b])
    done = await house.ports.large.accept(group)
    assert done.lost == {events[3].id: Claimed(holder.id, 1, claim(holder, "held", 1).digest)}
    seqs = {row[5]: row[2] - done.base for row in await house.table("deliveries")}
    assert seqs == {one.id: 2 * place + 1 for place, one in enumerate(events) if place != 3}
    low = {row.destination: row.low_seq for row in await house.ports.backlog.backlog(range(256))}
    assert low == {house.a: done.base, house.b: done.base}
    assert await house.table("customers") == [[ENVIRONMENT, "c-1", account.id]]
    written = await house.side.dump()
    group.again = True
    for store, lost in ((house.ports.large, "large"), (house.ports.intake, "intake")):
        house.side.lose(lost)
        assert await store.accept(group) == done
    after = await house.side.dump()
    assert after.pop("epochs") != written.pop("epochs")
    assert after == written


async def test_of_a_group_whose_last_part_is_refused_nothing_is_there(house: House) -> None:
    await house.ports.large.check()
    before = await house.side.dump()
    events = [event() for _ in range(7)]
    deliveries = [each for one in events for each in deliveries_of(one, house.a)]
    twice = [*events, events[0]]
    account = NewCustomer(ENVIRONMENT, "nul\0", identity.other())
    for group in (
        intake_group(events, deliveries, customers=[account]),
        intake_group(twice, [*deliveries, *deliveries_of(event(), house.a)]),
        intake_group([*events, event(type="no\0text")], deliveries),
    ):
        with pytest.raises((PoisonError, ValueError)):
            await house.ports.large.accept(group)
        assert await house.side.dump() == before
    await house.ports.large.accept(intake_group(events, deliveries, dirty=[house.a]))
    assert len(await house.table("events")) == 7


async def test_between_two_parts_nobody_sees_any_and_others_are_written(
    house: House, gap: Gap
) -> None:
    events = [event() for _ in range(6)]
    deliveries = deliveries_of(events[0], house.a)
    group = intake_group(events, deliveries, [claim(events[0], "key", 1)], dirty=[house.a])
    for store in (house.ports.large, house.ports.intake):
        await store.check()
    before = await house.side.dump()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.ports.large.accept, group)
        await gap.reached.wait()
        assert await house.side.dump() == before
        (beside,) = await house.waiting(1, house.b)
        assert await house.ports.claims.holders(ENVIRONMENT, ["key"], group.now_ms) == {}
        gap.over.set()
    rows = {row[1]: row[2] for row in await house.table("deliveries")}
    assert rows.keys() == {deliveries[0].id, beside.id}
    # The group's delivery drew its seq before `beside` did, so it has the lower seq. But `beside` became
    # visible first.
    assert rows[deliveries[0].id] < rows[beside.id]


async def test_who_takes_over_waits_for_the_parts_that_are_under_way(
    house: House, gap: Gap
) -> None:
    events = [event() for _ in range(6)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.ports.large.accept, intake_group(events, ()))
        await gap.reached.wait()
        nursery.start_soon(house.side.take)
        await wait_held_up(house.side)
        assert await house.table("events") == []
        gap.over.set()
    assert len(await house.table("events")) == 6
    assert house.side.former is not None
    with pytest.raises(OwnershipLostError):
        await house.side.former.large.accept(intake_group([event() for _ in range(6)], ()))


async def test_an_epoch_is_renewed_after_the_parts_that_are_under_way(
    house: House, gap: Gap
) -> None:
    events = [event() for _ in range(6)]
    await house.ports.intake.check()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.ports.large.accept, intake_group(events, ()))
        await gap.reached.wait()
        house.side.lose("intake")
        nursery.start_soon(_checked, house)
        await wait_held_up(house.side)
        assert await house.table("events") == []
        gap.over.set()
    assert len(await house.table("events")) == 6
    await house.ports.large.accept(intake_group([event() for _ in range(6)], ()))


async def _checked(house: House) -> None:
    """A check waits at most 100 ms for the lock."""
    while True:
        try:
            return await house.ports.intake.check()
        except ContentionError:
            continue
