"""A destination's actor. The actor has a mailbox and a state machine. The state machine decides, and the
actor carries out the decisions: it sends, records and reads.

Before the actor replaces its state machine, all attempts in flight must end, and all settlements must be
durable."""

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.actors.attempts import TURN_SENDS
from engine.actors.checkpoint import Checkpoint
from engine.actors.context import Context
from engine.actors.crash_recovery import CrashRecovery
from engine.actors.lifecycle import READ_AGAIN_S, ActorSignal, ActorState, Leave, next_state
from engine.actors.mailbox import Answered, Flight, Mailbox, Ordered, Resumed
from engine.actors.memory import MemoryShare
from engine.actors.reading import Beginning, PendingRead, Restoration, SnapshotReading
from engine.actors.reports import DestinationReport, report_of
from engine.core.commands import AnyRequest, Commands
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Settlement
from engine.ports import ReadBack, Transmission
from engine.runtime.timers import Alarm, Timer


class DestinationActor:
    """One destination's actor. If `turn` raises, only this actor crashes. `low_seq`: each delivery of the
    destination with a seq below `low_seq` is settled or RETRYING. `empty`: the store has no unsettled
    deliveries of the destination, except those that the first call of `tell_arrived` brings."""

    __slots__ = (
        "_alarm", "_backoff", "_beginning", "_context", "_leave", "_mailbox", "_pending_read",
        "_queued", "_share", "_unrecorded", "checkpoint", "config", "environment", "generation", "id",
        "in_flight", "last_active", "machine", "ordering", "recovery", "started_at", "state", "stepped_s",
    )  # fmt: skip

    def __init__(self, context: Context, config: Destination, low_seq: int, empty: bool) -> None:
        self._context = context
        self.id, self.environment, self.config = config.id, config.environment, config
        self.ordering = config.ordering  # the state machine's, until its settlements are durable
        self.state = ActorState.FRESH if empty else ActorState.STARTING
        self.generation = 0  # raised when the reads under way become void
        self.in_flight = self._unrecorded = 0  # attempts, and settlements that are not durable
        self.last_active = self.started_at = context.now()
        self.stepped_s = context.steps.total_s  # the clock steps that this actor has followed
        known, after = context.snapshots.take(self.id), context.mark_after
        self.checkpoint = Checkpoint(context.recorder, low_seq, known, new=empty, after=after)
        self.machine: DestinationMachine | None = None
        self._mailbox = Mailbox(context.limits)
        self.recovery = CrashRecovery()
        self._queued = False
        self._alarm = Alarm(context.timers, self.wake)
        self._beginning: Beginning | None = None
        self._share = MemoryShare(context.memory, config.workspace, config.environment)
        self._pending_read = PendingRead()
        self._backoff: Timer | None = None
        self._leave: Leave | None = None

    # --- messages

    def wake(self) -> None:
        """Ask for a turn."""
        if not self._queued:
            self._context.dispatcher.enqueue(self)
            self._queued = True

    def tell_arrived(self, deliveries: list[Delivery], *, few: bool = False) -> None:
        """Take deliveries that were just committed, in seq order. Deliveries that do not fit into memory
        stay in the store. If `few` is True and `deliveries` has only one delivery, the actor can send it
        at once, before its next turn."""
        if self.state.is_restarting:
            return  # the next state machine's read will show them
        if self.machine is None and self.state is not ActorState.FRESH:
            self._mailbox.note(deliveries)
            self._share.report_all(self._mailbox, None)
            return
        if self._context.memory.full(self.config.workspace):
            self._mailbox.spill(deliveries)
            self.wake()
        elif not (few and self._inline(self._begin, deliveries)):
            self._mailbox.offer(deliveries)
            self._share.report(self._mailbox, self.machine)
            self.wake()

    def reread(self, low_seq: int) -> None:
        """Drop the state machine. Read the store from min(`low_seq`, `checkpoint.low_seq`) on."""
        self.checkpoint.low_seq = min(self.checkpoint.low_seq, low_seq)
        self._let_go(ActorSignal.RESTART)
        self.wake()

    def tell_config(self, config: Destination) -> None:
        """Use a newer configuration for all attempts that have not begun."""
        if config.version <= self.config.version:
            return
        relaned = config.ordering is not self.config.ordering
        self.config = config
        if relaned and self.machine is None and not self.state.is_restarting:
            self.start()  # read again, for the other ordering
        self.wake()

    def tell(self, message: Ordered | Resumed) -> None:
        """Take a person's request. The request is lost if the actor drops its state machine first.
        Therefore, the caller sends an `Ordered` message again until the request is carried out."""
        self._mailbox.messages.append(message)
        self.wake()

    def tell_answer(self, request: AnyRequest, answer: ReadBack | list[Delivery] | None) -> None:
        self._pending_read.under_way = False
        self._mailbox.messages.append(Answered(request, answer))
        self.wake()

    def attempt_ended(self, flight: Flight) -> None:
        self.in_flight -= 1
        idle = self._context.dispatcher.idle
        if self._queued or not idle or not self._inline(self._judge, flight):
            self._mailbox.messages.append(flight)
            self.wake()
        self._context.attempts.ended(self.config.workspace)  # last, because it can raise

    def committed(self, settlements: list[Settlement]) -> None:
        self._unrecorded -= len(settlements)
        if self._inline(self._pass_commit_on, settlements):
            self.wake()

    def refused(self, settlement: Settlement, error: Exception) -> None:
        """Crash, because the store refuses a settlement."""
        self._unrecorded -= 1
        settlement.delivery.attempt_count = settlement.expects  # as in the delivery's row
        self._mailbox.current = settlement.delivery
        self.crashed(error)
        self._context.attempts.recorded([settlement.delivery.id])

    def leave(self, how: Leave) -> None:
        """When all messages are handled, leave memory if the actor is idle (RETIRE), or only write its
        backlog row and its snapshot (FLUSH)."""
        if self._leave is not Leave.FLUSH:
            self._leave = how
        self.wake()

    # --- work outside turns: the commit of settlements, and the fast path of a single delivery

    def _inline(self, part: Callable[[Any], bool], about: Any) -> bool:
        """Return `part(about)`. If `part` raises, crash this actor and return True."""
        try:
            return part(about)
        except Exception as error:  # a barrier: only this actor crashes
            self.crashed(error)
            return True  # the caller must not put `about` into the mailbox

    def _pass_commit_on(self, settlements: list[Settlement]) -> bool:
        """Return whether a turn must follow."""
        self._context.attempts.recorded([each.delivery.id for each in settlements])
        if self._context.awaited:
            self._context.awaited.settled(settlements)
        machine = self.machine
        if machine is None:
            return True
        follows = machine.committed(settlements, self._context.now_of(self))
        self._share.report(self._mailbox, machine)
        return follows

    def _unoccupied(self) -> DestinationMachine | None:
        return None if self._queued or self.in_flight or self.recovery.careful else self.machine

    def _begin(self, deliveries: list[Delivery]) -> bool:
        machine, context = self._unoccupied(), self._context
        if machine is None or not machine.fast_path.admits(deliveries):
            return False
        if context.attempts.allowance(self) < TURN_SENDS:  # other actors need places, or may soon
            return False
        self.last_active = context.now_of(self)
        self._mailbox.current = deliveries[0]
        machine.fast_path.begin(deliveries[0], self.last_active)
        self._send(deliveries)
        self._mailbox.current = None
        self._share.report(self._mailbox, machine)
        return True

    def _judge(self, flight: Flight) -> bool:
        machine, outcome = self._unoccupied(), flight.outcome
        if machine is None or outcome is None or not machine.fast_path.settles(outcome):
            return False
        self.last_active = self._context.now_of(self)
        self._mailbox.judge(flight, machine, self.last_active)
        self._mailbox.current = None
        settled = machine.settled()
        self._record(settled)
        self.checkpoint.mark(self.config, machine, len(settled), self.last_active)
        return True

    # --- the turn

    def turn(self) -> None:
        """Pass a bounded number of messages to the state machine, and perform its commands."""
        self._queued = False
        context, now = self._context, self._context.now_of(self)
        machine = self.machine or self._succeed(now)
        if machine is None:
            return
        if machine.config is not self.config:
            self._pending_read.give_up(machine, now)
            machine.configure(self.config, now)
        handled = self.recovery.handle(self._mailbox, machine, now)
        allowed = context.attempts.allowance(self) if machine.wants(now) else None
        commands = machine.commands(now, allowed or 0)
        self._perform(machine, commands, now)
        self._mailbox.current = None
        again = context.attempts.used(self, allowed, len(commands.send))
        self._share.report_all(self._mailbox, self.machine)
        if self._pending_read.waits and self._share.may_read(machine.window.aside):
            singly = self.recovery.careful > 0
            context.readers.submit(self._pending_read.go(self, context.memory, singly=singly))
        if handled or commands.send or commands.settle:
            self.last_active = now
            self.checkpoint.mark(self.config, machine, len(commands.settle), now)
        if commands.rebuild:
            self._rebuild(machine, now)
        elif again or self._mailbox.messages:
            self.wake()
        elif self._leave is not None:
            self._take_leave(machine, now)

    def _perform(self, machine: DestinationMachine, commands: Commands, now: float) -> None:
        if commands.settle:
            self._record(commands.settle)
        if commands.snapshot:
            self.checkpoint.save(self.config, machine.snapshot(), now)
        if commands.send:
            self._send(commands.send)
        if commands.read is not None:
            self._pending_read.waits = commands.read
        if commands.disable:
            self._context.gone(self.config, commands)
        if commands.wake_at is not None:
            self._alarm.within(commands.wake_at - now)

    def _record(self, settlements: list[Settlement]) -> None:
        self._context.recorder.put(settlements, self)  # before the counts, because it can raise
        self._mailbox.judged.clear()
        self._unrecorded += len(settlements)
        self._context.attempts.settling(len(settlements))

    def _send(self, deliveries: list[Delivery]) -> None:
        began, send, config = self._context.attempts.began, self._context.sender.send, self.config
        for delivery in deliveries:
            flight = Flight(self, delivery, delivery.attempt_count + 1)
            began(flight, config.workspace)
            self.in_flight += 1
            try:
                send(Transmission(config, delivery, flight.number), flight)
            except Exception as error:  # a barrier: only this attempt fails
                self._context.fail(flight, error)

    def _take_leave(self, machine: DestinationMachine, now: float) -> None:
        mailbox, read = self._mailbox, self._pending_read
        unhandled = mailbox.messages or mailbox.spills
        busy = unhandled or read.waits or read.under_way or self.in_flight or self._unrecorded
        leave, self._leave = self._leave, None
        retire = leave is Leave.RETIRE and not busy and machine.idle(now)
        if not (retire or leave is Leave.FLUSH):
            return
        departure = self.checkpoint.close(self.config, machine, now)
        if retire:
            self.machine = None
            self.state = next_state(self.state, ActorSignal.RETIRE)
            self.generation += 1
            self._alarm.end()
            machine.dissolve()
            self._share.report_all(self._mailbox, self.machine)
            self._context.attempts.leave(self)
            if self.checkpoint.snapshot is not None:
                self._context.snapshots.keep(self.id, self.environment, self.checkpoint.snapshot)
            self._context.retired(self.config, departure)

    # --- state machines

    def start(self) -> None:
        """Get the data for the next state machine."""
        readers, known = self._context.readers, self.checkpoint.snapshot
        try:
            if self.state is not ActorState.FRESH:
                readers.submit(self.restoration())
            elif known is None:
                readers.submit_snapshot(SnapshotReading(self))
            else:
                self.begin(Beginning(known, None))
        except Exception as error:  # a barrier: this actor starts again after a backoff
            self.crashed(error)

    def restoration(self) -> Restoration:
        """Return a request to read the store. The next state machine begins with the data that this
        request gets. From now on, the actor ignores the data that earlier requests get."""
        self.state = next_state(self.state, ActorSignal.READ)
        self.generation += 1
        self._beginning = None
        return Restoration(self, self.checkpoint.low_seq)

    def begin_reading(self) -> None:
        self._mailbox.drop_arrivals()

    def begin(self, beginning: Beginning | None) -> None:
        if beginning is None:
            self._context.timers.call_later(READ_AGAIN_S, partial(self._again, self.generation))
        else:
            self._beginning = beginning
            self.wake()

    def _again(self, generation: int) -> None:
        if generation == self.generation:
            self.start()

    def _succeed(self, now: float) -> DestinationMachine | None:
        if self.state.is_restarting:
            self._settle_after_crash(now)
            return None
        beginning, self._beginning = self._beginning, None
        if beginning is None:
            return None
        machine = self.machine = self._make(beginning, now)
        self.generation += 1
        self.state = next_state(self.state, ActorSignal.BEGIN)
        return machine

    def _make(self, beginning: Beginning, now: float) -> DestinationMachine:
        context, recovery = self._context, self.recovery
        recovery.starts += 1
        snapshot = None if recovery.snapshot_doubted else beginning.snapshot
        machine = context.machine_of(self.config, snapshot, now)
        self.ordering = self.config.ordering
        self.checkpoint.snapshot = snapshot
        if beginning.unsettled is not None:
            beginning.unsettled.tell(machine, self._mailbox.take_spills())
        recovery.starts = 0
        return machine

    def crashed(self, error: Exception) -> None:
        """Drop the state machine. The next one is made after a backoff. Never raises."""
        self._context.crashes += 1
        subject, now = self._mailbox.current, self._context.now()  # `now_of` can raise
        backoff_s = self.recovery.crashed(self.id, subject, now, error)
        if self._backoff is not None:
            self._backoff.cancel()
        self._backoff = self._context.timers.call_later(backoff_s, self._back_off_over)
        self._let_go(ActorSignal.CRASH)

    def _back_off_over(self) -> None:
        self._backoff = None
        self.state = next_state(self.state, ActorSignal.BACKOFF_OVER)
        self.wake()

    def _rebuild(self, machine: DestinationMachine, now: float) -> None:
        """Read the queue from the store again, because the destination's ordering has changed."""
        self.checkpoint.low_seq = machine.low_seq()
        self.checkpoint.save(self.config, machine.snapshot(), now)
        self._let_go(ActorSignal.RESTART)
        self.wake()

    def _let_go(self, signal: ActorSignal) -> None:
        self.recovery.late += self._mailbox.flights()
        self._mailbox = Mailbox(self._context.limits)
        self._pending_read = PendingRead()
        self.machine = self._beginning = None
        self.generation += 1
        self.state = next_state(self.state, signal)
        self._alarm.cancel()
        self._context.give_places_back(self)
        self._share.report_all(self._mailbox, self.machine)

    def _settle_after_crash(self, now: float) -> None:
        """After a crash or a restart, let a temporary state machine settle late outcomes, and quarantine
        deliveries that crashed the actor."""
        if self.in_flight or self._unrecorded or self.state is ActorState.BACKING_OFF:
            return
        context, recovery, mailbox = self._context, self.recovery, self._mailbox
        recovery.late += mailbox.flights()
        mailbox.messages.clear()
        guilty = recovery.condemned()
        if not (recovery.late or guilty):
            self.start()
            return
        machine = self._make(Beginning(self.checkpoint.snapshot, None), now)
        commands = recovery.wind_up(machine, mailbox, guilty, now)
        self._record(commands.settle)
        recovery.wound_up(guilty)
        self.checkpoint.save(self.config, machine.snapshot(), now)
        if commands.disable:
            context.gone(self.config, commands)
        if not commands.settle:
            self.start()

    def report(self) -> DestinationReport:
        self._context.now_of(self)  # first follow the clock's steps
        return report_of(self, self.machine, len(self._mailbox.messages), self._context.health)

    @property
    def pending(self) -> int:
        """The number of waiting deliveries, as far as it is known."""
        return self._mailbox.pending + (0 if self.machine is None else self.machine.pending)
