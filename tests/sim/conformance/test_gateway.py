"""The simulated database with a failing connection. A statement can run late or never. It can also run
although the caller gets an error."""

from collections.abc import Callable
from typing import TypeVar

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.ports import ContentionError, OwnershipLostError, PoisonError, StoreAwayError
from tests.sim.gateway import Direct
from tests.sim.store import POISON, Database, Stores
from tests.sim.store.large_intake import PART_ROWS
from tests.sim.store.rights import PATIENCE_S
from tests.storage.world import (
    ENVIRONMENT,
    deliveries_of,
    event,
    identity,
    intake_group,
    settle_group,
    success,
)

Result = TypeVar("Result")


class Failing:
    """A gateway that lets calls fail. The words in `next` say how the next calls fail.

    A "lost" call never runs its work. A "denied" call runs its work before it fails. A "late" call leaves
    its work to the test. A "contended" call fails with contention. If `next` is empty, calls succeed.
    """

    def __init__(self) -> None:
        self.next: list[str] = []
        self.late: list[Callable[[], object]] = []
        self.statements: list[str] = []

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        self.statements.append(statement)
        fate = self.next.pop(0) if self.next else ""
        if fate == "contended":
            raise ContentionError("40001")
        if fate == "late":
            self.late.append(work)
        if fate == "denied":
            work()
        if fate:
            raise StoreAwayError(fate)
        return await Direct().call(statement, work, writes=writes)


async def process(database: Database, number: int) -> tuple[Stores, Failing]:
    gateway = Failing()
    stores = database.connect(number, gateway)
    await stores.take()
    return stores, gateway


async def test_what_is_left_over_of_a_lost_connection_writes_nothing() -> None:
    database, a = Database(), identity.other()
    stores, gateway = await process(database, 1)
    await stores.intake.check()
    one = event()
    group = intake_group([one], deliveries_of(one, a), dirty=[a])
    gateway.next = ["late"]
    with pytest.raises(StoreAwayError) as raised:
        await stores.intake.accept(group)
    assert raised.value.maybe_written
    group.again = True
    gateway.next = ["lost"]
    with pytest.raises(StoreAwayError) as raised:  # it could not even connect
        await stores.intake.accept(group)
    assert not raised.value.maybe_written
    done = await stores.intake.accept(group)
    before = database.rows()
    with pytest.raises(OwnershipLostError):
        gateway.late[0]()
    assert database.rows() == before
    gateway.next = ["denied"]
    with pytest.raises(StoreAwayError):
        await stores.intake.accept(intake_group([event()]))
    assert len(database.rows().events) == 2
    assert (await stores.intake.accept(group)).base == done.base


async def test_what_is_left_over_of_a_lost_transaction_writes_nothing(
    autojump_clock: MockClock,
) -> None:
    database, a = Database(), identity.other()
    stores, gateway = await process(database, 1)
    await stores.large_intake.check()
    before = database.rows()
    for lost in (["", "late"], ["", "", "lost"], ["", "", "", "late"]):
        events = [event() for _ in range(PART_ROWS)]
        deliveries = [each for one in events for each in deliveries_of(one, a)]
        group = intake_group(events, deliveries, dirty=[a])
        gateway.next, gateway.late = [*lost], []
        with pytest.raises(StoreAwayError):
            await stores.large_intake.accept(group)
        assert database.rows() == before
        group.again = True
        held = len(lost) > 2  # after its first part, its backend still has the right to write
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stores.intake.check)
            await wait_all_tasks_blocked()
            assert stores.intake.connection.connected is not held
            await stores.large_intake.accept(group)
        stores.intake.connection.connected = False
        before = database.rows()
        for work in gateway.late:
            with pytest.raises(StoreAwayError):
                work()
        assert database.rows() == before
    assert len(before.events) == 3 * PART_ROWS


