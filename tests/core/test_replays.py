"""Replays leave live deliveries their turn, a slot and memory."""

import pytest

from engine.core.commands import MemoryLimits
from engine.core.machine import DestinationMachine
from engine.core.vocabulary import DeliveryClass, Ordering
from tests.core.making import NOW, a_delivery, a_machine, a_success, commit, seqs, step

REPLAY = DeliveryClass.REPLAY
ORDERINGS = [Ordering.NONE, Ordering.KEY]


def fill(machine: DestinationMachine, count: int) -> None:
    machine.arrive([a_delivery(seq, queue=REPLAY) for seq in range(1, count + 1)], NOW)


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_a_slot_is_kept_from_replays_and_a_live_delivery_goes_at_once(ordering: Ordering) -> None:
    machine = a_machine(concurrency=4, ordering=ordering)
    fill(machine, 20)
    assert len(step(machine).send) == 3
    machine.arrive([a_delivery(21)], NOW)
    assert seqs(step(machine).send) == [21]


def test_replays_get_the_slot_back_only_when_the_live_one_has_ended() -> None:
    machine = a_machine(concurrency=2)
    fill(machine, 5)
    (replay,) = step(machine).send
    machine.arrive([a_delivery(21)], NOW)
    (live,) = step(machine).send
    machine.judged(replay, a_success(), NOW)
    commands = step(machine)
    assert commands.send == []
    commit(machine, commands)
    machine.judged(live, a_success(), NOW)
    assert seqs(step(machine).send) == [2]


def test_a_destination_of_one_slot_is_sent_replays_too() -> None:
    machine = a_machine(concurrency=1)
    fill(machine, 2)
    assert seqs(step(machine).send) == [1]


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_all_that_is_live_goes_before_any_replay_that_waits(ordering: Ordering) -> None:
    machine = a_machine(concurrency=3, ordering=ordering)
    fill(machine, 10)
    first = step(machine).send
    machine.arrive([a_delivery(seq) for seq in range(11, 14)], NOW)
    sent = seqs(step(machine).send)
    for delivery in first:
        machine.judged(delivery, a_success(), NOW)
        sent += seqs(step(machine).send)
    assert sent == [11, 12, 13]


def test_a_memory_full_of_replays_has_room_for_what_is_live() -> None:
    machine = a_machine(MemoryLimits(64, 1 << 20), concurrency=2)
    fill(machine, 200)
    step(machine)
    machine.arrive([a_delivery(201)], NOW)
    assert seqs(step(machine).send) == [201]


def test_a_rate_lets_a_live_delivery_have_the_next_token() -> None:
    machine = a_machine(concurrency=8, rate_per_second=1.0)
    fill(machine, 5)
    assert seqs(step(machine).send) == [1]
    machine.arrive([a_delivery(6)], NOW)
    assert step(machine).send == []
    assert seqs(step(machine, NOW + 1.0).send) == [6]
