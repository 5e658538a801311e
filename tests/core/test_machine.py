"""The decisions of a `DestinationMachine`, case by case."""

import pytest

from engine.core.commands import DeadRequest, DueRequest, MemoryLimits, ReadRequest
from engine.core.health import HealthState
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    ErrorCategory,
    Ordering,
)
from engine.core.window import LostTrackError
from tests.core.making import (
    NOW,
    a_delivery,
    a_destination,
    a_failure,
    a_machine,
    a_skip,
    a_success,
    commit,
    fill,
    held,
    seqs,
    step,
)

CRITICAL, HIGH, STANDARD, REPLAY = DeliveryClass


# --- sending


def test_what_arrives_is_sent_in_order_up_to_the_concurrency() -> None:
    machine = a_machine(concurrency=3)
    fill(machine, 5)
    first = step(machine).send
    assert seqs(first) == [1, 2, 3]
    assert step(machine).send == []
    machine.judged(first[1], a_success(), NOW)
    assert seqs(step(machine).send) == [4]


@pytest.mark.parametrize("ordering", [Ordering.STRICT, Ordering.KEY])
def test_what_is_skipped_is_delivered_and_frees_its_lane_at_once(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering)
    first, _ = fill(machine, 2, lane="c:1")
    assert seqs(step(machine).send) == [1]
    machine.judged(first, a_skip(), NOW)
    commands = step(machine)
    (settled,) = commands.settle
    assert (settled.status, settled.skipped) == (DeliveryStatus.DELIVERED, True)
    assert settled.attempt is not None
    assert settled.attempt.outcome.transform_version == 1
    assert seqs(commands.send) == [2]


def test_the_shell_may_allow_less() -> None:
    machine = a_machine()
    fill(machine, 5)
    assert step(machine, may_send=0).send == []
    assert seqs(step(machine, may_send=2).send) == [1, 2]


@pytest.mark.parametrize("ordering", [Ordering.NONE, Ordering.KEY])
def test_a_more_urgent_class_goes_first(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering)
    queues = [REPLAY, STANDARD, HIGH, CRITICAL, STANDARD]
    machine.arrive([a_delivery(k + 1, queue=q, lane=f"c:{k}") for k, q in enumerate(queues)], NOW)
    assert seqs(step(machine).send) == [4, 3, 2, 5, 1]


def test_an_attempt_is_recorded_with_the_version_that_it_was_begun_with() -> None:
    machine = a_machine()
    fill(machine, 2)
    begun = step(machine).send
    machine.configure(a_destination(version=2, timeout_ms=100), NOW)
    fill(machine, 1, first=3)
    begun += step(machine).send
    machine.configure(a_destination(version=3, timeout_ms=200), NOW)
    for delivery in begun:
        machine.judged(delivery, a_success(), NOW)
    versions = [s.attempt.destination_version for s in step(machine).settle if s.attempt]
    assert versions == [1, 1, 2]


def test_an_older_configuration_is_ignored() -> None:
    machine = a_machine(version=5)
    machine.configure(a_destination(version=4, status=DestinationStatus.DISABLED), NOW)
    assert machine.config.version == 5


def test_lower_concurrency_waits_for_what_is_in_flight() -> None:
    machine = a_machine(concurrency=4)
    fill(machine, 8)
    begun = step(machine).send
    machine.configure(a_destination(version=2, concurrency=1), NOW)
    for delivery in begun[:3]:
        machine.judged(delivery, a_success(), NOW)
        assert step(machine).send == []
    machine.judged(begun[3], a_success(), NOW)
    assert seqs(step(machine).send) == [5]


# --- retries


def test_a_failure_is_sent_again_when_it_is_due_and_not_before() -> None:
    machine = a_machine()
    fill(machine, 1)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(), NOW)
    commands = step(machine)
    assert step(machine, NOW + 100).send == [], "not while it is uncommitted"
    commit(machine, commands)
    due = delivery.next_attempt_at
    assert due == NOW + 5
    waiting = step(machine)
    assert (waiting.send, waiting.wake_at) == ([], due)
    assert step(machine, due - 0.001).send == []
    (again,) = step(machine, due).send
    assert again.attempt_count == 1


def test_a_retry_that_is_far_leaves_memory_and_is_read_when_due() -> None:
    machine = a_machine(retry_schedule_s=(300,))
    fill(machine, 1)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))
    assert held(machine) == (0, 0)
    assert machine.pending == 1
    assert machine.next_due() == NOW + 300
    assert machine.idle(NOW)
    assert not machine.clean()
    assert machine.low_seq() == 2, "RETRYING does not hold it down"
    wake = step(machine).wake_at
    assert wake is not None
    read = step(machine, wake).read
    assert isinstance(read, DueRequest)
    row = a_delivery(1, attempt_count=1, next_attempt_at=NOW + 300)
    machine.due(read, [row], wake)
    assert step(machine, wake).send == []
    assert step(machine, NOW + 300).send == [row]


