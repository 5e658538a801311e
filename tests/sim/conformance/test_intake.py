"""The intake's statement, on both databases."""

from collections.abc import Awaitable, Callable

import pytest

from engine.core.vocabulary import DeliveryClass
from engine.ports import (
    Claimed,
    NewCustomer,
    OwnershipLostError,
    PoisonError,
    StoreError,
)
from tests.sim.conformance.house import House
from tests.storage.world import (
    ENVIRONMENT,
    claim,
    deliveries_of,
    event,
    identity,
    intake_group,
    now_ms,
    settle_group,
    success,
)


async def test_a_group_is_written_whole_and_in_order(house: House) -> None:
    first, second = event(customer="c-1", metadata=b"{}"), event(source="s")
    deliveries = [*deliveries_of(first, house.a, house.b), *deliveries_of(second, house.a)]
    account = NewCustomer(ENVIRONMENT, "c-1", identity.other())
    done = await house.ports.intake.accept(
        intake_group([first, second], deliveries, customers=[account], dirty=[house.a])
    )
    assert done.lost == {}
    read = await house.ports.backlog.read_queue(
        ENVIRONMENT, house.a, list(DeliveryClass), 0, 9, 1 << 20, ordered=False
    )
    assert [each.seq for each in read.deliveries] == [done.base, done.base + 2]
    assert [each.event for each in read.deliveries] == [first, second]
    assert [each.lane for each in read.deliveries] == ["c:c-1", "s:s"]
    later = NewCustomer(ENVIRONMENT, "c-1", identity.other())
    more = await house.ports.intake.accept(
        intake_group([event()], customers=[later], dirty=[house.a, house.b])
    )
    assert more.base > done.base
    assert await house.table("customers") == [[ENVIRONMENT, "c-1", account.id]]
    low = {row.destination: row.low_seq for row in await house.ports.backlog.backlog(range(256))}
    assert low == {house.a: done.base, house.b: more.base}


async def test_a_key_is_held_until_it_expires_and_its_loser_is_not_written(house: House) -> None:
    holder = event()
    day = claim(holder, "key", 1)
    await house.ports.intake.accept(intake_group([holder], deliveries_of(holder, house.a), [day]))
    loser, beside = event(), event()
    late = claim(loser, "key", 1, expires_at_ms=day.expires_at_ms + 5)
    deliveries = [*deliveries_of(loser, house.a), *deliveries_of(beside, house.a)]
    group = intake_group([loser, beside], deliveries, [late], dirty=[house.a])
    done = await house.ports.intake.accept(group)
    assert done.lost == {loser.id: Claimed(holder.id, 1, day.digest)}
    assert {row[1] for row in await house.table("events")} == {holder.id, beside.id}
    seqs = {row[2] for row in await house.table("deliveries") if row[5] == beside.id}
    assert seqs == {done.base + 1}
    held = await house.ports.claims.holders(ENVIRONMENT, ["key", "other"], now_ms())
    assert held == {"key": Claimed(holder.id, 1, day.digest)}
    assert await house.ports.claims.holders(ENVIRONMENT, ["key"], day.expires_at_ms) == {}
    heir = event()
    taking = intake_group([heir], (), [claim(heir, "key")], now_ms=day.expires_at_ms)
    assert (await house.ports.intake.accept(taking)).lost == {}
    assert [row[2] for row in await house.table("claims")] == [heir.id]


async def test_what_cannot_be_written_is_refused_whole(house: House) -> None:
    (there,) = await house.waiting(1, house.a)
    before = await house.side.dump()
    twice = [event(), event()]
    groups = [
        (PoisonError, intake_group([event(), event(customer="nul\0")])),
        (PoisonError, intake_group([event(), event(source="\ud800")])),
        (PoisonError, intake_group([event(), there.event])),
        (PoisonError, intake_group([event()], [there])),
        (StoreError, intake_group(twice, (), [claim(each, "key") for each in twice])),
        (StoreError, intake_group([event()], dirty=[house.b, house.b])),
    ]
    for kind, group in groups:
        with pytest.raises(StoreError) as raised:
            await house.ports.intake.accept(group)
        assert type(raised.value) is kind
    assert await house.side.dump() == before


async def test_a_group_whose_outcome_is_unknown_is_written_once(house: House) -> None:
    holder, loser, fresh = event(), event(), event()
    await house.ports.intake.accept(intake_group([holder], (), [claim(holder, "key")]))
    deliveries = [*deliveries_of(loser, house.a), *deliveries_of(fresh, house.b, house.a)]
    group = intake_group([loser, fresh], deliveries, [claim(loser, "key", 1)], dirty=[house.a])
    done = await house.ports.intake.accept(group)
    written = await house.side.dump()
    group.again = True
    house.side.lose("intake")
    assert await house.ports.intake.accept(group) == done
    after = await house.side.dump()
    _, process, _ = after.pop("epochs")
    assert process[1] > written.pop("epochs")[1][1]  # a new connection, a new epoch
    assert after == written
    never = intake_group([event()], again=True)
    assert (await house.ports.intake.accept(never)).base > done.base
    assert len(await house.table("events")) == 3


async def test_who_was_replaced_writes_nothing_anywhere(house: House) -> None:
    (dead,) = await house.dead(1, house.a)
    (waits,) = await house.waiting(1, house.b)
    former = house.ports
    await house.side.take()
    before = await house.side.dump()
    base = await former.intake.draw()
    statements: list[Callable[[], Awaitable[object]]] = [
        lambda: former.intake.accept(intake_group([event()])),
        lambda: former.large.accept(intake_group([event(), event(), event(), event()])),
        lambda: former.intake.forget_backlog([(ENVIRONMENT, house.a)]),
        lambda: former.settle.settle(settle_group([success(waits)])),
        lambda: former.requeue.requeue(
            ENVIRONMENT, [dead.id], base, [], house.chunk_audit(), again=False
        ),
        lambda: former.requeue.discard(ENVIRONMENT, [dead.id], house.chunk_audit(), again=False),
    ]
    for statement in statements:
        with pytest.raises(OwnershipLostError):
            await statement()
    for purpose in ("intake", "large", "settle"):
        house.side.lose(purpose)
    assert await house.side.dump() == before
    await house.ports.intake.forget_backlog(
        [(ENVIRONMENT, house.a), (ENVIRONMENT, identity.other())]
    )
    assert [row[1] for row in await house.table("backlog")] == [house.b]
