"""Shares of the delivery classes while more deliveries wait than can be sent. The most urgent class gets
nine of ten places for attempts, and no class starves.
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import MemoryLimits
from engine.core.machine import DestinationMachine
from engine.core.queue import FAVOURED
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass
from tests.core.making import NOW, a_delivery, a_machine, a_success, step

CRITICAL, HIGH, STANDARD, REPLAY = DeliveryClass
LIVE = (CRITICAL, HIGH, STANDARD)
ROOM = MemoryLimits(100_000, 1 << 30)  # nothing is left to the store


class Saturated:
    """A state machine in which deliveries wait for places. `open` ends at most `places` attempts. Then
    waiting deliveries get places."""

    def __init__(self, machine: DestinationMachine) -> None:
        self.machine = machine
        self.sent: list[DeliveryClass] = []
        self._under_way: list[Delivery] = []
        self._seq = 0

    def arrive(self, count: int, *classes: DeliveryClass) -> None:
        for queue in classes * count:
            self._seq += 1
            self.machine.arrive([a_delivery(self._seq, queue=queue)], NOW)

    def open(self, places: int = 1) -> None:
        for _ in range(min(places, len(self._under_way))):
            self.machine.judged(self._under_way.pop(0), a_success(), NOW)
        commands = step(self.machine)
        self.machine.committed(commands.settle, NOW)
        self._under_way += commands.send
        self.sent += [delivery.queue for delivery in commands.send]


def saturated(*classes: DeliveryClass, concurrency: int = 1, count: int = 200) -> Saturated:
    found = Saturated(a_machine(ROOM, concurrency=concurrency))
    found.arrive(count, *classes)
    return found


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_standard_gets_its_place_in_ten_beside_a_stream_of_critical(concurrency: int) -> None:
    found = saturated(CRITICAL, STANDARD, concurrency=concurrency)
    for _ in range(100):
        found.open()
    assert Counter(found.sent[:100]) == {CRITICAL: 90, STANDARD: 10}


def test_what_critical_leaves_is_shared_by_the_other_classes() -> None:
    found = saturated(CRITICAL, HIGH, STANDARD, REPLAY, concurrency=2)
    for _ in range(100):
        found.open()
    assert Counter(found.sent[:100]) == {CRITICAL: 90, HIGH: 5, STANDARD: 5}


def test_high_leaves_a_place_in_ten_where_nothing_is_critical() -> None:
    found = saturated(HIGH, STANDARD)
    for _ in range(100):
        found.open()
    assert Counter(found.sent[:100]) == {HIGH: 90, STANDARD: 10}


def test_a_class_that_waits_alone_gets_every_place() -> None:
    found = saturated(CRITICAL, count=150)
    for _ in range(100):
        found.open()
    assert set(found.sent) == {CRITICAL}
    found.arrive(1, STANDARD)
    found.open(10)
    assert found.sent[100:].count(STANDARD) <= 1


def test_the_order_within_a_class_stays_that_of_acceptance() -> None:
    machine = a_machine(ROOM, concurrency=64)
    machine.arrive([a_delivery(n, queue=(CRITICAL, STANDARD)[n % 2]) for n in range(1, 61)], NOW)
    sent = step(machine).send
    for each in (CRITICAL, STANDARD):
        seqs = [delivery.seq for delivery in sent if delivery.queue is each]
        assert seqs == sorted(seqs)
        assert len(seqs) == 30


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.sampled_from(DeliveryClass), st.integers(1, 30)),
        st.tuples(st.just("open"), st.just(STANDARD), st.integers(1, 12)),
    ),
    max_size=60,
)


@given(ACTS, st.integers(1, 9))
def test_of_ten_places_in_a_row_no_class_gets_all_while_another_waits(
    acts: list[tuple[str, DeliveryClass, int]], concurrency: int
) -> None:
    found = Saturated(a_machine(ROOM, concurrency=concurrency))
    waiting: Counter[DeliveryClass] = Counter()
    told = 0
    run: tuple[DeliveryClass | None, int] = (None, 0)  # consecutive, while another live class waits
    for what, queue, count in acts:
        if what == "arrive":
            found.arrive(count, queue)
            waiting[queue] += count
        found.open(count if what == "open" else 0)
        for sent in found.sent[told:]:
            others = any(waiting[each] for each in LIVE if each is not sent)
            if sent is REPLAY:
                assert not others, "live deliveries go first"
            waiting[sent] -= 1
            run = (sent, run[1] + 1 if run[0] is sent else 1) if others else (None, 0)
            assert run[1] <= FAVOURED
        told = len(found.sent)
