"""The state machine of one destination: every decision, as a function of message and time.

A message only changes the state. `commands()` then decides what to do. Nothing here awaits, reads a
clock, draws random numbers or does I/O. Instants are seconds since the epoch. Only in `clock_stepped`
can `now` be earlier than before.
"""

from collections.abc import Callable, Sequence

from engine.core.backlog import Backlog
from engine.core.commands import (
    AnyRequest,
    Commands,
    DeadRequest,
    DueRequest,
    MemoryLimits,
    NamedRequest,
    ReadRequest,
)
from engine.core.counters import Counters
from engine.core.destination import Destination
from engine.core.discarder import Discarder, run_dry
from engine.core.fast_path import FastPath
from engine.core.health import Health
from engine.core.orders import Order, Orders
from engine.core.picker import Picker
from engine.core.records import Delivery, Ids, Outcome, Settlement
from engine.core.recovery import adopt, forget_former
from engine.core.report import health_of
from engine.core.schedule import exhausted, longest_wait_s
from engine.core.snapshot import decode, encode
from engine.core.throttle import Throttle
from engine.core.verdict import (
    DeliverySignal,
    corrected_wait,
    delivered,
    failed,
    settled_unsent,
    waiting_state,
)
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, DestinationStatus

_RETRYING = DeliveryStatus.RETRYING  # the look-up of an enum's member costs more than a call


