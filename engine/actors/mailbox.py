"""A destination's mailbox: the messages that the destination's actor has not handled yet, in order.

The deliveries in a mailbox are bounded by count and bytes. A delivery beyond the bound *spills*: the
mailbox only notes that the delivery is in the store.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.commands import (
    AnyRequest,
    DeadRequest,
    DueRequest,
    MemoryLimits,
    NamedRequest,
    ReadRequest,
)
from engine.core.machine import DestinationMachine
from engine.core.orders import Order
from engine.core.records import Delivery, Outcome
from engine.core.vocabulary import DeliveryClass
from engine.ports import ReadBack


class Departed(Protocol):
    """The actor that began an attempt."""

    def attempt_ended(self, flight: "Flight") -> None:
        """Take an attempt that has its outcome."""


class Flight(Struct, gc=False):
    """One attempt. The sender calls this object with the outcome; only the first call counts."""

    actor: Departed
    delivery: Delivery
    number: int
    outcome: Outcome | None = None

    def __call__(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self.actor.attempt_ended(self)

    def rewind(self) -> None:
        """Reset the delivery's attempt count, so that a state machine can judge the outcome again. The
        first judgement raised the count, but was not recorded."""
        self.delivery.attempt_count = self.number - 1


MAX_NOTES = 256  # spills kept apart while the store is read; further ones are merged by class


class Arrived(Struct, gc=False):
    deliveries: list[Delivery]


class Answered(Struct, gc=False):
    """The store's answer to a request. `answer` is None if the store could not answer."""

    request: AnyRequest
    answer: ReadBack | list[Delivery] | None


class Ordered(Struct, gc=False):
    order: Order
    deliveries: tuple[str, ...]


class Resumed(Struct, gc=False):
    """An operator's request: end a Retry-After, and let an open circuit probe now."""


class Spill(Struct, gc=False):
    """A note of deliveries that are only in the store: their class, highest seq and number."""

    queue: DeliveryClass
    seq: int
    count: int


Message = Flight | Arrived | Answered | Ordered | Resumed


