"""A simulated world around one `DestinationMachine`: a store with rows, a recorder that reports commits
late, and a receiver that the test controls.

Every promise is checked at the moment at which it could be broken.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field

from engine.core.commands import (
    AnyRequest,
    Commands,
    DueRequest,
    MemoryLimits,
    NamedRequest,
    ReadRequest,
)
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.orders import Order
from engine.core.records import Delivery, Outcome, Settlement
from engine.core.schedule import longest_delay_s
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    ErrorCategory,
    Ordering,
)
from tests.core.making import (
    NOW,
    a_410,
    a_delivery,
    a_destination,
    a_failure,
    a_skip,
    a_success,
    held,
)
from tests.core.store import UNSETTLED, Answer, Store


@dataclass
class World:
    """The world of one destination. Each method is an event that can happen."""

    config: Destination
    limits: MemoryLimits
    chance: Callable[[], float]
    now: float = NOW
    store: Store = field(default_factory=Store)
    unannounced: list[Delivery] = field(
        default_factory=list
    )  # committed, but no actor knows of them
    in_flight: dict[str, Delivery] = field(default_factory=dict)
    recording: list[Settlement] = field(default_factory=list)  # given to the recorder, not durable
    durable: list[Settlement] = field(default_factory=list)  # but the machine does not know it yet
    reading: AnyRequest | None = None
    answer: Answer | None = None  # from the store at the time of the read
    snapshot: bytes | None = None
    wake_at: float | None = None
    mark: int = 0  # the backlog row's low_seq
    asleep: float | None = None  # passivated until then (inf: until an event)
    cancelled: dict[str, int] = field(default_factory=dict)  # how many attempts can still begin
    hastened: set[str] = field(default_factory=set)  # pass the schedule and a Retry-After once
    sent_under: dict[str, Ordering] = field(default_factory=dict)
    first_successes: dict[str, list[int]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    tokens: float = 0.0
    tokens_at: float = 0.0
    paused_until: float = 0.0
    gone: bool = False
    passing: bool = False  # the machine only judges late outcomes
    ordered: set[str] = field(default_factory=set)  # by ids, to this machine
    last_seq: int = 0
    requeued: int = 0
    sent: int = 0
    machine: DestinationMachine = field(init=False)

    def __post_init__(self) -> None:
        self.machine = DestinationMachine(self.config, self.limits, self.now, self.chance)
        self._fill_bucket()

    # --- what can happen

    def accept(self, kinds: list[tuple[DeliveryClass, str | None]]) -> None:
        """Commit new deliveries. Their actor learns of them later."""
        for queue, lane in kinds:
            self.last_seq += 1 + (self.last_seq % 3 == 0)  # seqs have gaps
            size = 3_000 if self.last_seq % 7 == 0 else 10
            delivery = a_delivery(self.last_seq, lane=lane, queue=queue, size=size)
            self.store.accept(delivery)
            self.unannounced.append(copy(delivery))

    def requeue(self, index: int) -> None:
        """Commit the requeue of a dead delivery. The destination's actor learns of the requeue later."""
        dead = [row for row in self.store.rows.values() if row.dlq is DlqStatus.IN_DLQ]
        if not dead or self.config.status is DestinationStatus.ARCHIVED:
            return
        self.last_seq += 1
        identifier = dead[index % len(dead)].delivery.id
        self.unannounced.append(self.store.requeue(identifier, self.last_seq))
        self.requeued += 1

    def tell(self, count: int, *, spill: bool) -> None:
        told, self.unannounced = self.unannounced[:count], self.unannounced[count:]
        if not told:
            return
        self.awake()
        if not spill and self._begins_fast(told):
            return
        if not spill:
            self.machine.arrive(told, self.now)
            return
        for queue in DeliveryClass:
            mine = [delivery.seq for delivery in told if delivery.queue is queue]
            if mine:
                self.machine.spilled(queue, mine[-1], len(mine))

    def turn(self, may_send: int = 1000) -> Commands | None:
        if self.asleep is not None:
            return None
        commands = self.machine.commands(self.now, may_send)
        assert len(commands.send) <= may_send
        self.recording += commands.settle
        for delivery in commands.send:
            self._sent(delivery)
        if commands.read is not None:
            assert self.reading is None, "one read at a time"
            named = isinstance(commands.read, NamedRequest)
            assert named or self.config.status is not DestinationStatus.DISABLED
            self.reading, self.answer = commands.read, None
        if commands.snapshot:
            self.snapshot = self.machine.snapshot()
        if commands.disable:
            assert self.gone
            self.configure(status=DestinationStatus.DISABLED)
        self.wake_at = commands.wake_at
        if commands.wake_at is not None:
            assert commands.wake_at > self.now - 1e-9, "a wake that has passed would spin"
        if commands.rebuild:
            assert not self.in_flight
            assert all(
                is_correction(each) or self.store.rows[each.delivery.id].seq != each.delivery.seq
                for each in (*self.recording, *self.durable)
            )
            self._succeed(self.machine.snapshot())
        self._check_state()
        return commands

    def _sent(self, delivery: Delivery) -> None:
        self._check_send(delivery)
        self.hastened.discard(delivery.id)
        if delivery.id in self.cancelled:
            self.cancelled[delivery.id] -= 1
            assert self.cancelled[delivery.id] >= 0, "sent although it was cancelled"
        self.in_flight[delivery.id] = delivery
        self.sent_under[delivery.id] = self.config.ordering
        self.sent += 1

    def run_read(self) -> None:
        """Let the store execute the machine's open read request. The machine gets the answer later."""
        if self.reading is not None and self.answer is None:
            self.answer = self.store.execute(self.reading)

    def answer_read(self, *, fail: bool = False) -> None:
        request = self.reading
        if request is None:
            return
        if fail:
            self.reading = self.answer = None
            self.machine.read_failed(request, self.now)
            return
        self.run_read()
        assert self.answer is not None
        deliveries, through, skipped, end = self.answer
        self.reading = self.answer = None
        if isinstance(request, ReadRequest):
            self.machine.loaded(request, deliveries, through, skipped, end, self.now)
        elif isinstance(request, DueRequest):
            self.machine.due(request, deliveries, self.now)
        elif isinstance(request, NamedRequest):
            self.machine.named(request, deliveries, self.now)
        else:
            self.machine.dead(request, deliveries, self.now)
        self._check_state()

    def judge(self, index: int, outcome: Outcome) -> None:
        if not self.in_flight:
            return
        identifier = list(self.in_flight)[index % len(self.in_flight)]
        delivery = self.in_flight.pop(identifier)
        row = self.store.rows[identifier]
        if outcome.success:
            row.ended = True
            if identifier not in self.succeeded:
                self.succeeded.add(identifier)
                lane = self._lane(delivery)
                if lane is not None and self.sent_under[identifier] is self.config.ordering:
                    order = self.first_successes.setdefault(lane, [])
                    assert not order or order[-1] < delivery.seq, "first successes out of order"
                    order.append(delivery.seq)
        elif outcome.category is ErrorCategory.DESTINATION_GONE:
            row.ended = True
            if self.config.status is DestinationStatus.ACTIVE:
                self.gone = True
        else:
            number = delivery.attempt_count - delivery.schedule_start
            schedule = self.config.retry_schedule_s
            if number < len(schedule):
                row.after_commit = self.now + 0.8 * schedule[number]
        if outcome.retry_after_s is not None:
            most = longest_delay_s(self.config) or 60
            asked = self.now + min(most, outcome.retry_after_s)
            self.paused_until = max(self.paused_until, asked)
        if self._ends_fast(delivery, outcome):
            return
        self.machine.judged(delivery, outcome, self.now)
        if outcome.retry_after_s is not None or self.gone:
            self.turn(0)  # then an actor's turn ends, and keeps what a snapshot needs

    def order(self, index: int, order: Order) -> None:
        ids = list(self.store.rows)
        if not ids or self.asleep is not None:
            return
        identifier = ids[index % len(ids)]
        self.machine.order(order, (identifier,), self.now)
        self.ordered.add(identifier)
        if identifier not in self.store.open or self.config.status is DestinationStatus.ARCHIVED:
            return
        row = self.store.open[identifier]
        if order is Order.CANCEL:
            ending = identifier in self.machine.uncommitted
            self.cancelled[identifier] = 0 if ending or identifier in self.in_flight else 1
            self.hastened.discard(identifier)
        else:
            self.cancelled.pop(identifier, None)  # the later order counts
            if identifier not in self.in_flight:
                self.hastened.add(identifier)
                row.not_before = row.after_commit = 0.0

    def record(self, count: int) -> None:
        done, self.recording = self.recording[:count], self.recording[count:]
        for settlement in done:
            self.store.write(settlement)
        self.durable += done

    def hear(self, count: int) -> None:
        done, self.durable = self.durable[:count], self.durable[count:]
        if not done:
            return
        before = self._turn_before(lambda: self.machine._backlog.settled_by_commit(self.config))
        if not self.machine.committed(done, self.now):
            self._nothing_follows(before)

    # --- the fast path: an actor with work for a turn takes the turn first

    def _turn_before(self, is_open: Callable[[], bool]) -> Commands | None:
        """If `is_open` returns True and the world is not `passing`, take a turn (see `turn`, which also
        carries out the commands). If `is_open` still returns True after the turn, return the turn's
        commands. In all other cases, return None.
        """
        before = self.turn(0) if not self.passing and is_open() else None
        return before if is_open() else None  # the turn can have begun a read

    def _nothing_follows(self, before: Commands | None) -> None:
        if before is None:
            return
        after = self.turn(0)
        assert after is not None
        wanted = after.settle or after.read or after.rebuild or after.disable or after.snapshot
        assert not wanted
        assert after.wake_at == before.wake_at

    def _begins_fast(self, told: list[Delivery]) -> bool:
        before = self._turn_before(lambda: self.machine.fast_path.admits(told))
        if before is None:
            return False
        (delivery,) = told
        self.machine.fast_path.begin(delivery, self.now)
        self._sent(delivery)
        self._nothing_follows(before)
        return True

    def _ends_fast(self, delivery: Delivery, outcome: Outcome) -> bool:
        if self.in_flight:
            return False
        self.in_flight[delivery.id] = delivery  # until it is known to have ended
        before = self._turn_before(lambda: self.machine.fast_path.settles(outcome))
        del self.in_flight[delivery.id]
        if before is None:
            return False
        self.machine.judged(delivery, outcome, self.now)
        self.recording += self.machine.settled()
        self._nothing_follows(before)
        return True

    def configure(self, **changes: object) -> None:
        if self.config.status is DestinationStatus.ARCHIVED:
            return
        self.awake()
        old = self.config
        values = {name: getattr(old, name) for name in old.__struct_fields__}
        level = None if old.rate_per_second is None else self._level()  # by the old rate
        self.config = new = Destination(**(values | changes | {"version": old.version + 1}))
        if old.rate_per_second != new.rate_per_second:
            self._fill_bucket()
            self.tokens = self.tokens if level is None else min(self.tokens, level)
        if new.url != old.url:
            self.paused_until = 0.0
        most = longest_delay_s(new) or 60
        self.paused_until = min(self.paused_until, self.now + most)
        if new.status is not DestinationStatus.ACTIVE or new.url != old.url:
            self.gone = False
        if new.ordering is not old.ordering:
            self.first_successes.clear()
        schedule = new.retry_schedule_s
        for row in self.store.open.values():
            earliest = self.now + 0.8 * min(schedule, default=0)
            row.not_before = min(row.not_before, earliest)
            row.after_commit = min(row.after_commit, earliest)
        self.machine.configure(new, self.now)

    def crash(self, clock_step: float, keep: int) -> None:
        """Kill the process. The store still gets the first `keep` settlements that were not durable. All
        other settlements that were not durable are lost.
        """
        self.mark = max(self.mark, self.machine.low_seq()) if self.asleep is None else self.mark
        for settlement in self.recording[:keep]:
            self.store.write(settlement)
        self._lose()
        if self.paused_until <= max(self.now, self.now + clock_step):
            self.paused_until = 0.0  # the pause has ended, before the crash or now
        if clock_step < 0:
            self.tokens_at += clock_step
            cap = longest_delay_s(self.config) or 60
            later = self.now + clock_step
            self.paused_until = min(self.paused_until, later + cap)
        self.now += clock_step
        shortest = 0.8 * min(self.config.retry_schedule_s, default=0)
        for row in self.store.open.values():
            row.ended = False  # its outcome was not recorded
            row.not_before = min(row.not_before, self.now + shortest)
        self.asleep = None
        self._succeed(self.snapshot)
        self.gone = self.machine._throttle.gone_version is not None

    def crash_actor(self, outcomes: list[Outcome], culprit: int | None = None) -> None:
        """Lose the actor's state machine, while the process keeps running. A temporary state machine
        judges the outcomes of attempts that were in flight. Then a new state machine is restored.

        If `culprit` is a number, the temporary state machine also quarantines one unsettled delivery. The
        number selects this delivery.
        """
        if self.asleep is not None:
            return
        self.turn(0)  # an actor remembers the outcomes of an unfinished turn, and tells them again
        self.mark = max(self.mark, self.machine.low_seq())
        self.record(len(self.recording))
        self.durable.clear()
        self.reading = self.answer = None
        self.machine = DestinationMachine(
            self.config, self.limits, self.now, self.chance, self.snapshot
        )
        self.passing = True
        guilty = None
        if culprit is not None and self.store.open:
            guilty = list(self.store.open.values())[culprit % len(self.store.open)]
            self.in_flight.pop(guilty.delivery.id, None)  # its outcome has no effect
        while self.in_flight:
            self.judge(0, outcomes[len(self.in_flight) % len(outcomes)])
        if guilty is not None:
            guilty.ended = True
            self.machine.quarantine(guilty.read(), self.now)
        self.turn(0)
        self.passing = False
        self.record(len(self.recording))
        self.durable.clear()
        self._succeed(self.machine.snapshot())

    def passivate(self) -> None:
        busy = self.reading is not None or self.recording or self.durable
        if self.asleep is not None or busy or not self.machine.idle(self.now):
            return
        assert not self.in_flight
        assert not self.recording
        assert not self.durable
        self.snapshot = self.machine.snapshot()
        self.mark = max(self.mark, self.machine.low_seq())
        if self.machine.clean():
            told = {delivery.id for delivery in self.unannounced}
            assert all(identifier in told for identifier in self.store.open)
            self.asleep = float("inf")
            return
        due = self.machine.next_due()
        self.asleep = float("inf") if due is None else int(due * 1000) / 1000

    def awake(self) -> None:
        if self.asleep is not None:
            self.asleep = None
            self._succeed(self.snapshot)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        if self.asleep is not None and self.now >= self.asleep:
            self.awake()

    def step_clock(self, by_s: float) -> None:
        """Step the clock.

        The step changes neither the duration of a pause nor the duration of a wait for the rate limit. A
        row that was due stays due. Any other row waits until its `not_before`, but not for longer than
        the shortest wait of the retry schedule.
        """
        self.awake()
        was, self.now = self.now, self.now + by_s
        self.tokens_at += by_s
        self.paused_until += by_s
        shortest = 0.8 * min(self.config.retry_schedule_s, default=0)
        for row in self.store.open.values():
            waited = row.not_before <= was  # then it stays eligible
            row.not_before = 0.0 if waited else min(row.not_before, self.now + shortest)
            row.after_commit = min(row.after_commit, self.now + shortest)
        self.machine.clock_stepped(by_s, self.now)
        self.turn()

    # --- the end: faults off, everything must drain

    def drain(self) -> None:
        """Let all attempts succeed, and check that every delivery ends."""
        longest = 1.2 * longest_delay_s(self.config) + 65 + 1 / (self.config.rate_per_second or 1)
        for _ in range(20_000):
            before = self.machine, self.config, self.sent, len(self.recording), self.now
            if self.config.status is DestinationStatus.DISABLED:
                self.configure(status=DestinationStatus.ACTIVE)
            self.tell(5, spill=False)
            self.turn()
            self.answer_read()
            while self.in_flight:
                self.judge(0, a_success(self.now))
            self.turn()
            self.record(1000)
            self.hear(1000)
            self.turn()
            quiet = not (self.unannounced or self.reading or self.in_flight or self.recording)
            after = self.machine, self.config, self.sent, len(self.recording), self.now
            if not quiet or after != before:  # a new configuration also wakes an actor
                continue
            if not self._unsettled() and (self.asleep is not None or self.machine.clean()):
                break
            wake = self.wake_at if self.asleep is None else self.asleep
            assert wake is not None, f"nothing wakes it for {self._unsettled()}"
            assert wake != float("inf"), f"it sleeps over {self._unsettled()}"
            assert wake - self.now <= longest, "it waits longer than anything allows"
            self.advance(max(wake - self.now, 0.0) + 1e-6)
            self.turn()
        assert not self._unsettled()
        self.awake()
        self.turn()
        self.answer_read()
        self.turn()
        self.answer_read()
        assert self.machine.clean()
        assert self.machine.next_due() is None
        assert self.machine.pending == 0
        assert held(self.machine) == (0, 0)
        if self.config.status is DestinationStatus.ARCHIVED:
            assert all(row.dlq is not DlqStatus.IN_DLQ for row in self.store.rows.values())

    def _unsettled(self) -> list[tuple[int, str]]:
        return [(row.seq, row.status.name) for row in self.store.open.values()]

    # --- checks

    def _check_send(self, delivery: Delivery) -> None:
        row = self.store.rows[delivery.id]
        config = self.config
        assert config.status is DestinationStatus.ACTIVE
        assert not config.dry_run
        assert not self.gone, "sent after a 410"
        assert not row.ended, "sent after its end"
        assert delivery.id not in self.in_flight, "sent while in flight"
        under_way = {
            (s.delivery.id, s.delivery.seq)
            for s in (*self.recording, *self.durable)
            if not is_correction(s)
        }
        assert (delivery.id, row.seq) not in under_way, "sent while uncommitted"
        assert delivery.seq == row.seq
        assert row.status in UNSETTLED, f"sent although {row.status.name}"
        assert delivery.attempt_count == row.attempt_count
        used = row.attempt_count - row.delivery.schedule_start
        assert used <= len(config.retry_schedule_s), "more attempts than the schedule has"
        assert self.now >= row.not_before - 1e-6, f"{row.not_before - self.now} s early"
        urgent = delivery.id in self.hastened
        assert urgent or self.now >= self.paused_until - 1e-6, "sent before Retry-After"
        assert len(self.in_flight) < config.concurrency
        lane = self._lane(delivery)
        if lane is not None:
            delivered = {
                s.delivery.id for s in self.recording if s.status is DeliveryStatus.DELIVERED
            }
            for other in self.store.open.values():
                if other.seq < row.seq and self._lane(other.delivery) == lane:
                    assert other.delivery.id not in self.in_flight, "two of a lane in flight"
                    assert other.delivery.id in delivered, "overtook in its lane"
        if config.rate_per_second is not None:
            self.tokens = self._level() - 1
            self.tokens_at = self.now
            assert self.tokens >= -1e-3, "rate exceeded"

    def _check_state(self) -> None:
        if self.passing:
            return
        count, size = held(self.machine)
        surplus = self.ordered  # reads by id may exceed the bounds
        assert 0 <= count <= self.limits.deliveries + len(surplus)
        archived = self.config.status is DestinationStatus.ARCHIVED  # it keeps whole answers
        assert 0 <= size <= self.limits.bytes + 3_000 * (len(surplus) + 32 * archived)
        assert set(self.machine.in_flight) == set(self.in_flight)
        window = self.machine._backlog.window
        waiting = self.machine._backlog.waiting()
        outstanding = self.machine._backlog.reader.outstanding
        ahead = [] if outstanding is None else outstanding.ahead
        ids = [d.id for d in (*waiting, *ahead, *self.in_flight.values())]
        ids += list(self.machine.uncommitted)
        assert len(ids) == len(set(ids)), "held twice"
        assert len(ids) == window.held
        low = self.machine.low_seq()
        told = {delivery.id for delivery in self.unannounced}
        for row in self.store.open.values():
            if row.seq < low and row.delivery.id not in told:
                ordered = self.config.ordering is not Ordering.NONE
                assert row.status is not DeliveryStatus.PENDING, "low_seq is too high"
                relaned = self.config.ordering is not self.machine._backlog.ordering
                assert relaned or not ordered or row.status is not DeliveryStatus.RETRYING

    # --- inside

    def _lane(self, delivery: Delivery) -> str | None:
        if self.config.ordering is Ordering.STRICT:
            return "all"
        return delivery.lane if self.config.ordering is Ordering.KEY else None

    def _fill_bucket(self) -> None:
        rate = self.config.rate_per_second
        self.tokens, self.tokens_at = (0.0 if rate is None else max(1.0, rate)), self.now

    def _level(self) -> float:
        rate = self.config.rate_per_second or 0.0
        passed = max(0.0, self.now - self.tokens_at)
        return min(max(1.0, rate), self.tokens + passed * rate)

    def _lose(self) -> None:
        self.in_flight.clear()
        self.recording.clear()
        self.durable.clear()
        self.unannounced.clear()
        self.reading = self.answer = None

    def _succeed(self, snapshot: bytes | None) -> None:
        self.reading = self.answer = None
        self.cancelled.clear()  # callers must ask again
        self.ordered.clear()
        self.snapshot = snapshot
        self.wake_at = None
        self.machine = DestinationMachine(self.config, self.limits, self.now, self.chance, snapshot)
        retrying = [
            row for row in self.store.open.values() if row.status is DeliveryStatus.RETRYING
        ]
        low = min([self.mark, *(row.seq for row in retrying)])
        self.unannounced.clear()  # the new machine reads them from the store
        dues = [row.next_attempt_at for row in retrying if row.next_attempt_at is not None]
        self.machine.restore(
            low, self.store.last_seqs, len(self.store.open), min(dues, default=None)
        )


def is_correction(settlement: Settlement) -> bool:
    return settlement.status is DeliveryStatus.RETRYING and settlement.attempt is None


OUTCOMES: dict[str, Callable[[float], Outcome]] = {
    "success": a_success,
    "skip": a_skip,
    "failure": a_failure,
    "timeout": lambda now: a_failure(now, ErrorCategory.TIMEOUT, status=None),
    "transform": lambda now: a_failure(now, ErrorCategory.TRANSFORM, status=None),
    "busy": lambda now: a_failure(now, ErrorCategory.RATE_LIMITED, status=429, retry_after_s=7.0),
    "gone": a_410,
}


def a_world(
    ordering: Ordering, deliveries: int, chance: Callable[[], float], **changes: object
) -> World:
    return World(
        a_destination(ordering=ordering, **changes), MemoryLimits(deliveries, 10_000), chance
    )
