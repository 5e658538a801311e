"""A world for the actors: a store in memory, and a fake sender whose outcomes the tests choose. Both use
a mock clock."""

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
from msgspec import Struct

from engine.actors.attempts import Attempts
from engine.actors.directory import Directory
from engine.actors.dispatcher import Dispatcher
from engine.actors.memory import memory_of
from engine.actors.waker import Waker
from engine.core.destination import Destination, Target
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import (
    CLASS_OF_PRIORITY,
    DeliveryClass,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    ErrorCategory,
    Priority,
)
from engine.ports import BacklogRow, ReadBack, SettleGroup, StoreAwayError, Transmission
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from engine.runtime.clock import Clock
from engine.runtime.timers import Timers
from engine.runtime.wake import Wake
from engine.settings import Settings

WAITING = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)
OK = Outcome(started_at=0.0, duration_ms=1, success=True, status=200)


class Row(Struct):
    """A delivery in the store."""

    delivery: Delivery  # readers get copies
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = 0
    next_attempt_at: float | None = None
    dlq_status: DlqStatus | None = None
    error_category: ErrorCategory | None = None


class FakeStore:
    """A fake of PostgreSQL for the actors. It keeps the rows of BacklogStore and SettleStore in
    dictionaries."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.queues: dict[str, list[Row]] = {}  # by destination, in seq order
        self.backlog_rows: dict[str, BacklogRow] = {}
        self.snapshots: dict[str, bytes] = {}
        self.attempts: dict[tuple[str, int], Outcome] = {}
        self.settled: list[Settlement] = []
        self.calls: Counter[str] = Counter()
        self.sequence = 0
        self.away = False
        self.latency_s = 0.001
        self.held: trio.Event | None = None  # settle waits for it

    async def _answer(self, name: str) -> None:
        self.calls[name] += 1
        await trio.sleep(self.latency_s)
        if self.away:
            raise StoreAwayError

    # --- what the intake writes

    def insert(self, deliveries: Iterable[Delivery]) -> None:
        for delivery in deliveries:
            row = self.rows[delivery.id] = Row(copy_of(delivery))
            self.queues.setdefault(delivery.destination, []).append(row)

    def requeue(self, identifier: str, seq: int) -> Delivery:
        """Take a delivery out of the DLQ, with a later seq and a fresh schedule."""
        row = self.rows[identifier]
        assert (row.status, row.dlq_status) == (DeliveryStatus.FAILED, DlqStatus.IN_DLQ)
        delivery = row.delivery = copy_of(row.delivery)
        delivery.seq, delivery.schedule_start = seq, row.attempts
        row.status, row.dlq_status = DeliveryStatus.PENDING, DlqStatus.RETRIED_FROM_DLQ
        queue = self.queues[delivery.destination]
        queue.remove(row)
        queue.append(row)
        return self._read(row)

    def of(self, destination: str) -> list[Row]:
        return self.queues.get(destination, [])

    def unsettled(self, destination: str) -> list[Row]:
        return [row for row in self.of(destination) if row.status in WAITING]

    # --- SettleStore

    async def settle(self, group: SettleGroup) -> None:
        """Write a group, with the same guards as the SQL statement."""
        self.calls["settle"] += 1
        await trio.sleep(self.latency_s)
        if self.held is not None:
            await self.held.wait()
        if self.away:
            raise StoreAwayError
        for settlement in group.settlements:
            self._settle(settlement)
        for mark in group.marks:
            row = self.backlog_rows.get(mark.destination)
            if row is not None:
                low = max(row.low_seq, mark.low_seq)
                self.backlog_rows[mark.destination] = BacklogRow(
                    row.environment, row.destination, low, mark.next_due_at_ms
                )
        for write in group.snapshots:
            self.snapshots[write.destination] = write.state

    def _settle(self, settlement: Settlement) -> None:
        row = self.rows[settlement.delivery.id]
        if settlement.attempt is not None:
            key = (settlement.delivery.id, settlement.attempt.number)
            assert key not in self.attempts, f"attempt {key} is recorded twice"
            self.attempts[key] = settlement.attempt.outcome
        assert row.attempts == settlement.expects, "the row is not as expected"
        assert row.delivery.seq == settlement.delivery.seq, "a settlement of a former life"
        dead = row.status is DeliveryStatus.FAILED and row.dlq_status is DlqStatus.IN_DLQ
        assert row.status in WAITING or dead, f"a {row.status.name} delivery is settled again"
        row.status = settlement.status
        row.attempts += settlement.attempt is not None
        row.next_attempt_at = settlement.next_attempt_at
        row.dlq_status = settlement.dlq_status
        row.error_category = settlement.error_category
        self.settled.append(settlement)

    # --- BacklogStore

    async def backlog(self, shards: Sequence[int]) -> list[BacklogRow]:
        await self._answer("backlog")
        return list(self.backlog_rows.values())

    async def due_destinations(self, before_ms: int, limit: int) -> list[BacklogRow]:
        await self._answer("due_destinations")
        due = [
            row
            for row in self.backlog_rows.values()
            if row.next_due_at_ms is not None and row.next_due_at_ms < before_ms
        ]
        return sorted(due, key=lambda row: row.next_due_at_ms or 0)[:limit]

    async def read_queue(
        self,
        environment: int,
        destination: str,
        classes: Sequence[DeliveryClass],
        after: int,
        limit: int,
        max_bytes: int,
        *,
        ordered: bool,
        skip_lanes: Sequence[str] = (),
        only_lane: str | None = None,
    ) -> ReadBack:
        await self._answer("read_queue")
        taken: list[Delivery] = []
        skipped: dict[str, int] = {}
        size, through = 0, after
        for row in self.of(destination):
            delivery = row.delivery
            if delivery.seq <= after or delivery.queue not in classes:
                continue
            if row.status not in (WAITING if ordered else WAITING[:1]):
                through = delivery.seq
                continue
            if only_lane is not None and delivery.lane != only_lane:
                continue
            if delivery.lane is not None and delivery.lane in skip_lanes:
                skipped.setdefault(delivery.lane, delivery.seq)
                through = delivery.seq
                continue
            if len(taken) >= limit or (taken and size >= max_bytes):
                return ReadBack(taken, through, skipped, end=False)
            taken.append(self._read(row))
            size += len(delivery.event.payload)
            through = delivery.seq
        return ReadBack(taken, through, skipped, end=True)

    def _read(self, row: Row) -> Delivery:
        delivery = copy_of(row.delivery)
        delivery.attempt_count = row.attempts
        delivery.next_attempt_at = row.next_attempt_at
        delivery.dlq_status = row.dlq_status
        return delivery

    async def read_due(
        self, environment: int, destination: str, before_ms: int, limit: int, after_ms: int = -1
    ) -> list[Delivery]:
        await self._answer("read_due")
        due = [
            (row.next_attempt_at, row)
            for row in self.of(destination)
            if row.status is DeliveryStatus.RETRYING
            and row.next_attempt_at is not None
            and after_ms < row.next_attempt_at * 1000 < before_ms
        ]
        due.sort(key=lambda pair: pair[0])
        return [self._read(row) for _, row in due[:limit]]

    async def first_retry(
        self, environment: int, destination: str
    ) -> tuple[int | None, int | None]:
        await self._answer("first_retry")
        rows = [row for row in self.of(destination) if row.status is DeliveryStatus.RETRYING]
        if not rows:
            return None, None
        due = min(row.next_attempt_at or 0.0 for row in rows)
        return min(row.delivery.seq for row in rows), int(due * 1000)

    async def count_waiting(self, environment: int, destination: str, from_seq: int) -> int:
        await self._answer("count_waiting")
        return sum(
            row.status is DeliveryStatus.RETRYING
            or (row.status is DeliveryStatus.PENDING and row.delivery.seq >= from_seq)
            for row in self.of(destination)
        )

    async def last_seqs(self, environment: int, destination: str) -> dict[int, int]:
        await self._answer("last_seqs")
        last: dict[int, int] = {}
        for row in self.of(destination):
            last[row.delivery.queue] = row.delivery.seq
        return last

    async def read_dead(self, environment: int, destination: str, limit: int) -> list[Delivery]:
        await self._answer("read_dead")
        dead = [row for row in self.of(destination) if row.dlq_status is DlqStatus.IN_DLQ]
        return [self._read(row) for row in dead[:limit]]

    async def read_named(
        self, environment: int, destination: str, deliveries: Sequence[str]
    ) -> list[Delivery]:
        await self._answer("read_named")
        return [
            self._read(row)
            for row in self.of(destination)
            if row.delivery.id in deliveries
            and row.status in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)
        ]

    async def read_snapshots(self, actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
        await self._answer("read_snapshots")
        return [self.snapshots.get(destination) for _, destination in actors]


class FakeSender:
    """A fake of the sender. `behave` returns the delay and the outcome of an attempt, or None for an
    attempt that never ends."""

    def __init__(self, timers: Timers, clock: Clock) -> None:
        self._timers = timers
        self._clock = clock
        self.sent: list[tuple[float, Transmission]] = []
        self.open: dict[str, Callable[[Outcome], None]] = {}
        self.whose: dict[str, str] = {}  # by delivery: the destination of its open attempt
        self.forgotten: list[str] = []
        self.most_open = 0
        self.behave: Callable[[Transmission], tuple[float, Outcome] | None] = lambda _: (0.01, OK)

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        identifier = transmission.delivery.id
        assert identifier not in self.open, "a delivery is sent twice at once"
        assert transmission.number == transmission.delivery.attempt_count + 1
        now = self._clock.now()
        self.sent.append((now, transmission))
        self.open[identifier] = done
        self.whose[identifier] = transmission.delivery.destination
        self.most_open = max(self.most_open, len(self.open))
        behaviour = self.behave(transmission)
        if behaviour is not None:
            delay_s, outcome = behaviour
            self._timers.call_later(delay_s, lambda: self.answer(identifier, outcome))

    def forget(self, destination: str) -> None:
        """An actor that leaves memory must have no attempts under way."""
        assert destination not in self.whose.values()
        self.forgotten.append(destination)

    def answer(self, identifier: str, outcome: Outcome) -> None:
        del self.whose[identifier]
        self.open.pop(identifier)(
            Outcome(
                started_at=self._clock.now(),
                duration_ms=10,
                success=outcome.success,
                status=outcome.status,
                category=outcome.category,
                retry_after_s=outcome.retry_after_s,
            )
        )

    def payloads(self) -> list[bytes]:
        return [transmission.delivery.event.payload for _, transmission in self.sent]


class Nudges(Wake):
    count = 0

    def set(self) -> None:
        self.count += 1


class World:
    """One process's actors with everything that they need."""

    def __init__(
        self,
        *,
        seed: int = 0,
        max_in_flight: int = 1_000,
        make_machine: Callable[..., DestinationMachine] = DestinationMachine,
        store: FakeStore | None = None,
        dispatcher: Dispatcher | None = None,
        **settings: object,
    ) -> None:
        self.random = random.Random(seed)
        self.settings = Settings.model_validate(settings)
        self.errors: list[Exception] = []
        self.clock = Clock()
        self.timers = Timers(self.errors.append)
        self.store = store or FakeStore()
        self.outcomes = OutcomeQueue(self.settings.settle_group)
        attempts = Attempts(max_in_flight, self.outcomes.holds)
        self.recorder = Recorder(
            self.store, self.outcomes, self.clock.now, relieved=attempts.pass_on
        )
        self.sender = FakeSender(self.timers, self.clock)
        self.destinations: dict[str, Destination] = {}
        self.gone: list[Destination] = []
        self.disables = False  # the world disables destinations that are gone
        self.forgettable = Nudges()
        self.made = self.requeued = 0
        self._intake = trio.Lock()
        self.directory = Directory(
            settings=self.settings,
            find=self.destinations.get,
            now=self.clock.now,
            timers=self.timers,
            sender=self.sender,
            recorder=self.recorder,
            store=self.store,
            attempts=attempts,
            memory=memory_of(self.settings),
            forgettable=self.forgettable,
            gone=self._gone,
            jitter=self.random.random,
            make_machine=make_machine,
            dispatcher=dispatcher,
        )
        self.waker = Waker(self.directory, self.store, self.clock, self.settings.passivate_after)

    def _gone(self, gone: Destination, quiet: bool, overdue: bool) -> None:
        self.gone.append(gone)
        if self.disables:
            self.change(gone.id, status=DestinationStatus.DISABLED)

    def start(self, nursery: trio.Nursery) -> None:
        for run in (
            self.timers.run,
            self.recorder.run,
            self.directory.readers.run,
            self.directory.dispatcher.run,
            self.waker.run,
        ):
            nursery.start_soon(run)

    # --- the control plane

    def destination(self, number: int = 1, **changes: object) -> str:
        values: dict[str, object] = {
            "id": f"00000000-0000-7000-8000-{number:012x}",
            "environment": 1,
            "workspace": "w",
            "version": 1,
            "status": DestinationStatus.ACTIVE,
            "name": str(number),
            "url": "http://127.0.0.1/",
            "target": Target(tls=False, host="127.0.0.1", port=80, authority=b"h", path=b"/"),
            **changes,
        }
        destination = Destination(**values)  # type: ignore[arg-type]  # a table of overrides
        self.destinations[destination.id] = destination
        return destination.id

    def change(self, destination: str, **changes: object) -> None:
        """Commit a new version of a destination and tell the directory."""
        old = self.destinations[destination]
        values = {name: getattr(old, name) for name in old.__struct_fields__}
        new = Destination(**{**values, "version": old.version + 1, **changes})
        self.destinations[destination] = new
        self.directory.configure(new)

    # --- the intake

    def accept(
        self, destination: str, count: int = 1, *, told: bool = True, **fields: Any
    ) -> list[Delivery]:
        deliveries = [self.delivery(destination, **fields) for _ in range(count)]
        self.commit(deliveries, told=told)
        return deliveries

    def commit(self, deliveries: list[Delivery], *, told: bool = True) -> None:
        """Commit a group at once."""
        self._write(deliveries, self._fresh(deliveries))
        if told:
            self.directory.arrived(deliveries)

    async def commit_slowly(self, deliveries: list[Delivery]) -> None:
        """Commit a group and then tell the directory, with the store's latency before each step. Then
        delete spare backlog rows, as the intake does between two groups."""
        async with self._intake:
            fresh = self._fresh(deliveries)
            await trio.sleep(self.store.latency_s)
            self._write(deliveries, fresh)
            await trio.sleep(self.store.latency_s)
            self.directory.arrived(deliveries)
            rows = self.directory.take_forgettable()
            await trio.sleep(self.store.latency_s)
            for _, destination in rows:
                self.store.backlog_rows.pop(destination, None)

    async def requeue_slowly(self, chance: random.Random) -> None:
        """Requeue a random dead delivery, if there is one. The lock `_intake` prevents that a group is
        committed at the same time. The real intake does not commit a group then, either."""
        async with self._intake:
            dead = [
                row.delivery
                for row in self.store.rows.values()
                if row.dlq_status is DlqStatus.IN_DLQ
            ]
            if not dead:
                return
            chosen = chance.choice(dead)
            fresh = self._fresh([chosen])
            await trio.sleep(self.store.latency_s)
            base = self._base()
            self._mark_dirty(fresh, base)
            self.store.sequence = base + 1
            back = self.store.requeue(chosen.id, base + 1)
            self.requeued += 1
            await trio.sleep(chance.choice([0, self.store.latency_s, 3 * self.store.latency_s]))
            self.directory.arrived([back])

    def _fresh(self, deliveries: list[Delivery]) -> set[str]:
        return {each.destination for each in deliveries} - self.directory.dirty

    def _write(self, deliveries: list[Delivery], fresh: set[str]) -> None:
        """Write what the intake's SQL statement writes: the deliveries, and backlog rows for the `fresh`
        destinations. A fresh destination has no backlog row that the directory knows of."""
        base = self._base()
        for seq, delivery in enumerate(deliveries, base + 1):
            delivery.seq = self.store.sequence = seq
        self._mark_dirty(fresh, base)
        self.store.insert(deliveries)

    def _base(self) -> int:
        self.store.sequence = (self.store.sequence // 1_000 + 1) * 1_000
        return self.store.sequence

    def _mark_dirty(self, fresh: set[str], base: int) -> None:
        for destination in sorted(fresh):
            known = self.store.backlog_rows.get(destination)
            low = base if known is None else min(known.low_seq, base)
            due = None if known is None else known.next_due_at_ms
            self.store.backlog_rows[destination] = BacklogRow(1, destination, low, due)

    def delivery(
        self,
        destination: str,
        *,
        priority: Priority = Priority.STANDARD,
        customer: str | None = None,
        payload: bytes | None = None,
    ) -> Delivery:
        """Make a delivery. By default, its payload is the number of deliveries made before."""
        number, self.made = self.made, self.made + 1
        stamp = f"{int(self.clock.now() * 1000):012x}"
        event = Event(
            id=f"{stamp[:8]}-{stamp[8:]}-7000-8000-{number:09x}000",
            environment=1,
            type="t",
            occurred_at_ms=0,
            payload=b"%d" % number if payload is None else payload,
            customer=customer,
        )
        return Delivery(
            id=event.id[:-1] + "1",
            event=event,
            destination=destination,
            queue=CLASS_OF_PRIORITY[priority],
            lane=event.lane,
            priority=priority,
        )

    def forget(self) -> list[str]:
        """Delete spare backlog rows. Return their destinations."""
        rows = self.directory.take_forgettable()
        for _, destination in rows:
            self.store.backlog_rows.pop(destination, None)
        return [destination for _, destination in rows]

    # --- checks

    def check_backlog(self) -> None:
        """Check that each destination with an unsettled delivery has a backlog row, and that no pending
        delivery's seq is below the row's `low_seq`."""
        for destination in self.destinations:
            unsettled = self.store.unsettled(destination)
            if unsettled:
                row = self.store.backlog_rows.get(destination)
                assert row is not None, "unsettled work without a backlog row"
                pending = [
                    each.delivery.seq for each in unsettled if each.status is DeliveryStatus.PENDING
                ]
                if pending:
                    assert row.low_seq <= min(pending)

    def statuses(self, destination: str) -> Counter[str]:
        return Counter(row.status.name for row in self.store.of(destination))

    async def settled(self, destination: str | None = None, most_step_s: float = 1.0) -> None:
        names = [destination] if destination else list(self.destinations)
        step_s = 0.01
        # This polls, because nothing signals the last settlement. In virtual time, polling costs little.
        while any(self.store.unsettled(name) for name in names):
            step_s = min(1.1 * step_s, most_step_s)
            await trio.sleep(step_s)
        await trio.sleep(0.05)


@asynccontextmanager
async def running(**options: object) -> AsyncIterator[World]:
    """Yield a running world. At the end, the test fails if a timer's callback raised an exception."""
    async with trio.open_nursery() as nursery:
        world = World(**options)  # type: ignore[arg-type]  # passed on as they are
        world.start(nursery)
        await world.directory.recover()
        world.store.calls.clear()
        yield world
        nursery.cancel_scope.cancel()
    assert not world.errors


def copy_of(delivery: Delivery) -> Delivery:
    """Return a copy of the delivery with the same event object."""
    values = {name: getattr(delivery, name) for name in delivery.__struct_fields__}
    return Delivery(**values)


def failure(status: int = 500, retry_after_s: float | None = None) -> Outcome:
    category = {
        410: ErrorCategory.DESTINATION_GONE,
        429: ErrorCategory.RATE_LIMITED,
    }.get(status, ErrorCategory.HTTP_5XX)
    return Outcome(
        started_at=0.0,
        duration_ms=10,
        success=False,
        status=status,
        category=category,
        retry_after_s=retry_after_s,
    )
