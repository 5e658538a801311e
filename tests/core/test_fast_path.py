"""The fast path of a single delivery. It is open only if it has the same result as a whole turn of the
state machine.
"""

from copy import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import MemoryLimits
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Outcome
from engine.core.vocabulary import DeliveryClass, DestinationStatus, DlqStatus, Ordering
from tests.core.making import (
    LIMITS,
    NOW,
    a_delivery,
    a_destination,
    a_failure,
    a_machine,
    a_skip,
    a_success,
    commit,
    held,
    seqs,
    step,
)


def a_machine_at_rest(limits: MemoryLimits = LIMITS, **changes: Any) -> DestinationMachine:
    machine = a_machine(limits, **changes)
    step(machine)
    return machine


def the_short_way(
    machine: DestinationMachine, delivery: Delivery, outcome: Outcome, now: float
) -> None:
    assert machine.fast_path.admits([delivery])
    machine.fast_path.begin(delivery, now)
    assert machine.fast_path.settles(outcome)
    machine.judged(delivery, outcome, now)
    settled = machine.settled()
    assert not machine.committed(settled, now)


def the_long_way(
    machine: DestinationMachine, delivery: Delivery, outcome: Outcome, now: float
) -> None:
    machine.arrive([delivery], now)
    (sent,) = step(machine, now).send
    machine.judged(sent, outcome, now)
    settling = step(machine, now)
    commit(machine, settling, now)
    after = step(machine, now)
    wanted = after.send or after.settle or after.read
    assert not wanted


def state(machine: DestinationMachine, now: float) -> tuple[Any, ...]:
    last = step(machine, now)
    wanted = last.send or last.settle or last.read or last.rebuild or last.disable
    assert not wanted
    window = machine.window
    return (
        machine.snapshot(), machine.health(now), held(machine), machine.pending, machine.low_seq(),
        machine.clean(), machine.idle(now), window.cursors, window.lasts, window.stored,
        dict(machine.in_flight), dict(machine.uncommitted), last.wake_at, last.snapshot,
    )  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),  # the increase of seq
            st.sampled_from(DeliveryClass),
            st.sampled_from([0.0, 0.02, 3.0, 11.0, 400.0]),  # seconds until it arrives
            st.integers(0, 5_000),  # duration in ms
        ),
        max_size=12,
    )
)
def test_both_ways_come_to_the_same(
    steps: list[tuple[int, DeliveryClass, float, int]],
) -> None:
    short, long = a_machine_at_rest(), a_machine_at_rest()
    now, seq = NOW, 0
    for gap, queue, wait_s, took_ms in steps:
        now, seq = now + wait_s, seq + gap
        delivery = a_delivery(seq, queue=queue)
        outcome = a_success(now, duration_ms=took_ms)
        the_short_way(short, copy(delivery), outcome, now)
        the_long_way(long, delivery, outcome, now)
        assert held(short) == held(long) == (0, 0)
    assert state(short, now) == state(long, now)


def test_they_are_shut_before_the_first_turn() -> None:
    machine = a_machine()
    assert not machine.fast_path.admits([a_delivery(1)])
    assert not machine.fast_path.settles(a_success())
    assert machine.fast_path.open is False


@pytest.mark.parametrize(
    "changes",
    [
        {"ordering": Ordering.KEY},
        {"ordering": Ordering.STRICT},
        {"rate_per_second": 10.0},
        {"adapts": True},
        {"dry_run": True},
        {"status": DestinationStatus.DISABLED},
        {"status": DestinationStatus.ARCHIVED},
    ],
    ids=str,
)
def test_they_are_shut_where_more_is_to_be_decided(changes: dict[str, Any]) -> None:
    machine = a_machine_at_rest(**changes)
    assert not machine.fast_path.admits([a_delivery(1)])
    assert not machine.fast_path.settles(a_success())


def test_what_is_not_alone_goes_the_long_way() -> None:
    machine = a_machine_at_rest()
    assert not machine.fast_path.admits([a_delivery(1), a_delivery(2)])
    machine.fast_path.begin(a_delivery(1), NOW)
    assert not machine.fast_path.admits([a_delivery(2)])


def test_what_is_told_late_goes_the_long_way() -> None:
    machine = a_machine_at_rest()
    the_short_way(machine, a_delivery(5), a_success(), NOW)
    assert not machine.fast_path.admits([a_delivery(4)])
    assert machine.fast_path.admits([a_delivery(6)])


def test_what_comes_back_from_the_dead_goes_the_long_way() -> None:
    machine = a_machine_at_rest()
    assert not machine.fast_path.admits([a_delivery(1, attempt_count=1)])
    assert not machine.fast_path.admits([a_delivery(1, dlq_status=DlqStatus.RETRIED_FROM_DLQ)])


def test_what_finds_no_room_goes_the_long_way() -> None:
    machine = a_machine_at_rest(MemoryLimits(64, 1_000))
    the_other = a_delivery(1, size=900)
    assert machine.fast_path.admits([the_other])
    machine.fast_path.begin(the_other, NOW)
    machine.judged(the_other, a_success(), NOW)
    assert not machine.fast_path.admits([a_delivery(2, size=900)])  # while that is not durable
    commit(machine, step(machine))
    assert machine.fast_path.admits([a_delivery(2, size=900)])


@pytest.mark.parametrize("outcome", [a_failure(), a_skip()], ids=["failure", "skip"])
def test_an_end_that_is_no_plain_success_is_the_machines(outcome: Outcome) -> None:
    machine = a_machine_at_rest()
    machine.fast_path.begin(a_delivery(1), NOW)
    assert not machine.fast_path.settles(outcome)


def test_after_a_failure_they_are_shut_until_one_has_succeeded() -> None:
    machine = a_machine_at_rest()
    the_long_way_to_a_failure(machine)
    assert not machine.fast_path.admits([a_delivery(2)])  # the first one waits for its retry
    later = NOW + 60
    (again,) = step(machine, later).send
    assert seqs([again]) == [1]
    machine.judged(again, a_success(later), later)
    commit(machine, step(machine, later), later)
    step(machine, later)
    assert machine.fast_path.admits([a_delivery(2)])


def the_long_way_to_a_failure(machine: DestinationMachine) -> None:
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.judged(sent, a_failure(), NOW)
    commit(machine, step(machine))
    step(machine)


def test_an_attempt_keeps_the_version_that_it_was_sent_by() -> None:
    machine = a_machine_at_rest()
    delivery = a_delivery(1)
    machine.fast_path.begin(delivery, NOW)
    machine.configure(a_destination(version=2), NOW)
    step(machine)
    assert machine.fast_path.settles(a_success())
    machine.judged(delivery, a_success(), NOW)
    (settlement,) = machine.settled()
    assert settlement.attempt is not None
    assert settlement.attempt.destination_version == 1


def test_one_that_waits_for_a_place_shuts_the_end_of_the_other() -> None:
    machine = a_machine_at_rest(concurrency=1)
    machine.arrive([a_delivery(1), a_delivery(2)], NOW)
    (sent,) = step(machine).send
    assert not machine.fast_path.settles(a_success())
    machine.judged(sent, a_success(), NOW)
    assert seqs(step(machine).send) == [2]
    assert machine.fast_path.settles(a_success())
