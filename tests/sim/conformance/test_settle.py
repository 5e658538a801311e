"""The recorder's statement, on both databases."""

import pytest

from engine.core.vocabulary import DeliveryStatus, DlqStatus, ErrorCategory
from engine.ports import BacklogMark, PoisonError, SnapshotWrite
from tests.sim.conformance.house import House
from tests.storage.world import (
    ENVIRONMENT,
    failure,
    identity,
    settle_group,
    success,
    unattempted,
)


async def test_outcomes_become_attempts_states_and_counters(house: House) -> None:
    one, two, three = await house.waiting(3, house.a)
    await house.settle(success(one, started_at=house.past))
    due = house.past + 60.0004
    await house.settle(
        failure(two, started_at=house.past, next_attempt_at=due),
        failure(three, DeliveryStatus.FAILED, ErrorCategory.TIMEOUT, started_at=house.past),
    )
    assert await house.ports.backlog.first_retry(ENVIRONMENT, house.a) == (
        two.seq,
        int(due * 1000) + 1,  # rounded up: an attempt is never early
    )
    (minute,) = await house.table("minutes")
    assert minute[3:8] == [3, 2, 0, 1, 1]
    assert sum(minute[8]) == 2
    assert sum(minute[9]) == 3
    (dead,) = await house.ports.backlog.read_dead(ENVIRONMENT, house.a, 9)
    assert (dead.id, dead.attempt_count, dead.dlq_status) == (three.id, 1, DlqStatus.IN_DLQ)
    # If a delivery dies without a further attempt, it keeps the result of its last attempt.
    await house.settle(unattempted(two, DeliveryStatus.FAILED, at=house.past))
    await house.settle(
        unattempted(three, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED, at=house.past)
    )
    first, second, third = [await house.row(each) for each in (one, two, three)]
    assert (first["status"], first["trouble"], first["response_status"]) == (2, None, 200)
    assert (second["status"], second["trouble"], second["dlq"]) == (3, 2, None)
    assert (second["response_status"], second["category"]) == (503, ErrorCategory.HTTP_5XX)
    assert (third["trouble"], third["dlq"], third["category"]) == (2, 3, ErrorCategory.TIMEOUT)
    assert third["last_error"] is not None


async def test_a_group_is_written_whole_or_not_at_all(house: House) -> None:
    one, two, gone = await house.waiting(3, house.a)
    (never,) = await house.waiting(1, house.b)
    await house.settle(success(one, started_at=house.past))
    before = await house.side.dump()
    stale = failure(two, started_at=house.past)
    stale.expects = 5
    other_life = failure(gone, started_at=house.past)
    other_life.delivery.seq += 1
    for wrong in (
        success(one, started_at=house.past),
        unattempted(one, DeliveryStatus.FAILED),
        stale,
        other_life,
    ):
        with pytest.raises(PoisonError):
            await house.settle(wrong, success(never, started_at=house.past))
        never.attempt_count = 0
    with pytest.raises(PoisonError):
        await house.settle(failure(never), failure(never))
    assert await house.side.dump() == before


async def test_a_group_run_again_changes_nothing_twice(house: House) -> None:
    one, two = await house.waiting(2, house.a)
    group = settle_group(
        [success(one, started_at=house.past), failure(two, started_at=house.past)],
        marks=[BacklogMark(ENVIRONMENT, house.a, two.seq, 7)],
        snapshots=[SnapshotWrite(ENVIRONMENT, house.a, b"state")],
    )
    group.again = True
    await house.ports.settle.settle(group)
    written = await house.side.dump()
    house.side.lose("settle")
    await house.ports.settle.settle(group)
    after = await house.side.dump()
    assert after.pop("epochs")[2][1] > written.pop("epochs")[2][1]
    assert after == written
    (late,) = await house.waiting(1, house.a)
    half = settle_group([group.settlements[0], success(late)])
    half.again = True
    with pytest.raises(PoisonError):  # one delivery exists already, the other does not
        await house.ports.settle.settle(half)


async def test_a_group_with_a_corrected_wait_is_found_again(house: House) -> None:
    one, two = await house.waiting(2, house.a)
    await house.settle(failure(one, started_at=house.past, next_attempt_at=house.past + 60))
    one.attempt_count = 1
    corrected = unattempted(
        one, DeliveryStatus.RETRYING, next_attempt_at=house.past + 1, at=house.past
    )
    group = settle_group([corrected, failure(two, DeliveryStatus.FAILED, started_at=house.past)])
    await house.ports.settle.settle(group)
    written = await house.side.dump()
    group.again = True  # its outcome was unknown
    await house.ports.settle.settle(group)
    assert await house.side.dump() == written


async def test_marks_raise_rows_that_are_there_and_snapshots_are_replaced(house: House) -> None:
    (one,) = await house.waiting(1, house.a)
    a, b = (ENVIRONMENT, house.a), (ENVIRONMENT, house.b)
    assert await house.ports.backlog.read_snapshots([a]) == [None]
    for low, due, state in ((one.seq + 5, 9, b"1"), (one.seq, None, b"2"), (one.seq + 7, 4, b"3")):
        await house.settle(
            marks=[
                BacklogMark(ENVIRONMENT, house.a, low, due),
                BacklogMark(ENVIRONMENT, house.b, low, due),
            ],
            snapshots=[SnapshotWrite(ENVIRONMENT, house.a, state)],
        )
    (row,) = await house.ports.backlog.backlog(range(256))
    assert (row.destination, row.low_seq, row.next_due_at_ms) == (house.a, one.seq + 7, 4)
    await house.settle(snapshots=[SnapshotWrite(ENVIRONMENT, house.b, b"4")])
    unknown, elsewhere = (ENVIRONMENT, identity.other()), (ENVIRONMENT + 1, house.a)
    asked = [unknown, b, elsewhere, a, b]
    found = [None, b"4", None, b"3", b"4"]
    assert await house.ports.backlog.read_snapshots(asked) == found
    assert await house.ports.backlog.read_snapshots([]) == []
