"""Gates that hold a whole destination: circuit, rate, Retry-After and 410, also after restarts and clock
steps."""

from typing import Any

import pytest

from engine.core.health import CircuitState, Hold, HoldReason
from engine.core.machine import DestinationMachine
from engine.core.vocabulary import (
    DestinationStatus,
    DlqStatus,
    ErrorCategory,
)
from tests.core.making import (
    NOW,
    a_410,
    a_delivery,
    a_destination,
    a_failure,
    a_machine,
    a_success,
    commit,
    fill,
    seqs,
    step,
)


def open_circuit(machine: DestinationMachine, now: float = NOW) -> None:
    fill(machine, 10)
    for delivery in step(machine, now).send:
        machine.judged(delivery, a_failure(now), now)
    commands = step(machine, now)
    assert commands.snapshot
    commit(machine, commands, now)
    assert machine.health(now).circuit is CircuitState.OPEN


def test_retry_after_holds_the_whole_destination() -> None:
    machine = a_machine(concurrency=1)
    fill(machine, 3)
    (delivery,) = step(machine).send
    busy = a_failure(category=ErrorCategory.RATE_LIMITED, status=429, retry_after_s=120)
    machine.judged(delivery, busy, NOW)
    commands = step(machine)
    assert commands.snapshot
    assert (commands.send, commands.wake_at) == ([], NOW + 120)
    assert machine.health(NOW).hold == Hold(HoldReason.RETRY_AFTER, NOW + 120)
    heir = a_machine(snapshot=machine.snapshot(), concurrency=1)
    heir.arrive([a_delivery(9)], NOW)
    assert step(heir, NOW + 119.9).send == []
    assert seqs(step(machine, NOW + 120).send) == [2]
    assert seqs(step(heir, NOW + 120).send) == [9]


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        ({"url": "http://other.test/hook", "moved_version": 2}, [2]),
        ({"moved_version": 2}, [2]),  # moved to another URL and back
        ({"name": "renamed"}, []),
        ({"headers": {}}, []),
    ],
)
def test_a_changed_url_alone_ends_a_retry_after(change: dict[str, Any], sent: list[int]) -> None:
    machine = a_machine(concurrency=1)
    fill(machine, 2)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(status=503, retry_after_s=120), NOW)
    step(machine)
    machine.configure(a_destination(version=2, **change), NOW)
    commands = step(machine)
    assert seqs(commands.send) == sent
    # The state machine `heir` has the changed configuration, and is restored from the snapshot of
    # `machine`. The two state machines must agree: if `machine` sends deliveries after the change of its
    # configuration, `heir` sends too. If the Retry-After still holds the deliveries of `machine`, it also
    # holds the deliveries of `heir`.
    assert commands.snapshot or not sent
    heir = a_machine(snapshot=machine.snapshot(), version=2, **change)
    heir.arrive([a_delivery(9)], NOW)
    assert seqs(step(heir).send) == [9] * len(sent)


@pytest.mark.parametrize("clock_step", [-1e8, -600.0, 1e8])
def test_a_restored_wait_is_capped_whatever_the_clock_did(clock_step: float) -> None:
    machine = a_machine(retry_schedule_s=(5, 300))
    fill(machine, 1)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_failure(retry_after_s=200, status=503), NOW)
    step(machine)
    now = NOW + clock_step
    heir = a_machine(now=now, snapshot=machine.snapshot(), retry_schedule_s=(5, 300))
    heir.arrive([a_delivery(2)], now)
    sent = step(heir, now).send
    assert seqs(sent + step(heir, now + 300).send) == [2]


def test_an_open_circuit_sends_one_probe_and_a_success_lets_all_go() -> None:
    machine = a_machine(concurrency=50, retry_schedule_s=(7200,))
    open_circuit(machine)
    fill(machine, 5, first=11)
    commands = step(machine)
    assert (commands.send, commands.wake_at) == ([], NOW + 1)
    (probe,) = step(machine, NOW + 1).send
    assert probe.seq == 11
    assert step(machine, NOW + 500).send == [], "one probe at a time"
    machine.judged(probe, a_failure(), NOW + 2)
    assert step(machine, NOW + 3.9).send == []
    (probe,) = step(machine, NOW + 4).send
    machine.judged(probe, a_success(), NOW + 5)
    assert len(step(machine, NOW + 5).send) == 3


@pytest.mark.parametrize(
    ("change", "repairs"),
    [
        ({"name": "renamed"}, False),
        ({"concurrency": 9}, False),
        ({"enabled_version": 3}, True),  # disabled by version 2
        ({"moved_version": 2}, True),  # moved to another URL and back
        ({"url": "http://other.test/hook", "moved_version": 3}, True),
    ],
)
def test_an_awake_and_a_dormant_destination_follow_a_change_alike(
    change: dict[str, Any], repairs: bool
) -> None:
    awake = a_machine(retry_schedule_s=(7200,), concurrency=50)
    open_circuit(awake)
    snapshot = awake.snapshot()
    options = {"retry_schedule_s": (7200,), "concurrency": 50, "version": 3, **change}
    awake.configure(a_destination(**options), NOW)
    roused = a_machine(snapshot=snapshot, **options)
    for machine in (awake, roused):
        machine.arrive([a_delivery(11)], NOW)
        assert seqs(step(machine).send) == [11] * repairs
        assert seqs(step(machine, NOW + 1).send) == [11] * (not repairs)