def test_a_shortened_schedule_ends_what_has_used_it_up() -> None:
    machine = a_machine(retry_schedule_s=(3, 3, 3))
    fill(machine, 1)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))
    machine.configure(a_destination(version=2, retry_schedule_s=()), NOW)
    commands = step(machine)
    assert commands.send == []
    (dead,) = commands.settle
    assert (dead.status, dead.dlq_status) == (DeliveryStatus.FAILED, DlqStatus.IN_DLQ)
    assert (dead.attempt, dead.expects, dead.dead_lettered) == (None, 1, True)
    commit(machine, commands)
    assert machine.clean()


def test_a_shortened_schedule_shortens_the_wait() -> None:
    machine = a_machine(retry_schedule_s=(86_400, 86_400))
    fill(machine, 1)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))
    machine.configure(a_destination(version=2, retry_schedule_s=(10, 10)), NOW)
    read = step(machine).read
    assert isinstance(read, DueRequest)
    row = a_delivery(1, attempt_count=1, next_attempt_at=NOW + 86_400)
    machine.due(read, [row], NOW)
    (correction,) = step(machine).settle
    assert correction.status is DeliveryStatus.RETRYING
    assert correction.next_attempt_at == NOW + 13
    assert machine.next_due() == NOW + 13


def test_a_lengthened_schedule_keeps_the_wait_and_gives_more_attempts() -> None:
    machine = a_machine(retry_schedule_s=(2,))
    fill(machine, 1)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))
    machine.configure(a_destination(version=2, retry_schedule_s=(3600, 3600)), NOW)
    (again,) = step(machine, NOW + 2).send
    machine.judged(again, a_failure(), NOW + 2)
    (settlement,) = step(machine, NOW + 2).settle
    assert settlement.next_attempt_at == NOW + 2 + 3600


# --- states of the destination


def test_a_disabled_destination_takes_nothing_into_memory() -> None:
    machine = a_machine(status=DestinationStatus.DISABLED)
    fill(machine, 1000)
    assert held(machine) == (0, 0)
    assert machine.pending == 1000
    commands = step(machine)
    assert (commands.send, commands.read, commands.wake_at) == ([], None, None)
    assert machine.idle(NOW)
    assert not machine.clean()
    assert machine.low_seq() == 1
    assert machine.health(NOW).state is HealthState.DISABLED
    machine.configure(a_destination(version=2), NOW)
    read = step(machine).read
    assert isinstance(read, ReadRequest)
    assert (read.classes, read.after, read.ordered) == ((STANDARD,), 0, False)


def test_archiving_discards_what_waits_and_what_is_dead() -> None:
    machine = a_machine(concurrency=2)
    fill(machine, 4)
    one, two = step(machine).send
    machine.configure(a_destination(version=2, status=DestinationStatus.ARCHIVED), NOW)
    read = step(machine).read
    assert isinstance(read, ReadRequest)
    rows = [a_delivery(seq) for seq in (1, 2, 3, 4)]
    machine.loaded(read, rows, 4, {}, True, NOW)
    commands = step(machine)
    assert seqs([s.delivery for s in commands.settle]) == [3, 4]
    assert {s.dlq_status for s in commands.settle} == {DlqStatus.DISCARDED}
    commit(machine, commands)
    machine.judged(one, a_failure(), NOW)
    machine.judged(two, a_success(), NOW)
    commands = step(machine)
    ends = [(s.status, s.dlq_status) for s in commands.settle]
    assert ends == [(DeliveryStatus.FAILED, DlqStatus.DISCARDED), (DeliveryStatus.DELIVERED, None)]
    assert commands.read is None, "what is dead is read when nothing can die any more"
    commit(machine, commands)
    read = step(machine).read
    assert isinstance(read, DeadRequest)
    machine.dead(read, [a_delivery(5, attempt_count=4, dlq_status=DlqStatus.IN_DLQ)], NOW)
    commands = step(machine)
    assert [s.dlq_status for s in commands.settle] == [DlqStatus.DISCARDED]
    assert not machine.clean()
    commit(machine, commands)
    read = step(machine).read
    assert isinstance(read, DeadRequest)
    machine.dead(read, [], NOW)
    assert machine.clean()
    assert machine.idle(NOW)


