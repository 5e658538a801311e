"""Reads of waiting deliveries in the simulated database. Each read looks at a bounded number of rows."""

from collections.abc import Sequence
from itertools import islice

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, DeliveryTrouble, DestinationStatus
from engine.nodes.parts import WHOLE, WorkerPart
from engine.ports import BacklogRow, ReadBack
from tests.sim.store.connection import Pool
from tests.sim.store.stored import WAITING, StoredDelivery
from tests.sim.store.tables import Tables

_PENDING = frozenset({DeliveryStatus.PENDING})


class SimulatedBacklog:
    """The simulated `engine.ports.BacklogStore`."""

    def __init__(self, tables: Tables, pool: Pool, examined: int, part: WorkerPart = WHOLE) -> None:
        """`examined`: the number of rows that one read of a queue looks at. `part`: `backlog` returns
        only the rows of this part."""
        self._part = part
        self._tables = tables
        self._pool = pool
        self._examined = examined

    async def backlog(self, shards: Sequence[int]) -> list[BacklogRow]:
        wanted = frozenset(shards)

        def work() -> list[BacklogRow]:
            rows = self._tables.backlog.items()
            return [
                BacklogRow(*place, row.low_seq, row.due_ms)
                for place, row in rows
                if row.shard in wanted and self._tables.belongs(place[0], self._part)
            ]

        return await self._pool.read("backlog", work)

    async def due_destinations(self, before_ms: int, limit: int) -> list[BacklogRow]:
        def work() -> list[BacklogRow]:
            due = [
                (row.due_ms, place, row.low_seq)
                for place, row in self._tables.backlog.items()
                if row.due_ms is not None and row.due_ms < before_ms and self._looked_for(place)
            ]
            due.sort()
            return [BacklogRow(*place, low, at) for at, place, low in due[:limit]]

        return await self._pool.read("due destinations", work)

    def _looked_for(self, place: tuple[int, str]) -> bool:
        record = self._tables.destinations.get(place)
        disabled = record is not None and record.status is DestinationStatus.DISABLED
        return not disabled and self._tables.belongs(place[0], self._part)

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
        wanted = WAITING if ordered else _PENDING
        skipping = frozenset(skip_lanes) if only_lane is None else frozenset()
        classes = tuple(classes)

        def work() -> ReadBack:
            shelf = self._tables.shelf(environment, destination)
            examined = list(islice(shelf.queue(classes, after), self._examined))
            return self._stretch(examined, after, limit, max_bytes, wanted, skipping, only_lane)

        return await self._pool.read("read queue", work)

    def _stretch(
        self,
        examined: list[StoredDelivery],
        after: int,
        limit: int,
        max_bytes: int,
        wanted: frozenset[DeliveryStatus],
        skipping: frozenset[str],
        only_lane: str | None,
    ) -> ReadBack:
        waiting = [row for row in examined if row.status in wanted]
        matching = [
            row for row in waiting if row.lane not in skipping and only_lane in (None, row.lane)
        ]
        picked = matching[: max(limit, 1)]
        found: list[StoredDelivery] = []
        size = 0
        for row in picked:
            if size >= max_bytes:
                break
            found.append(row)
            size += self._tables.size_of(row)
        whole = len(found) == len(picked) < max(limit, 1)
        through = after
        if examined:
            through = (examined if whole else found)[-1].seq
        skipped: dict[str, int] = {}
        for row in waiting:
            if row.lane is not None and row.lane in skipping and row.seq <= through:
                skipped.setdefault(row.lane, row.seq)
        end = whole and len(examined) < self._examined
        return ReadBack(self._read(found), through, skipped, end)

    def _read(self, rows: Sequence[StoredDelivery]) -> list[Delivery]:
        read = map(self._tables.read, rows)
        return [each for each in read if each is not None]

    async def read_due(
        self, environment: int, destination: str, before_ms: int, limit: int, after_ms: int = -1
    ) -> list[Delivery]:
        def work() -> list[Delivery]:
            due = [
                (row.due_ms, row.id, row)
                for row in self._retrying(environment, destination)
                if row.due_ms is not None and after_ms < row.due_ms < before_ms
            ]
            due.sort(key=lambda each: each[:2])
            return self._read([row for _, _, row in due[:limit]])

        return await self._pool.read("read due", work)

    async def first_retry(
        self, environment: int, destination: str
    ) -> tuple[int | None, int | None]:
        def work() -> tuple[int | None, int | None]:
            rows = self._retrying(environment, destination)
            seqs = [row.seq for row in rows]
            due = [row.due_ms for row in rows if row.due_ms is not None]
            return min(seqs, default=None), min(due, default=None)

        return await self._pool.read("first retry", work)

    async def count_waiting(self, environment: int, destination: str, from_seq: int) -> int:
        def work() -> int:
            shelf = self._tables.shelf(environment, destination)
            queue = shelf.queue(list(DeliveryClass), from_seq - 1)
            pending = sum(row.status is DeliveryStatus.PENDING for row in queue)
            return pending + len(self._retrying(environment, destination))

        return await self._pool.read("count waiting", work)

    async def last_seqs(self, environment: int, destination: str) -> dict[int, int]:
        def work() -> dict[int, int]:
            shelf = self._tables.shelf(environment, destination)
            last = {int(each): shelf.last(each) for each in DeliveryClass}
            return {queue: seq for queue, seq in last.items() if seq is not None}

        return await self._pool.read("last seqs", work)

    async def read_dead(self, environment: int, destination: str, limit: int) -> list[Delivery]:
        def work() -> list[Delivery]:
            dead = self._tables.shelf(environment, destination).troubled(DeliveryTrouble.DEAD)
            return self._read(dead[:limit])

        return await self._pool.read("read dead", work)

    async def read_named(
        self, environment: int, destination: str, deliveries: Sequence[str]
    ) -> list[Delivery]:
        def work() -> list[Delivery]:
            rows = (self._tables.deliveries.get((environment, each)) for each in deliveries)
            return self._read(
                [
                    row
                    for row in rows
                    if row is not None and row.destination == destination and row.status in WAITING
                ]
            )

        return await self._pool.read("read named", work)

    async def read_snapshots(self, actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
        def work() -> list[bytes | None]:
            return [self._tables.snapshots.get(each) for each in actors]

        return await self._pool.read("read snapshots", work)

    def _retrying(self, environment: int, destination: str) -> list[StoredDelivery]:
        return self._tables.shelf(environment, destination).troubled(DeliveryTrouble.RETRYING)
