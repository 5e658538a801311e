"""Idempotency keys: exactly one winner, in any order of arrival."""

import trio

from engine.core.records import Event
from engine.ports import (
    Acceptance,
    Claimed,
)
from storage.database.bridge import open_bridge
from tests.storage.world import (
    DAY_MS,
    ENVIRONMENT,
    World,
    claim,
    deliveries_of,
    event,
    identity,
    intake_group,
    now_ms,
)

A, B = sorted(identity.other() for _ in range(2))


async def test_a_taken_key_writes_nothing_and_names_its_holder(world: World) -> None:
    winner, acceptance = await world.keyed("key", digest=b"w" * 32)
    assert acceptance.lost == {}
    loser, acceptance = await world.keyed("key", digest=b"l" * 32)
    assert acceptance.lost == {loser.id: Claimed(winner.id, 1, b"w" * 32)}
    assert [str(row["id"]) for row in await world.rows("events")] == [winner.id]
    assert [str(row["event"]) for row in await world.rows("deliveries")] == [winner.id]
    (row,) = await world.rows("idempotency")
    assert (str(row["event"]), row["digest"]) == (winner.id, b"w" * 32)


async def test_winners_and_losers_of_one_group_are_told_apart(world: World) -> None:
    taken, _ = await world.keyed("b")
    events = [event() for _ in range(4)]
    claims = [claim(each, key) for each, key in zip(events[:3], "cba", strict=True)]
    deliveries = [delivery for each in events for delivery in deliveries_of(each, A)]
    acceptance = await world.intake.accept(intake_group(events, deliveries, claims))
    assert set(acceptance.lost) == {events[1].id}
    assert acceptance.lost[events[1].id].event == taken.id
    written = {str(row["id"]): row for row in await world.rows("deliveries")}
    # The loser's seq stays unused.
    for place, delivery in enumerate(deliveries):
        if place != 1:
            assert written[delivery.id]["seq"] == acceptance.base + place
    assert deliveries[1].id not in written


async def test_an_expired_key_is_taken_over(world: World) -> None:
    await world.keyed("key", expires_at_ms=now_ms())
    heir, acceptance = await world.keyed("key", digest=b"h" * 32)
    assert acceptance.lost == {}
    (row,) = await world.rows("idempotency")
    assert (str(row["event"]), row["digest"]) == (heir.id, b"h" * 32)
    assert row["expires_at_ms"] > now_ms() + DAY_MS - 60_000
    assert len(await world.rows("events")) == 2


async def test_the_same_key_in_another_environment_is_another_key(world: World) -> None:
    await world.keyed("key")
    other = event(environment=ENVIRONMENT + 1)
    group = intake_group([other], [], [claim(other, "key")])
    assert (await world.intake.accept(group)).lost == {}
    mixed = [event(), event(environment=ENVIRONMENT + 1)]
    lost = await world.intake.accept(
        intake_group(mixed, [], [claim(each, "key") for each in mixed])
    )
    assert set(lost.lost) == {each.id for each in mixed}


async def test_of_concurrent_claims_on_many_keys_each_has_one_winner(
    world: World, database_url: str
) -> None:
    """Several connections claim the same keys in opposite orders."""
    rounds, keys = 6, [f"k{number}" for number in range(12)]
    lost: list[Acceptance] = []
    claimed: list[Event] = []
    async with open_bridge(database_url) as bridge:
        rivals = []
        for _ in range(4):
            rival = World(bridge)
            rival.ownership.process = world.ownership.process
            rival.ownership.intake_epoch = world.ownership.intake_epoch
            rivals.append(rival)

        async def run(rival: World, order: list[str]) -> None:
            for number in range(rounds):
                events = [event() for _ in order]
                claimed.extend(events)
                claims = [
                    claim(each, f"{key}-{number}") for each, key in zip(events, order, strict=True)
                ]
                group = intake_group(events, [], claims)
                lost.append(await rival.intake.accept(group))

        async with trio.open_nursery() as nursery:
            for number, rival in enumerate(rivals):
                nursery.start_soon(run, rival, keys[:: -1 if number % 2 else 1])
    assert len(await world.rows("idempotency")) == rounds * len(keys)
    events_written = {str(row["id"]) for row in await world.rows("events")}
    assert len(events_written) == rounds * len(keys)
    losers = {loser for each in lost for loser in each.lost}
    assert losers | events_written == {each.id for each in claimed}
    assert not losers & events_written
    holders = {holder.event for each in lost for holder in each.lost.values()}
    assert holders <= events_written
