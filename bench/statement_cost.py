"""The cost of the accept and settle statements alone. This process runs the statements on its own
database.

Each line of JSON on stdin asks for a measurement, and a line of JSON on stdout is the result.
`bench.statements` starts this file by its path, so that Python imports `engine` and `storage` from the
source tree in PYTHONPATH.
"""

import json
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import structlog
import trio

from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import DeliveryClass, DeliveryStatus
from engine.model.identity import Identity, delivery_id, shard_of
from engine.ports import DirtyDestination, IntakeGroup, SettleGroup
from engine.recording.group import build_group
from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.profiles import INTAKE, SETTLE, UPKEEP
from storage.embedded.server import EmbeddedServer
from storage.intake.store import PostgresIntake
from storage.log.partitions import make_partitions
from storage.migrations.migrate import migrate
from storage.ownership import Ownership
from storage.recording.settle import PostgresSettle

ENVIRONMENT = 1
_LOG = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"  # bytes of write-ahead log
# Like the load generator's events and the receiver's answers.
PAYLOAD = b'{"n":%d,"sentAt":1760000000.123456,"note":"' + b"x" * 250 + b'"}'
HEADERS = ((b"content-type", b"text/plain"), (b"content-length", b"2"))
BODY = b"ok"
ENVIRONMENTS = 20  # an environment has at most 1,000 rules
# The number of outcomes that each destination gets in a minute. The first outcome creates a row of
# counters for the minute, and the second outcome updates the row.
OUTCOMES_A_MINUTE = 2


