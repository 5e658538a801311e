"""Reruns of the intake's statement. The intake runs the statement for a group a second time if the result
of the first run is unknown. The group must be written only once. The rerun reports the stored rows."""

import trio

from engine.ports import (
    Acceptance,
    StoreAwayError,
)
from storage.database.profiles import UPKEEP
from tests.patience import HANGS_S
from tests.storage.world import (
    World,
    claim,
    deliveries_of,
    event,
    identity,
    intake_group,
)

A, B = sorted(identity.other() for _ in range(2))


async def test_a_group_that_was_written_is_recognised_when_it_is_run_again(world: World) -> None:
    taken, _ = await world.keyed("taken")
    events = [event(), event(), event()]
    claims = [claim(events[0], "taken"), claim(events[1], "mine")]
    deliveries = [delivery for each in events for delivery in deliveries_of(each, A, B)]
    group = intake_group(events, deliveries, claims, dirty=[A])
    first = await world.intake.accept(group)
    before = {name: await world.rows(name) for name in ("events", "deliveries", "idempotency")}
    group.again = True
    again = await world.intake.accept(group)
    assert again == first
    assert again.lost[events[0].id].event == taken.id
    assert before == {name: await world.rows(name) for name in before}


async def test_a_group_that_was_not_written_is_written_when_it_is_run_again(world: World) -> None:
    one = event()
    deliveries = deliveries_of(one, A)
    group = intake_group([one], deliveries, [claim(one, "key", 1)], again=True)
    acceptance = await world.intake.accept(group)
    assert [row["seq"] for row in await world.rows("deliveries")] == [acceptance.base]
    assert acceptance.lost == {}
    assert await world.intake.accept(group) == acceptance


async def test_part_of_a_group_that_was_written_has_the_seqs_of_the_whole(world: World) -> None:
    events = [event() for _ in range(4)]
    deliveries = [delivery for each in events for delivery in deliveries_of(each, A)]
    whole = await world.intake.accept(intake_group(events, deliveries))
    half = intake_group(events[2:], deliveries[2:], again=True)
    assert (await world.intake.accept(half)).base == whole.base + 2


async def test_events_alone_are_recognised_too(world: World) -> None:
    lonely = event()
    await world.intake.accept(intake_group([lonely]))
    assert (await world.intake.accept(intake_group([lonely], again=True))).lost == {}
    assert len(await world.rows("events")) == 1


async def test_a_loser_whose_holder_vanished_meanwhile_is_in_doubt(world: World) -> None:
    await world.keyed("key")
    loser, stays = event(), event()
    group = intake_group([loser, stays], [], [claim(loser, "key")])
    await world.intake.accept(group)
    await world.bridge.pool.fetch("DELETE FROM idempotency")
    group.again = True
    again = await world.intake.accept(group)
    assert again.lost == {}
    assert again.unheld == {loser.id}


async def test_a_statement_whose_connection_is_lost_commits_before_the_rerun_or_never(
    world: World,
) -> None:
    """The connection is lost while PostgreSQL still runs the statement. The statement is then run again
    on a new connection."""
    one = event()
    deliveries = deliveries_of(one, A)
    group = intake_group([one], deliveries)
    await world.intake.accept(intake_group([event()]))  # connects and prepares
    backend = world.intake_connection.backend
    locker = world.bridge.connection(UPKEEP)

    async def run() -> Acceptance:
        while True:
            try:
                return await world.intake.accept(group)
            except StoreAwayError:
                group.again = True
                await trio.lowlevel.checkpoint()

    async with locker.transaction():
        await locker.execute("LOCK TABLE deliveries IN SHARE MODE")  # delays the statement
        async with trio.open_nursery() as nursery:
            outcome: list[Acceptance] = []

            async def keep() -> None:
                outcome.append(await run())

            nursery.start_soon(keep)
            with trio.fail_after(HANGS_S):
                while not await waiting_for_a_lock(world, backend):
                    await trio.lowlevel.checkpoint()
            await world.bridge.pool.fetch("SELECT pg_terminate_backend($1)", backend)
            await locker.execute("COMMIT; BEGIN")
    (row,) = await world.rows("deliveries")
    assert row["seq"] == outcome[0].base


async def waiting_for_a_lock(world: World, backend: int | None) -> bool:
    found = await world.bridge.pool.fetch_value(
        "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", backend
    )
    return bool(found)