class DestinationMachine:
    """The pure core of one destination's actor. `jitter` returns 0.0 <= x < 1.0. `arrive` and `spilled`
    must be called in seq order per class. If a method raises LostTrackError, or `Commands.rebuild` is
    set because the ordering has changed, restore a new state machine from the store."""

    def __init__(
        self,
        config: Destination,
        limits: MemoryLimits,
        now: float,
        jitter: Callable[[], float],
        snapshot: bytes | None = None,
    ) -> None:
        kept = decode(snapshot)
        self.config = config
        self.in_flight: dict[str, Delivery] = {}
        self.uncommitted: dict[str, Delivery] = {}  # ended, or settled unsent, and not durable yet
        self._now = now
        self._jitter = jitter
        self._throttle = Throttle(config, now, kept)
        self.resume = self._throttle.resume  # a message: an operator lifts the destination's hold
        self.failing, self.circuit = self._throttle.failing, self._throttle.circuit
        self._counters = Counters(kept.counters if kept is not None else None)
        self._settle: list[Settlement] = []
        unsettled = self.in_flight, self.uncommitted
        self._correcting: Ids = {}  # deliveries whose corrected waits are not durable yet
        self._backlog = Backlog(limits, config.ordering, *unsettled, self._judge_wait)
        self._backlog.accepting = config.status == DestinationStatus.ACTIVE
        self.window = self._backlog.window
        self.fast_path = FastPath(self._backlog, self._counters, self.in_flight)
        self._discarder = Discarder(self._backlog, *unsettled, self._end_unsent)
        self._picker = Picker(self._backlog, self._throttle, self.in_flight, self._end_unsent)
        self._orders = Orders(self._backlog, *unsettled, self._correcting, self._end_unsent)
        self._sent_with: dict[str, int] = {}  # in flight with an older version: which one
        self._disable_asked = False

    def restore(
        self, low_seq: int, last_seqs: dict[int, int], waiting: int, next_due: float | None
    ) -> None:
        """Take over the deliveries that wait in the store. If any wait, call this before any message.

        - `low_seq`: no PENDING delivery has a lower seq; with ordering KEY or STRICT, no RETRYING either.
        - `last_seqs`: the highest committed seq by class.
        - `waiting`: the number of PENDING and RETRYING deliveries.
        - `next_due`: the earliest due time in a RETRYING delivery's row.
        """
        self._backlog.restore(low_seq, last_seqs, waiting)
        self._throttle.start_empty(self._now)
        if next_due is not None and self._backlog.lanes is None:
            self._backlog.reader.leaves(next_due)
            self._backlog.recall(self._now + longest_wait_s(self.config), self._now)

    # --- messages: deliveries

    def arrive(self, deliveries: Sequence[Delivery], now: float) -> None:
        if self.uncommitted:
            forget_former(deliveries, self.uncommitted, self._backlog, now)
        self._counters.arrived(len(deliveries), now)
        self._backlog.arrive(deliveries, now)

    def spilled(self, queue: DeliveryClass, seq: int, count: int) -> None:
        """Note `count` committed deliveries that are only in the store. `queue` is their class, and `seq`
        their highest seq. Call this before `arrive` gets a later delivery of the class."""
        self._counters.arrived(count, self._now)
        self._backlog.spilled(queue, seq, count)

    def loaded(
        self,
        request: ReadRequest,
        deliveries: list[Delivery],
        through: int,
        skipped: dict[str, int],
        end: bool,
        now: float,
    ) -> None:
        """Take the answer of a ReadRequest, as `ports.ReadBack` describes it."""
        read = self._backlog.reader.finish(request)
        if read is None:
            return
        forget_former(deliveries, self.uncommitted, self._backlog, now)
        if self._archived():
            self._discarder.loaded(read, deliveries, through, now, end=end)
            return
        self._backlog.loaded(read, deliveries, through, skipped, now, end=end)

    def due(self, request: DueRequest, deliveries: list[Delivery], now: float) -> None:
        read = self._backlog.reader.finish(request)
        if read is not None:
            place = self._discarder.due if self._archived() else self._backlog.due
            place(read, deliveries, now)

    def dead(self, request: DeadRequest, deliveries: list[Delivery], now: float) -> None:
        read = self._backlog.reader.finish(request)
        if read is not None:
            self._discarder.dead(read, deliveries, now)

    def order(self, order: Order, deliveries: Sequence[str], now: float) -> None:
        """Take a person's order for deliveries, by their ids. It has no effect on ended deliveries. A
        RETRY has no effect on deliveries in flight. An archived destination ignores all orders."""
        if not self._archived():
            self._orders.give(order, deliveries, now)

    def named(self, request: NamedRequest, deliveries: list[Delivery], now: float) -> None:
        read = self._backlog.reader.finish(request)
        if read is not None and not self._archived():
            self._orders.named(request, read, deliveries, now)

    def read_failed(self, request: AnyRequest, now: float) -> None:
        """Take the failure of a read. After a pause, `commands` asks for the read again."""
        read = self._backlog.reader.failed(request, now)
        if read is not None:
            self._backlog.abandoned(read)

    # --- messages: attempts

    def judged(self, delivery: Delivery, outcome: Outcome, now: float) -> None:
        """Take the outcome of an attempt, even if the actor's earlier state machine began the attempt."""
        known = self.in_flight.pop(delivery.id, None) or self._adopt(delivery)
        if known is None:
            return
        version = self._sent_with.pop(known.id, self.config.version)
        if outcome.success:
            self._settle.append(delivered(known, outcome, version, now))
            known.attempt_count += 1
            known.next_attempt_at = None
            self.uncommitted[known.id] = known
            self._counters.succeeded(outcome.duration_ms, now)
            self._throttle.succeeded(known, outcome, now)
            if self._backlog.lanes is not None:
                self._backlog.lanes.release(known, now)
            return
        cancel = self._orders.cancels(known)
        lost = self._throttle.confirms_block(outcome, now)
        settlement = failed(
            known, outcome, version, self.config, now, self._jitter(), cancelled=cancel, lost=lost
        )
        self._settle.append(settlement)
        known.attempt_count += 1
        known.next_attempt_at = settlement.next_attempt_at
        self.uncommitted[known.id] = known
        self._counters.failed(outcome.duration_ms, outcome.message, now)
        self._throttle.failed(known, outcome, self.config, now)

    def committed(self, settlements: Sequence[Settlement], now: float) -> bool:
        """Take settlements that are durable now. The actor's earlier state machine can have made some of
        them. Returns True if `commands` must be called next."""
        uncommitted, backlog = self.uncommitted, self._backlog
        read = backlog.reader.outstanding
        ordered = self._orders.open or backlog.queue.hastened
        follows = self._throttle.failing.failures > 0 or not backlog.settled_by_commit(self.config)
        for settlement in settlements:
            identifier = settlement.delivery.id
            retrying = settlement.status is _RETRYING
            if retrying and settlement.attempt is None and self._is_correction(settlement):
                self._correcting.pop(identifier, None)
                backlog.reader.corrected(settlement.next_attempt_at)
                self._orders.give_again(identifier, now)
                follows = True
                continue  # the delivery still waits in its place
            if read is not None:
                read.settled[identifier] = settlement.delivery.seq
            if retrying:
                self._committed_retry(settlement.delivery, now)
                follows = True
                continue
            delivery = uncommitted.get(identifier)
            if delivery is not None and delivery.seq == settlement.delivery.seq:
                del uncommitted[identifier]
                if ordered:
                    self._orders.ended(delivery)
                backlog.ended(delivery, now)
        return follows

    def _is_correction(self, settlement: Settlement) -> bool:
        """Return True if a RETRYING settlement without an attempt leaves its delivery in place. Return
        False if this state machine made it for a person's retry: it must then queue the delivery."""
        own = self.uncommitted.get(settlement.delivery.id) is settlement.delivery
        return not own or settlement.delivery.id in self._correcting

    def _committed_retry(self, delivery: Delivery, now: float) -> None:
        known = self.uncommitted.pop(delivery.id, None)
        if known is None:
            return
        if self._archived():
            self._end_unsent(known, DeliveryStatus.RETRYING, DeliverySignal.ARCHIVE, now)
            return
        if self._orders.open and self._orders.after_commit(known, now):
            return
        self._judge_wait(known, now)  # a PATCH can come between verdict and commit
        self._backlog.retried(known, now)

    def quarantine(self, delivery: Delivery, now: float) -> None:
        """Dead-letter a delivery that crashed its actor again and again. Call this only on the temporary
        state machine after a crash. This machine gets no `restore`, and begins no attempt and no read."""
        if self._adopt(delivery) is not None:
            state = waiting_state(delivery)
            self._end_unsent(delivery, state, DeliverySignal.QUARANTINE, now)

    def configure(self, config: Destination, now: float) -> None:
        """Take a new version of the configuration. Attempts in flight keep their version."""
        old = self.config
        if config.version < old.version:
            return
        for identifier in self.in_flight:
            self._sent_with.setdefault(identifier, old.version)
        self.config = config
        self._throttle.configure(old, config, now)
        self._disable_asked = False
        self._backlog.accepting = config.status == DestinationStatus.ACTIVE
        if self._archived():
            if old.status != DestinationStatus.ARCHIVED:
                self._backlog.forget()
                self._orders.clear()
            return
        self._limit_waits(config, now)

    def clock_stepped(self, by_s: float, now: float) -> None:
        """Follow a step of the clock to `now`. Pauses keep their remaining time. Retries keep their due
        times, but none waits longer from now than the schedule's longest wait."""
        self._now = now
        for each in (self._throttle, self._counters, self._backlog.reader):
            each.clock_stepped(by_s)
        if not self._archived():
            self._limit_waits(self.config, now)

    def _limit_waits(self, config: Destination, now: float) -> None:
        latest = now + longest_wait_s(config)
        self._backlog.recap(lambda delivery: now if exhausted(delivery, config) else latest)
        self._backlog.recall(latest, now)

    # --- decisions

    def settled(self) -> list[Settlement]:
        """Remove and return the settlements. Call this only if `FastPath.settles` has returned True."""
        settled, self._settle = self._settle, []
        return settled

    def wants(self, now: float) -> bool:
        """Return whether `commands` would use its `may_send`."""
        return self._backlog.queue.any_due(now) or self._archived()

    def commands(self, now: float, may_send: int) -> Commands:
        """Decide what to do now. `may_send`: how many attempts the actor may begin."""
        self._now = now
        throttle, backlog = self._throttle, self._backlog
        commands = Commands()
        throttle.opens_at = None
        if self._archived():
            if may_send > 0:
                quiet = not self.in_flight and not self.uncommitted
                commands.read = backlog.reader.choose_to_discard(now, quiet=quiet)
            commands.wake_at = backlog.reader.wake_at(now)
        elif self.config.ordering != backlog.ordering:
            under_way = self.in_flight or self.uncommitted or backlog.reader.outstanding
            commands.rebuild = not under_way
        elif self.config.status == DestinationStatus.ACTIVE and throttle.gone_version is None:
            backlog.promote(now)
            if may_send > 0 and backlog.queue.any_ready():
                if self.config.dry_run:
                    run_dry(backlog, self._end_unsent, now)
                else:
                    commands.send = self._picker.pick(self.config, now, may_send)
            commands.read = backlog.reader.choose(now)
            if throttle.failing.failures:
                throttle.look(now, waits=not self.clean())
            commands.wake_at = backlog.wake_at(now, throttle.opens_at)
        else:
            commands.read = backlog.reader.choose_named(now)
            commands.wake_at = backlog.reader.named_at(now)
            if throttle.gone_version is not None and not self._disable_asked:
                commands.disable = self._disable_asked = True
                commands.overdue, commands.quiet = throttle.failed_too_long()
        commands.settle, self._settle = self._settle, commands.settle
        commands.snapshot, throttle.changed = throttle.changed, False
        self.fast_path.update(self.config, throttle)
        return commands

    # --- reports

    @property
    def pending(self) -> int:
        """The number of PENDING and RETRYING deliveries that wait, in memory and in the store."""
        under_way = len(self.in_flight) + len(self.uncommitted)
        return max(0, self.window.held - under_way + self._backlog.stored())

    def low_seq(self) -> int:
        """Return the present value for `restore`'s `low_seq`. The backlog row stores it."""
        return self._backlog.low_seq()

    def next_due(self) -> float | None:
        """Return when a retry in the store is due, or when the destination begins to count as failing if
        that is earlier. None: no retry waits in the store."""
        return self._throttle.failing.before(self._backlog.reader.earliest_due())

    def idle(self, now: float) -> bool:
        """Return whether the machine can leave memory until work comes or `next_due` is near."""
        backlog = self._backlog
        if self.in_flight or self.uncommitted or self._settle or backlog.reader.outstanding:
            return False
        if self._archived():
            return self.clean()
        needed = backlog.reader.named or self.config.ordering != backlog.ordering
        if needed or self._throttle.gone_version is not None:
            return False
        if self.config.status != DestinationStatus.ACTIVE:
            return True
        wanted = backlog.lanes is not None and backlog.lanes.wanted
        rests = not backlog.window.held and backlog.window.caught_up() and not wanted
        return rests and backlog.reader.nothing_near(now)

    def clean(self) -> bool:
        """Return True if no delivery is unsettled. The destination's backlog row can then be deleted."""
        if self.in_flight or self.uncommitted or not self._backlog.empty():
            return False
        return not self._archived() or self._backlog.reader.no_more_dead

    def health(self, now: float, asleep: int = 0) -> Health:
        """Return the health. `asleep`: deliveries that wait in the store, if `restore` was not called."""
        known = self.config, self._throttle, self._counters, self._backlog, self.pending + asleep
        return health_of(*known, len(self.in_flight), len(self.uncommitted), now)

    def snapshot(self) -> bytes:
        return encode(self._throttle.snapshot(self._now, self.config.version, self._counters))

    def dissolve(self) -> None:
        """Break the reference cycles, so that memory is freed without garbage collection."""
        del self._backlog.reader, self._backlog, self._discarder, self._orders, self._picker
        del self.fast_path

    # --- inside

    def _archived(self) -> bool:
        return self.config.status == DestinationStatus.ARCHIVED

    def _judge_wait(self, delivery: Delivery, now: float) -> float:
        """Shorten a delivery's wait if it is longer than the present schedule allows. Return the latest
        due time that the schedule allows."""
        latest, correction = corrected_wait(delivery, self.config, now)
        if correction is not None and delivery.id not in self._correcting:
            self._correcting[delivery.id] = None
            self._settle.append(correction)
        return latest

    def _adopt(self, delivery: Delivery) -> Delivery | None:
        """Take over a delivery that another state machine had. Return None if it is settled already."""
        if delivery.id in self.uncommitted:
            return None
        adopt(delivery, self._backlog)
        return delivery

    def _end_unsent(
        self, delivery: Delivery, state: DeliveryStatus, signal: DeliverySignal, now: float
    ) -> None:
        self._settle.append(settled_unsent(delivery, state, signal, now))
        self.uncommitted[delivery.id] = delivery