def test_a_probe_keeps_to_its_own_schedule() -> None:
    machine = a_machine(retry_schedule_s=(4,), chance=0.999, concurrency=50)
    open_circuit(machine)
    assert step(machine, NOW + 1).send == []
    assert step(machine, NOW + 4.5).send == []
    assert len(step(machine, NOW + 4.8).send) == 1


def test_a_half_open_circuit_is_restored_as_open() -> None:
    machine = a_machine(retry_schedule_s=(7200,), concurrency=50)
    open_circuit(machine)
    fill(machine, 1, first=11)
    assert step(machine, NOW + 1).send
    assert machine.health(NOW + 1).circuit is CircuitState.HALF_OPEN
    heir = a_machine(snapshot=machine.snapshot(), now=NOW + 2)
    health = heir.health(NOW + 2)
    assert (health.circuit, health.opened_at) == (CircuitState.OPEN, NOW)
    heir.arrive([a_delivery(12), a_delivery(13)], NOW + 2)
    assert seqs(step(heir, NOW + 2).send) == [12]


def test_the_rate_is_kept_over_a_restart() -> None:
    machine = a_machine(rate_per_second=0.1)
    fill(machine, 3)
    commands = step(machine)
    assert (seqs(commands.send), commands.wake_at, commands.snapshot) == ([1], NOW + 10, True)
    heir = a_machine(snapshot=machine.snapshot(), rate_per_second=0.1, now=NOW + 4)
    heir.arrive([a_delivery(9)], NOW + 4)
    assert step(heir, NOW + 9.9).send == []
    assert seqs(step(heir, NOW + 10).send) == [9]


@pytest.mark.parametrize(("rate", "before"), [(0.99, [9]), (1.0, []), (2.0, [])])
def test_a_rate_of_one_a_second_or_more_starts_empty(rate: float, before: list[int]) -> None:
    machine = a_machine(rate_per_second=rate)
    snapshot = machine.snapshot()  # with a full bucket, since nothing was sent
    heir = a_machine(snapshot=snapshot, rate_per_second=rate)
    heir.restore(0, {}, 0, None)
    heir.arrive([a_delivery(9)], NOW)
    assert seqs(step(heir).send) == before
    assert seqs(step(heir, NOW + 1 / rate).send) == ([] if before else [9])


def test_a_410_is_dead_and_stops_all_until_somebody_acts() -> None:
    machine = a_machine(concurrency=2)
    fill(machine, 4)
    one, two = step(machine).send
    machine.judged(one, a_410(), NOW)
    commands = step(machine)
    assert commands.disable
    assert commands.settle[0].dlq_status is DlqStatus.IN_DLQ
    machine.judged(two, a_success(), NOW)
    commands = step(machine)
    assert (commands.disable, commands.send) == (False, [])
    machine.configure(a_destination(version=2, name="renamed"), NOW)
    commands = step(machine)
    assert (commands.disable, commands.send) == (True, []), "a PATCH in between changes nothing"
    assert not machine.idle(NOW)
    for version in (2, 3):  # 3: another PATCH while there was no machine
        heir = a_machine(snapshot=machine.snapshot(), version=version)
        heir.arrive([a_delivery(9)], NOW)
        commands = step(heir)
        assert (commands.disable, commands.send) == (True, [])
    for moved, enabled in ((3, 0), (0, 3)):
        versions: dict[str, Any] = {
            "version": 3,
            "moved_version": moved,
            "enabled_version": enabled,
        }
        heir = a_machine(snapshot=machine.snapshot(), **versions)
        heir.arrive([a_delivery(9)], NOW)
        assert seqs(step(heir).send) == [9]
    machine.configure(a_destination(version=3, status=DestinationStatus.DISABLED), NOW)
    assert step(machine).send == []
    machine.configure(a_destination(version=4), NOW)
    assert seqs(step(machine).send) == [3, 4]


def test_a_410_in_a_disabled_destination_does_not_hold_it_once_enabled() -> None:
    machine = a_machine(concurrency=1)
    fill(machine, 2)
    (delivery,) = step(machine).send
    machine.configure(a_destination(version=2, status=DestinationStatus.DISABLED), NOW)
    machine.judged(delivery, a_410(), NOW)
    assert not step(machine).disable
    machine.configure(a_destination(version=3), NOW)
    assert seqs(step(machine).send) == [2]