class Spent:
    """The CPU seconds of one kind of statement, in this process and in the PostgreSQL backend."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.client = 0.0
        self._began = self._backend_s()

    async def on(self, statement: Awaitable[Any]) -> Any:
        """Run a statement, and count its CPU."""
        began = time.thread_time()
        answer = await statement
        self.client += time.thread_time() - began
        return answer

    def gather(self, deliveries: list[Delivery], minute: int) -> SettleGroup:
        """Return a group of successful outcomes with a time `minute` minutes from now. The CPU for making
        the group counts too. The reason is that another source tree can leave a part of this work to the
        settle statement, and the costs of both trees must be comparable."""
        settlements = [_success(each, time.time() + 60 * minute) for each in deliveries]
        began = time.thread_time()
        group = build_group(settlements, [], [])
        self.client += time.thread_time() - began
        return group

    def micros(self, rows: int) -> dict[str, float]:
        """Return the microseconds for each of `rows` rows."""
        database = self._backend_s() - self._began
        return {"client": self.client / rows * 1e6, "database": database / rows * 1e6}

    def _backend_s(self) -> float:
        """Return the backend's CPU seconds from /proc/PID/schedstat, which counts nanoseconds. The file
        /proc/PID/stat counts only ticks of 10 ms."""
        spent = Path(f"/proc/{self._connection.backend}/schedstat").read_text("ascii")
        return int(spent.split()[0]) / 1e9


class Statements:
    """The stores of the intake and of the recorder, and the groups that these stores write. The database
    connections have the same profiles as in the server."""

    def __init__(self, bridge: Bridge) -> None:
        self._upkeep = bridge.connection(UPKEEP)
        self._identity = Identity()
        self._known: set[str] = set()
        self._ownership = Ownership()
        self._for_intake = bridge.connection(INTAKE, self._ownership.renew_intake)
        self._for_settle = bridge.connection(SETTLE, self._ownership.renew_settle)
        self._intake = PostgresIntake(self._for_intake, self._ownership)
        self._settle = PostgresSettle(self._for_settle, self._ownership)
        self._destinations = [self._identity.other() for _ in range(1_000)]
        self._many: list[str] = []
        self._made = 0  # deliveries to the many destinations

    async def open(self) -> None:
        """Create the tables and take their ownership."""
        await migrate(self._upkeep)
        await make_partitions(self._upkeep, time.time_ns() // 1_000_000)
        await self._ownership.take(self._upkeep)
        await self._for_intake.ensure()
        await self._for_settle.ensure()

    async def measure(
        self, size: int, groups: int, fan_out: int = 1, destinations: int = 0
    ) -> dict[str, Any]:
        """Accept `groups` groups of `size` deliveries and settle each group. Return the CPU and the
        write-ahead log of one delivery.

        With `destinations`, the deliveries rotate among that number of destinations, which belong to
        several environments.
        """
        if destinations > len(self._many):
            self._many = [self._identity.other() for _ in range(destinations)]
        log = await self._upkeep.fetch_value(_LOG)
        accepting, settling = Spent(self._for_intake), Spent(self._for_settle)
        for _ in range(groups):
            minute = 0
            if destinations:
                minute = self._made // destinations // OUTCOMES_A_MINUTE
                group = self._group_of_many(size)
            else:
                group = self._group(size, fan_out)
            accepted = await accepting.on(self._intake.accept(group))
            for seq, delivery in enumerate(group.deliveries, accepted.base):
                delivery.seq = seq
            outcomes = settling.gather(group.deliveries, minute)
            outcomes.now_ms = group.now_ms
            await settling.on(self._settle.settle(outcomes))
        rows = size * groups
        log = await self._upkeep.fetch_value(_LOG) - log
        return {
            "accept": accepting.micros(rows),
            "settle": settling.micros(rows),
            "logBytes": round(log / rows),
        }

    def _group(self, size: int, fan_out: int) -> IntakeGroup:
        now_ms = time.time_ns() // 1_000_000
        events = [self._event(ENVIRONMENT, now_ms, number) for number in range(size // fan_out)]
        destinations = self._destinations[:fan_out]
        deliveries = [
            Delivery(delivery_id(event.id, place), event, destination, DeliveryClass.STANDARD)
            for event in events
            for place, destination in enumerate(destinations, 1)
        ]
        return self._whole(events, deliveries, now_ms)

    def _group_of_many(self, size: int) -> IntakeGroup:
        now_ms = time.time_ns() // 1_000_000
        events: list[Event] = []
        deliveries: list[Delivery] = []
        for number in range(size):
            place = self._made % len(self._many)
            self._made += 1
            event = self._event(place % ENVIRONMENTS + 1, now_ms, number)
            events.append(event)
            deliveries.append(
                Delivery(delivery_id(event.id, 1), event, self._many[place], DeliveryClass.STANDARD)
            )
        return self._whole(events, deliveries, now_ms)

    def _event(self, environment: int, now_ms: int, number: int) -> Event:
        return Event(self._identity.event(), environment, "bench.event", now_ms, PAYLOAD % number)

    def _whole(self, events: list[Event], deliveries: list[Delivery], now_ms: int) -> IntakeGroup:
        """The group lists the destinations that no earlier group had."""
        new = {each.destination: each.event.environment for each in deliveries}
        dirty = [
            DirtyDestination(environment, each, shard_of(each))
            for each, environment in new.items()
            if each not in self._known
        ]
        self._known.update(new)
        return IntakeGroup(events, deliveries, [], [], dirty, now_ms)


def _success(delivery: Delivery, at: float) -> Settlement:
    outcome = Outcome(at, 3, True, 200, HEADERS, BODY)
    attempt = Attempt(1, outcome, destination_version=1)
    return Settlement(delivery, DeliveryStatus.DELIVERED, attempt, 0, response_status=200, at=at)


async def serve(url: str) -> None:
    """Make the measurement of each line on stdin."""
    async with open_bridge(url) as bridge:
        statements = Statements(bridge)
        await statements.open()
        async for line in trio.wrap_file(sys.stdin):
            print(json.dumps(await statements.measure(**json.loads(line))), flush=True)


if __name__ == "__main__":
    # stdout is for answers.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    with (
        tempfile.TemporaryDirectory(prefix="angarium-statements-") as folder,
        EmbeddedServer(Path(folder) / "data") as server,
    ):
        trio.run(serve, server.url)
