"""A destination's actor: a mailbox, and turns in which the machine decides and this shell performs.

It decides nothing about deliveries. It owns what outlives a machine (what is in flight, what is not yet
recorded), so that a machine is replaced only when nothing of it is under way.
"""

from functools import partial

import structlog

from engine.actors.alarm import Alarm
from engine.actors.context import Context
from engine.actors.flight import Flight
from engine.actors.ledger import Ledger
from engine.actors.mailbox import Answered, Committed, Mailbox
from engine.actors.phase import Departure, Phase
from engine.actors.reading import Beginning, Lookup, Recollection, Restoration
from engine.actors.reports import ActorReport, DestinationReport
from engine.actors.share import Share
from engine.actors.succession import Succession
from engine.core.commands import AnyRequest, Commands
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Settlement
from engine.ports import ReadBack, Transmission

READ_AGAIN_S = 1.0  # after the store refused to say what a machine begins with

log = structlog.get_logger("angarium.actor")


class DestinationActor:
    """One destination's actor. Everything here is called on the trio thread and raises nothing, but
    `turn`, whose exception is the crash of this actor alone.

    `low_seq` is where its unsettled work in the store begins; `empty`: there is none but what it is
    about to be told.
    """

    __slots__ = (
        "_alarm", "_asked", "_backed_off", "_beginning", "_context", "_empty", "_flush", "_machine",
        "_mailbox", "_queued", "_reading", "_reconfigured", "_retire", "_share",
        "_unrecorded", "config", "environment", "generation", "id", "in_flight", "last_active",
        "ledger", "phase", "started_at", "succession",
    )  # fmt: skip

    def __init__(self, context: Context, config: Destination, low_seq: int, empty: bool) -> None:
        self._context = context
        self.id = config.id
        self.environment = config.environment
        self.config = config
        self.phase = Phase.STARTING
        self.generation = 0  # raised whenever what was asked of the store is void
        self.in_flight = 0
        self.last_active = self.started_at = context.now()
        known, after = context.snapshots.take(self.id), context.mark_after
        self.ledger = Ledger(context.recorder, low_seq, known, new=empty, after=after)
        self._empty = empty
        self._machine: DestinationMachine | None = None
        self._mailbox = Mailbox(context.limits)
        self.succession = Succession()
        self._alarm = Alarm(context.timers, self.wake)
        self._unrecorded = 0  # settlements that are not durable
        self._beginning: Beginning | None = None
        self._share = Share(context.memory, config.workspace)
        self._asked: AnyRequest | None = None  # of the machine, and not passed to the readers yet
        self._queued = self._reading = self._reconfigured = self._retire = self._flush = False
        self._backed_off = True

    # --- what it is told

    def wake(self) -> None:
        """Ask for a turn."""
        if not self._queued:
            self._queued = True
            self._context.dispatcher.enqueue(self)

    def tell_arrived(self, deliveries: list[Delivery]) -> None:
        """Take deliveries that were just committed, in seq order; what does not fit stays stored."""
        if self.phase is Phase.RESTARTING:
            return  # the successor will read them
        if self._machine is None and not self._empty:
            self._mailbox.note(deliveries)
            return
        if self._context.memory.full(self.config.workspace):
            self._mailbox.spill(deliveries)
        else:
            self._mailbox.offer(deliveries)
            self._share.report(self._mailbox, self._machine)
        self.wake()

    def tell_config(self, config: Destination) -> None:
        """Use another version for every attempt that has not begun; one that is not newer is ignored."""
        if config.version <= self.config.version:
            return
        relaned = config.ordering is not self.config.ordering
        self.config = config
        self._reconfigured = True
        if relaned and self.phase is Phase.STARTING:
            self.start()  # what is being read was asked for in the other order
        self.wake()

    def tell_answer(self, request: AnyRequest, answer: ReadBack | list[Delivery] | None) -> None:
        """Take the store's answer to a request of the present machine."""
        self._reading = False
        self._mailbox.messages.append(Answered(request, answer))
        self.wake()

    def attempt_ended(self, flight: Flight) -> None:
        """Take an outcome."""
        self.in_flight -= 1
        self._context.attempts.ended(self.config.workspace)
        self._mailbox.messages.append(flight)
        self.wake()

    def committed(self, settlements: list[Settlement]) -> None:
        """Learn that settlements are durable."""
        self._unrecorded -= len(settlements)
        self._context.attempts.recorded([each.delivery.id for each in settlements])
        if self._machine is not None:
            # A turn is for what comes next, and from most commits nothing does.
            rests = not self._queued and not self._asked and self._machine.unmoved(settlements)
            if rests and self._context.dispatcher.at_once(self, self._absorb, settlements):
                return
            self._mailbox.messages.append(Committed(settlements))
        self.wake()

    def retire(self) -> None:
        """Leave memory, if there is nothing to do after all that it was told."""
        self._retire = True
        self.wake()

    def flush(self) -> None:
        """Write backlog row and snapshot: the process is about to end."""
        self._flush = True
        self.wake()

    # --- its turn

    def turn(self) -> None:
        """Pass a bounded number of messages on, and perform what the machine commands."""
        self._queued = False
        context = self._context
        now = context.now()
        machine = self._machine or self._succeed(now)
        if machine is None:
            return
        if self._reconfigured:
            self._reconfigured = False
            if self._asked is not None:  # a machine that is to be rebuilt waits for its last answer
                machine.read_failed(self._asked, now)
                self._asked = None
            machine.configure(self.config, now)
        handled = self.succession.handle(self._mailbox, machine, now)
        allowed = context.attempts.allowance(self) if machine.wants(now) else None
        commands = machine.commands(now, allowed or 0)
        self._perform(machine, commands, now)
        self._mailbox.in_hand = None
        again = context.attempts.used(self, allowed, len(commands.send))
        self._share.report(self._mailbox, self._machine)
        if self._asked is not None:
            self._read()
        if handled or commands.send or commands.settle:
            self.last_active = now
            self.ledger.mark(self.config, machine, len(commands.settle), now)
        if commands.rebuild:
            self._rebuild(machine, now)
        elif again or self._mailbox.messages:
            self.wake()
        elif self._retire or self._flush:
            self._take_leave(machine, now)

    def _perform(self, machine: DestinationMachine, commands: Commands, now: float) -> None:
        context = self._context
        if commands.settle:
            self._record(commands.settle)
        if commands.snapshot:
            self.ledger.save(self.config, machine.snapshot(), now)
        if commands.send:
            self._send(commands.send)
        if commands.read is not None:
            self._asked = commands.read
        if commands.disable:
            context.gone(self.config, commands.settle)
        if commands.wake_at is not None:
            self._alarm.within(commands.wake_at - now)

    def _read(self) -> None:
        """Have the store asked, unless memory is full: then what is held here goes first, and each
        of its ends is a turn that looks again."""
        assert self._asked is not None
        if self._share.may_read:
            request, self._asked = self._asked, None
            singly = self.succession.careful > 0
            self._reading = True
            self._context.readers.submit(Lookup(self, request, self._context.memory, singly))

    def _record(self, settlements: list[Settlement]) -> None:
        self._unrecorded += len(settlements)
        self._context.attempts.settling(len(settlements))
        self._context.recorder.put(settlements, self)
        self._mailbox.judged.clear()

    def _send(self, deliveries: list[Delivery]) -> None:
        began, send, config = self._context.attempts.began, self._context.sender.send, self.config
        for delivery in deliveries:
            self._mailbox.in_hand = delivery
            number = delivery.attempt_count + 1
            send(Transmission(config, delivery, number), Flight(self, delivery, number))
            self.in_flight += 1
            began(delivery.id, self.environment, config.workspace)

    def _take_leave(self, machine: DestinationMachine, now: float) -> None:
        """Retire, if nothing is under way or near; write what must not be forgotten."""
        retire, flush = self._retire and not self._busy and machine.idle(now), self._flush
        self._retire = self._flush = False
        if not (retire or flush):
            return
        clean, sleeping = machine.clean(), False
        if not clean:
            sleeping = self.ledger.mark_departure(self.config, machine)
        self.ledger.save(self.config, machine.snapshot(), now)
        if retire:
            waiting = machine.pending
            self._machine = None
            self.phase = Phase.RETIRED
            self.generation += 1
            self._alarm.end()
            machine.dissolve()
            self._share.report(self._mailbox, self._machine)
            self._context.attempts.leave(self)
            if self.ledger.snapshot is not None:
                self._context.snapshots.keep(self.id, self.ledger.snapshot)
            self._context.retired(self, Departure(clean, sleeping, self.ledger.low_seq, waiting))

    def _absorb(self, settlements: list[Settlement]) -> None:
        """Pass on a commit that nothing follows from."""
        assert self._machine is not None
        self.last_active = self._context.now()
        self._machine.committed(settlements, self.last_active)
        self._share.report(self._mailbox, self._machine)

    @property
    def _busy(self) -> bool:
        mailbox = self._mailbox
        waits = bool(mailbox.messages or mailbox.spills)
        asks = self._reading or self._asked is not None
        return waits or asks or self.in_flight > 0 or self._unrecorded > 0

    # --- its machines

    def start(self) -> None:
        """Bring a machine about, by what is known or by what the store holds."""
        readers, known = self._context.readers, self.ledger.snapshot
        if not self._empty:
            readers.submit(self.restoration())
        elif known is None:
            readers.submit_snapshot(Recollection(self))
        else:
            self.begin(Beginning(known, None))

    def restoration(self) -> Restoration:
        """Return the reading that the next machine needs; any earlier one is void."""
        self.phase = Phase.STARTING
        self.generation += 1
        self._beginning = None
        return Restoration(self, self.ledger.low_seq)

    def begin_reading(self) -> None:
        """The store is being read from now on: it will show what was noted before."""
        self._mailbox.drop_arrivals()

    def begin(self, beginning: Beginning | None) -> None:
        """Take what was read; None: ask again after a while."""
        if beginning is None:
            again = partial(self._restore_again, self.generation)
            self._context.timers.call_later(READ_AGAIN_S, again)
        else:
            self._beginning = beginning
            self.wake()

    def _restore_again(self, generation: int) -> None:
        if generation == self.generation:
            self.start()

    def _succeed(self, now: float) -> DestinationMachine | None:
        """Bring a machine about, as far as that can be done now."""
        if self.phase is Phase.RESTARTING:
            self._settle_estate(now)
            return None
        beginning, self._beginning = self._beginning, None
        if beginning is None:
            return None
        machine = self._make(beginning, now)
        self.generation += 1
        self._machine = machine
        self._empty = self._reconfigured = False
        self.phase = Phase.RUNNING
        return machine

    def _make(self, beginning: Beginning, now: float) -> DestinationMachine:
        context, succession = self._context, self.succession
        succession.starts += 1
        snapshot = None if succession.snapshot_doubted else beginning.snapshot
        machine = context.make_machine(self.config, context.limits, now, context.jitter, snapshot)
        self.ledger.snapshot = snapshot
        unsettled = beginning.unsettled
        if unsettled is not None:
            last = unsettled.last_seqs
            machine.restore(unsettled.low_seq, last, unsettled.waiting, unsettled.next_due)
            for spill in self._mailbox.take_spills():
                if spill.seq > last.get(spill.queue, -1):
                    machine.spilled(spill.queue, spill.seq, spill.count)
        succession.starts = 0
        return machine

    def crashed(self, error: Exception) -> None:
        """Give the machine up; a successor comes when all that it had under way has ended."""
        succession = self.succession
        backoff_s = succession.crashed(self._mailbox.in_hand, self._context.now())
        log.error(
            "actor crashed", destination=self.id, restarts=succession.restarts,
            backoff_s=backoff_s, exc_info=error,
        )  # fmt: skip
        self._let_go()
        self._backed_off = False
        self._context.timers.call_later(backoff_s, self._back_off_over)

    def _back_off_over(self) -> None:
        self._backed_off = True
        self.wake()

    def _rebuild(self, machine: DestinationMachine, now: float) -> None:
        """Begin anew from the store, since the order of what waits has changed."""
        self.ledger.low_seq = machine.low_seq()
        self.ledger.save(self.config, machine.snapshot(), now)
        self._let_go()
        self.wake()

    def _let_go(self) -> None:
        """Let the machine go; keep the outcomes that nobody has settled."""
        self.succession.late += self._mailbox.flights()
        self._mailbox = Mailbox(self._context.limits)
        self._machine = self._beginning = self._asked = None
        self._empty = self._reading = False
        self.generation += 1
        self.phase = Phase.RESTARTING
        self._alarm.cancel()
        self._context.attempts.leave(self)
        self._share.report(self._mailbox, self._machine)

    def _settle_estate(self, now: float) -> None:
        """Once nothing is under way, let a passing machine judge the late outcomes and quarantine
        whom the crashes are due to; once that is durable, begin anew from the store."""
        if self.in_flight or self._unrecorded or not self._backed_off:
            return
        context, succession, mailbox = self._context, self.succession, self._mailbox
        succession.late += mailbox.flights()
        mailbox.messages.clear()
        guilty = succession.condemned()
        if not (succession.late or guilty):
            self.start()
            return
        machine = self._make(Beginning(self.ledger.snapshot, None), now)
        succession.pass_on(machine, mailbox, guilty, now)
        commands = machine.commands(now, 0)
        mailbox.in_hand = None
        succession.settled(guilty)
        self._record(commands.settle)
        self.ledger.save(self.config, machine.snapshot(), now)
        if commands.disable:
            context.gone(self.config, commands.settle)
        if not commands.settle:
            self.start()

    # --- reports

    def report(self) -> DestinationReport:
        """Return the state of destination and actor."""
        machine, snapshot = self._machine, self.ledger.snapshot
        health = self._context.health(machine, self.config, snapshot, self.pending)
        return DestinationReport(
            health=health,
            pending=self.pending,
            in_flight=health.in_flight if machine is not None else self.in_flight,
            actor=ActorReport(
                state=self.phase.name,
                restarts=self.succession.restarts,
                mailbox=len(self._mailbox.messages),
                started_at=self.started_at,
                snapshot_at=self.ledger.snapshot_at,
            ),
        )

    @property
    def pending(self) -> int:
        """Deliveries that wait, as far as is known."""
        waiting = self._mailbox.deliveries + sum(each.count for each in self._mailbox.spills)
        return waiting + (0 if self._machine is None else self._machine.pending)