def test_dry_run_settles_without_an_attempt() -> None:
    machine = a_machine(dry_run=True, concurrency=1)
    fill(machine, 5)
    commands = step(machine)
    assert commands.send == []
    assert [s.status for s in commands.settle] == [DeliveryStatus.DRY_RUN] * 5
    assert all(s.attempt is None for s in commands.settle)
    commit(machine, commands)
    assert machine.clean()


def test_a_new_ordering_asks_for_a_new_machine_once_nothing_is_under_way() -> None:
    machine = a_machine()
    fill(machine, 3)
    begun = step(machine, may_send=1).send
    machine.configure(a_destination(version=2, ordering=Ordering.KEY), NOW)
    commands = step(machine)
    assert (commands.rebuild, commands.send) == (False, [])
    machine.judged(begun[0], a_success(), NOW)
    commands = step(machine)
    assert not commands.rebuild
    commit(machine, commands)
    assert step(machine).rebuild
    machine.configure(a_destination(version=3), NOW)
    assert seqs(step(machine).send) == [2, 3], "unless it was only for a moment"


# --- crashes of actors


def test_a_late_outcome_of_a_predecessor_is_settled() -> None:
    machine = a_machine()
    late = a_delivery(7, attempt_count=2)
    machine.judged(late, a_success(), NOW)
    commands = step(machine, may_send=0)
    assert [(s.expects, s.status) for s in commands.settle] == [(2, DeliveryStatus.DELIVERED)]
    commit(machine, commands)
    assert machine.clean()


@pytest.mark.parametrize("ordering", Ordering)
def test_a_quarantined_delivery_is_dead_beside_a_late_outcome(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering)
    late, guilty = a_delivery(1, lane="c:1"), a_delivery(2, lane="c:1")
    machine.judged(late, a_success(), NOW)
    machine.quarantine(guilty, NOW)
    commands = step(machine, may_send=0)
    delivered, dead = commands.settle
    assert (delivered.delivery, delivered.status) == (late, DeliveryStatus.DELIVERED)
    assert (dead.delivery, dead.status) == (guilty, DeliveryStatus.FAILED)
    assert (dead.error_category, dead.dlq_status) == (ErrorCategory.INTERNAL, DlqStatus.IN_DLQ)
    machine.quarantine(guilty, NOW)
    assert step(machine, may_send=0).settle == []
    commit(machine, commands)
    assert machine.clean()


def test_what_was_told_out_of_order_is_noticed() -> None:
    machine = a_machine()
    fill(machine, 1, first=10)
    with pytest.raises(LostTrackError):
        machine.spilled(STANDARD, 9, 1)
    with pytest.raises(LostTrackError):
        machine.arrive([a_delivery(8)], NOW)
    machine.spilled(HIGH, 7, 1)  # another class has a cursor of its own


def test_a_damaged_snapshot_counts_as_none() -> None:
    for snapshot in (b"", b"\x00", b"rubbish", b"\x81\xa7version\x63"):
        machine = a_machine(snapshot=snapshot)
        fill(machine, 1)
        assert len(step(machine).send) == 1


def test_health_says_what_waits() -> None:
    machine = a_machine(concurrency=1)
    assert machine.health(NOW).state is HealthState.IDLE
    fill(machine, 3)
    machine.spilled(STANDARD, 10, 5)
    (delivery,) = step(machine).send
    health = machine.health(NOW + 60)
    assert (health.pending, health.in_flight, health.concurrency) == (7, 1, 1)
    assert health.oldest_pending_s == pytest.approx(60, abs=0.01)
    machine.judged(delivery, a_failure(), NOW)
    health = machine.health(NOW)
    assert (health.success_rate, health.consecutive_failures) == (0.0, 1)
    assert (health.state, health.last_error) == (HealthState.FAILING, "it failed")
    assert health.latency_p50_ms is not None


def test_a_destination_of_one_slot_still_reads_what_is_due() -> None:
    """Even if fresh deliveries fill the memory, retries that are due must be read from the store."""
    machine = a_machine(MemoryLimits(16, 1 << 20), concurrency=1, retry_schedule_s=(30,))
    fill(machine, 40)
    assert held(machine)[0] < 16
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(), NOW)
    commands = step(machine)
    if commands.read is not None:
        machine.read_failed(commands.read, NOW)
    commit(machine, commands)
    read = step(machine, NOW + 30).read
    assert isinstance(read, DueRequest)
    row = a_delivery(1, attempt_count=1, next_attempt_at=NOW + 30)
    machine.due(read, [row], NOW + 30)
    for running in list(machine.in_flight.values()):
        machine.judged(running, a_success(), NOW + 30)
    assert step(machine, NOW + 30).send == [row]