class Mailbox:
    """The messages to one actor. A delivery that does not fit into memory *spills*: it is read from the
    store later. The state machine must get deliveries in the order of their commits. Therefore, after a
    spill all later arrivals spill, too, until the mailbox holds no deliveries."""

    __slots__ = ("_limits", "bytes", "current", "deliveries", "judged", "messages", "spills")

    def __init__(self, limits: MemoryLimits) -> None:
        self._limits = limits
        # The list is short, because arrivals in a row share one message. A deque would not be faster,
        # and would take 700 bytes even if it is empty.
        self.messages: list[Message] = []
        self.deliveries = 0  # in Arrived messages
        self.bytes = 0  # of their payloads
        self.spills: list[Spill] = []
        # outcomes that the state machine knows, but not the recorder
        self.judged: list[Flight] = []
        # the message or delivery to blame if the actor crashes now
        self.current: Message | Delivery | None = None

    # --- arrivals

    @property
    def pending(self) -> int:
        """The number of deliveries that arrived and are not handled, in memory or only in the store."""
        spills = self.spills
        return self.deliveries + sum([each.count for each in spills]) if spills else self.deliveries

    def offer(self, deliveries: Sequence[Delivery]) -> None:
        if self.spills:
            self.spill(deliveries)
            return
        fit = self._fitting(deliveries)
        if fit < len(deliveries):
            self.spill(deliveries[fit:])
            deliveries = deliveries[:fit]
        if not deliveries:
            return
        self.deliveries += fit
        last = self.messages[-1] if self.messages else None
        if type(last) is Arrived:
            last.deliveries.extend(deliveries)
        else:
            self.messages.append(Arrived(list(deliveries)))

    def _fitting(self, deliveries: Sequence[Delivery]) -> int:
        room = self._limits.deliveries - self.deliveries
        size, most = self.bytes, self._limits.bytes
        fit = 0
        for delivery in deliveries:
            larger = size + len(delivery.event.payload)
            if fit >= room or (larger > most and size > 0):
                break
            size = larger
            fit += 1
        self.bytes = size
        return fit

    def spill(self, deliveries: Sequence[Delivery]) -> None:
        """Note deliveries that stay in the store. `deliveries` are in seq order, and follow all
        deliveries that were noted before."""
        spills = self.spills
        for delivery in deliveries:
            for spill in reversed(spills):
                if spill.queue is delivery.queue:
                    spill.seq = delivery.seq
                    spill.count += 1
                    break
            else:
                spills.append(Spill(delivery.queue, delivery.seq, 1))

    def note(self, deliveries: Sequence[Delivery]) -> None:
        """Note deliveries that arrive while the store is read for a new state machine. Each call makes
        its own spills (see `Spill`), one for each class. After the read, `Unsettled.tell` ignores each
        spill whose deliveries the read has counted. When there are MAX_NOTES spills, a call adds its
        deliveries to the last spill of their class instead. If the read has counted only a part of such
        a spill, this part is counted twice, until `Backlog.recount` corrects the count."""
        if len(self.spills) >= MAX_NOTES:
            self.spill(deliveries)
            return
        earlier, self.spills = self.spills, []
        self.spill(deliveries)
        self.spills = earlier + self.spills

    def take_spills(self) -> list[Spill]:
        """Return the spills, and take arrivals again from now on."""
        spills, self.spills = self.spills, []
        return spills

    def drop_arrivals(self) -> None:
        """Forget all arrivals."""
        self.messages = [each for each in self.messages if type(each) is not Arrived]
        self.deliveries = self.bytes = 0
        self.spills = []

    def flights(self) -> list[Flight]:
        """Return the attempts that have ended, but whose settlements the recorder does not have yet."""
        waiting = [message for message in self.messages if type(message) is Flight]
        return self.judged + waiting

    # --- to the state machine

    def pass_on(self, machine: DestinationMachine, now: float, most: int) -> int:
        """Pass messages to the state machine until about `most` are passed. Returns how many were passed.
        A message with n deliveries counts as n messages, an answer with n deliveries as n + 1."""
        messages = self.messages
        left = most
        while messages and left > 0:
            self.current = message = messages.pop(0)
            if type(message) is Flight:
                self.judge(message, machine, now)
                left -= 1
            elif type(message) is Arrived:
                self.current = message = self._cut(message, left)
                machine.arrive(message.deliveries, now)
                left -= len(message.deliveries)
            elif type(message) is Answered:
                left -= _answer(machine, message, now)
            elif type(message) is Ordered:
                machine.order(message.order, message.deliveries, now)
                left -= len(message.deliveries)
            elif type(message) is Resumed:
                machine.resume(now)
                left -= 1
        if self.spills and not self.deliveries:
            for spill in self.take_spills():
                machine.spilled(spill.queue, spill.seq, spill.count)
        return most - left

    def judge(self, flight: Flight, machine: DestinationMachine, now: float) -> None:
        """Pass an attempt's outcome to the state machine. Keep the outcome until the recorder has the
        settlement that the state machine decides on."""
        self.current = flight
        self.judged.append(flight)
        assert flight.outcome is not None
        machine.judged(flight.delivery, flight.outcome, now)

    def _cut(self, arrived: Arrived, most: int) -> Arrived:
        if len(arrived.deliveries) > most:
            self.messages.insert(0, Arrived(arrived.deliveries[most:]))
            arrived = Arrived(arrived.deliveries[:most])
        self.deliveries -= len(arrived.deliveries)
        if self.deliveries:
            self.bytes -= sum([len(each.event.payload) for each in arrived.deliveries])
        else:
            self.bytes = 0
        return arrived


def _answer(machine: DestinationMachine, answered: Answered, now: float) -> int:
    """Pass all deliveries of an answer to the state machine in one call. An answer cannot be divided: for
    the state machine, the end of the call is the end of the answer. Returns how much of the limit `most`
    of `pass_on` the answer uses up: one for the answer, and one for each delivery in it."""
    request, answer = answered.request, answered.answer
    if answer is None:
        machine.read_failed(request, now)
        return 1
    if isinstance(answer, ReadBack):
        assert isinstance(request, ReadRequest)
        machine.loaded(request, answer.deliveries, answer.through, answer.skipped, answer.end, now)
        return 1 + len(answer.deliveries)
    if isinstance(request, DueRequest):
        machine.due(request, answer, now)
    elif isinstance(request, NamedRequest):
        machine.named(request, answer, now)
    else:
        assert isinstance(request, DeadRequest)
        machine.dead(request, answer, now)
    return 1 + len(answer)