async def test_a_commit_whose_answer_was_lost_is_found_again() -> None:
    database, a = Database(), identity.other()
    stores, gateway = await process(database, 1)
    await stores.large_intake.check()
    events = [event() for _ in range(PART_ROWS)]
    deliveries = [each for one in events for each in deliveries_of(one, a)]
    group = intake_group(events, deliveries)
    parts = -(-2 * PART_ROWS // (PART_ROWS + 1))
    gateway.next = [*[""] * (1 + parts), "denied"]
    with pytest.raises(StoreAwayError):
        await stores.large_intake.accept(group)
    assert gateway.statements[-1] == "commit"
    before = database.rows()
    group.again = True
    done = await stores.large_intake.accept(group)
    assert database.rows() == before
    assert [row.seq - done.base for row in before.deliveries] == list(range(len(deliveries)))


async def test_a_takeover_waits_for_parts_but_not_for_ever(autojump_clock: MockClock) -> None:
    database, a = Database(), identity.other()
    former, gateway = await process(database, 1)
    await former.large_intake.check()
    events = [event() for _ in range(PART_ROWS)]
    group = intake_group(events, [each for one in events for each in deliveries_of(one, a)])
    gateway.next = ["", "", "late"]
    with pytest.raises(StoreAwayError):  # its backend does not learn of the loss
        await former.large_intake.accept(group)
    began = trio.current_time()
    await process(database, 2)
    assert trio.current_time() - began == PATIENCE_S
    with pytest.raises(OwnershipLostError):
        await former.large_intake.check()
    assert database.rows().events == ()


async def test_a_renewal_that_comes_late_does_not_set_the_epoch_back() -> None:
    database = Database()
    stores, gateway = await process(database, 1)
    gateway.next = ["late"]
    with pytest.raises(StoreAwayError):
        await stores.intake.check()
    await stores.intake.check()
    with pytest.raises(OwnershipLostError):
        gateway.late[0]()
    assert (await stores.intake.accept(intake_group([event()]))).lost == {}


async def test_a_former_owner_learns_of_it_however_it_asks() -> None:
    database = Database()
    former, _ = await process(database, 1)
    await process(database, 2)
    with pytest.raises(OwnershipLostError):
        await former.ownership.confirm()
    with pytest.raises(OwnershipLostError):
        await former.intake.check()
    with pytest.raises(OwnershipLostError):
        await former.settle.settle(settle_group([]))
    database.take_over(3)
    assert database.tables.rights.owns(3)


async def test_what_asks_to_be_refused_is_refused() -> None:
    database, a = Database(), identity.other()
    stores, gateway = await process(database, 1)
    with pytest.raises(PoisonError, match="asks to be refused"):
        await stores.intake.accept(intake_group([event(payload=b'"' + POISON)]))
    one = event()
    deliveries = deliveries_of(one, a)
    done = await stores.intake.accept(intake_group([one], deliveries))
    deliveries[0].seq = done.base
    with pytest.raises(PoisonError, match="asks to be refused"):
        await stores.settle.settle(settle_group([success(deliveries[0], body=POISON)]))
    gateway.next = ["contended"]
    deliveries[0].attempt_count = 0
    group = settle_group([success(deliveries[0])])
    with pytest.raises(ContentionError):
        await stores.settle.settle(group)
    await stores.settle.settle(group)
    assert database.rows().deliveries[0].status == "DELIVERED"
    assert "settle" in gateway.statements


async def test_a_statement_carries_what_it_was_given_though_that_changes_on_its_way() -> None:
    database, a = Database(), identity.other()
    stores, gateway = await process(database, 1)
    await stores.intake.check()
    one = event()
    deliveries = deliveries_of(one, a)
    gateway.next = ["late"]
    with pytest.raises(StoreAwayError):
        await stores.intake.accept(intake_group([one], deliveries))
    deliveries[0].lane, one.type = "changed", "changed"
    gateway.late[0]()
    row = database.tables.deliveries[ENVIRONMENT, deliveries[0].id]
    assert (row.lane, row.event_type) == (None, "order.created")
