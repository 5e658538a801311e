"""The recovery of a destination's actor from crashes: late outcomes, suspected deliveries, the backoff.

A *late outcome* is the outcome of an attempt that had no recorded settlement when the actor crashed.
If an actor crashes while it handles a message, all deliveries of the message are blamed. For some
time after a crash, the actor handles one delivery at a time. Only messages that cannot be split, such as
a list of due retries, are still handled as a whole.
"""

import structlog
from msgspec import Struct

from engine.actors.mailbox import Answered, Arrived, Flight, Mailbox, Message
from engine.core.commands import Commands
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery

TURN_MESSAGES = 64  # messages that a state machine handles in one turn: half a millisecond
BLAMES = 3  # a delivery that crashed the actor this often alone is quarantined
SHARED_BLAMES = 6  # a delivery that was in this many crashes with others is quarantined
MOST_BLAMES = 10_000  # suspected deliveries that are remembered: a crash loop must not fill memory
FIRST_BACKOFF_S = 0.1
MOST_BACKOFF_S = 30.0  # a broken destination costs one read of the store in half a minute
# At a crash, the earlier crashes are forgotten if the actor has surely run for WELL_AFTER_S since the
# latest of them. The time since this earlier crash includes the backoff that followed it. So `crashed`
# compares the time with WELL_AFTER_S plus the longest backoff.
WELL_AFTER_S = 60.0
LEAST_CAREFUL = 64  # after a crash at least this many messages are handled one at a time
TRUSTED_SNAPSHOT_CRASHES = 2  # after so many failed starts, a state machine begins without snapshot

log = structlog.get_logger("angarium.actor")


class Blame(Struct):
    """A delivery and the crashes that it caused."""

    delivery: Delivery
    crashes: int = 0
    shared: int = 0  # crashes in messages about several deliveries


def suspects(subject: Message | Delivery | None) -> list[Delivery]:
    """Return the deliveries that a message is about."""
    if type(subject) is Flight:
        return [subject.delivery]
    if type(subject) is Delivery:
        return [subject]
    if type(subject) is Arrived:
        return subject.deliveries
    if type(subject) is Answered and subject.answer is not None:
        answer = subject.answer
        return answer if isinstance(answer, list) else answer.deliveries
    return []


class CrashRecovery:
    """The record of one actor's crashes. The actor owns this object."""

    __slots__ = ("_backoff_s", "_blames", "_crashed_at", "careful", "late", "restarts", "starts")

    def __init__(self) -> None:
        self.late: list[Flight] = []
        self.careful = 0  # messages that are still to be handled one at a time
        self.starts = 0  # starts in a row that made no machine
        self.restarts = 0
        self._backoff_s = FIRST_BACKOFF_S  # after the next crash
        self._crashed_at = float("-inf")
        self._blames: dict[str, Blame] = {}

    def crashed(
        self, destination: str, subject: Message | Delivery | None, now: float, error: Exception
    ) -> float:
        """Note that the actor crashed while it handled `subject`, a message or a delivery. Returns the
        backoff in seconds."""
        if now - self._crashed_at > WELL_AFTER_S + MOST_BACKOFF_S:
            self._backoff_s = FIRST_BACKOFF_S
            self._blames.clear()
        if len(self._blames) > MOST_BLAMES:
            self._blames.clear()
        self._crashed_at = now
        self.restarts += 1
        concerned = suspects(subject)
        single = len(concerned) == 1
        for delivery in concerned:
            blame = self._blames.setdefault(delivery.id, Blame(delivery))
            blame.delivery = delivery
            if single:
                blame.crashes += 1
            else:
                blame.shared += 1
        self.careful = max(LEAST_CAREFUL, len(concerned))
        backoff_s = self._backoff_s
        self._backoff_s = min(2 * backoff_s, MOST_BACKOFF_S)
        log.error(
            "actor.crashed", destination=destination, restarts=self.restarts, backoff_s=backoff_s,
            exc_info=error,
        )  # fmt: skip
        return backoff_s

    def condemned(self) -> list[Delivery]:
        """Return the deliveries to quarantine. This method also drops the late outcomes of these
        deliveries, because the quarantine settles the deliveries."""
        guilty = [
            each.delivery
            for each in self._blames.values()
            if each.crashes >= BLAMES or each.shared >= SHARED_BLAMES
        ]
        if guilty:
            ids = {delivery.id for delivery in guilty}
            for flight in self.late:
                if flight.delivery.id in ids:
                    flight.rewind()
            self.late = [each for each in self.late if each.delivery.id not in ids]
        return guilty

    def handle(self, mailbox: Mailbox, machine: DestinationMachine, now: float) -> int:
        """Pass about TURN_MESSAGES messages to the state machine. While the actor must be careful after a
        crash, pass only one message, or one delivery of a message."""
        careful = self.careful
        handled = mailbox.pass_on(machine, now, 1 if careful else TURN_MESSAGES)
        if careful:
            self.careful -= min(handled, careful)
        else:
            mailbox.current = None  # if a crash follows several messages, none of them is blamed
        return handled

    def wind_up(
        self, machine: DestinationMachine, mailbox: Mailbox, guilty: list[Delivery], now: float
    ) -> Commands:
        """Let a temporary state machine judge late outcomes and quarantine `guilty` deliveries. The
        caller gives the settlements to the recorder, and then calls `wound_up`."""
        for flight in self.late:
            mailbox.current = flight
            flight.rewind()
            assert flight.outcome is not None
            machine.judged(flight.delivery, flight.outcome, now)
        for delivery in guilty:
            machine.quarantine(delivery, now)
        commands = machine.commands(now, 0)
        mailbox.current = None
        return commands

    def wound_up(self, guilty: list[Delivery]) -> None:
        """Forget the late outcomes and the quarantined deliveries. The recorder has their settlements."""
        self.late = []
        for delivery in guilty:
            self._blames.pop(delivery.id, None)

    @property
    def snapshot_doubted(self) -> bool:
        return self.starts > TRUSTED_SNAPSHOT_CRASHES
