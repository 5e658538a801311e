"""The mailbox: it is bounded, keeps the order, and notes the deliveries that do not fit."""

import random

import pytest

from engine.actors.mailbox import Arrived, Mailbox
from engine.core.commands import MemoryLimits
from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryClass


def delivery(seq: int, queue: DeliveryClass = DeliveryClass.STANDARD, size: int = 10) -> Delivery:
    event = Event(id="e", environment=1, type="t", occurred_at_ms=0, payload=b"x" * size)
    return Delivery(id=str(seq), event=event, destination="d", queue=queue, seq=seq)


class Listener:
    """A stand-in for a destination's state machine. It records the mailbox's messages, and checks that
    the deliveries of each queue come in order."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.spills: list[tuple[DeliveryClass, int, int]] = []
        self._last: dict[DeliveryClass, int] = {}

    def arrive(self, deliveries: list[Delivery], now: float) -> None:
        for each in deliveries:
            assert each.seq > self._last.get(each.queue, 0)
            self._last[each.queue] = each.seq
            self.told.append(each.seq)

    def spilled(self, queue: DeliveryClass, seq: int, count: int) -> None:
        assert seq > self._last.get(queue, 0)
        self._last[queue] = seq
        self.spills.append((queue, seq, count))


def pass_on(mailbox: Mailbox, listener: Listener, most: int = 64) -> int:
    return mailbox.pass_on(listener, 0.0, most)  # type: ignore[arg-type]  # it only listens


@pytest.mark.parametrize(
    ("limits", "fits"),
    [
        (MemoryLimits(5, 10_000), 5),
        (MemoryLimits(100, 35), 3),
        (MemoryLimits(100, 30), 3),
        (MemoryLimits(100, 5), 1),
    ],
    ids=["by count", "by bytes", "to the byte", "one always does"],
)
def test_what_does_not_fit_is_noted(limits: MemoryLimits, fits: int) -> None:
    mailbox = Mailbox(limits)
    mailbox.offer([delivery(seq) for seq in range(1, 9)])
    assert mailbox.deliveries == fits
    (spill,) = mailbox.spills
    assert (spill.queue, spill.seq, spill.count) == (DeliveryClass.STANDARD, 8, 8 - fits)


def test_after_a_spill_all_spills_until_the_arrivals_are_passed_on() -> None:
    mailbox, listener = Mailbox(MemoryLimits(100, 25)), Listener()
    mailbox.offer([delivery(1), delivery(2), delivery(3), delivery(4, size=1)])
    mailbox.offer([delivery(5, size=1), delivery(6, DeliveryClass.HIGH, 1)])
    assert mailbox.deliveries == 2
    pass_on(mailbox, listener, 1)
    mailbox.offer([delivery(7, size=1)])
    assert (listener.told, listener.spills) == ([1], [])
    pass_on(mailbox, listener)
    mailbox.offer([delivery(8)])
    pass_on(mailbox, listener)
    assert listener.told == [1, 2, 8]
    assert listener.spills == [(DeliveryClass.STANDARD, 7, 4), (DeliveryClass.HIGH, 6, 1)]


def test_a_list_that_is_longer_than_a_turn_keeps_its_place() -> None:
    mailbox, listener = Mailbox(MemoryLimits(1_000, 1_000_000)), Listener()
    mailbox.offer([delivery(seq) for seq in range(150)][1:])
    mailbox.offer([delivery(seq) for seq in range(150, 160)])
    assert len(mailbox.messages) == 1
    counts = []
    while mailbox.messages:
        counts.append(pass_on(mailbox, listener))
    assert counts == [64, 64, 31]
    assert listener.told == list(range(1, 160))
    assert (mailbox.deliveries, mailbox.bytes) == (0, 0)


def test_notes_keep_commits_apart_up_to_a_bound() -> None:
    mailbox = Mailbox(MemoryLimits(10, 10))
    for seq in range(1, 1_001):
        mailbox.note([delivery(2 * seq), delivery(2 * seq + 1)])
    spills = mailbox.take_spills()
    assert len(spills) <= 257
    assert spills[0].count == 2
    assert sum(spill.count for spill in spills) == 2_000
    assert max(spill.seq for spill in spills) == 2_001


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_told_twice_whatever_comes(seed: int) -> None:
    chance = random.Random(seed)
    mailbox, listener = Mailbox(MemoryLimits(20, 300)), Listener()
    seq = 0
    for _ in range(300):
        group = []
        for _ in range(chance.randrange(1, 15)):
            seq += 1
            queue = chance.choice([DeliveryClass.HIGH, DeliveryClass.STANDARD])
            group.append(delivery(seq, queue, chance.randrange(1, 40)))
        mailbox.offer(group)
        assert mailbox.deliveries <= 20
        assert mailbox.bytes <= 300
        waiting = [each for each in mailbox.messages if type(each) is Arrived]
        assert mailbox.deliveries == sum(len(each.deliveries) for each in waiting)
        if chance.random() < 0.5:
            pass_on(mailbox, listener, chance.choice([1, 5, 64]))
    while mailbox.messages or mailbox.spills:
        pass_on(mailbox, listener)
    assert len(listener.told) + sum(count for _, _, count in listener.spills) == seq
