"""The two databases under test, PostgreSQL and the simulated one. A process uses a database through its
stores. A test can break the connections."""

from typing import Any, Protocol

from msgspec import Struct

from engine.control.ports import DestinationStore, RuleStore
from engine.nodes.parts import WHOLE, WorkerPart
from engine.ports import BacklogStore, IntakeStore, SettleStore
from engine.recording.requeue import DeadLetterStore, RequeueStore
from engine.replay.ports import JobStore, ReplayStore
from engine.submission.key_lookup import ClaimReader
from storage.backlog.reading import BACKLOG, PostgresBacklog
from storage.configuration.store import ConfigurationTables
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.profiles import INTAKE, SETTLE, UPKEEP
from storage.dead_letters.reading import PostgresDeadLetters
from storage.dead_letters.requeue import PostgresRequeue
from storage.encryption.secretbox import SecretBox
from storage.intake.large import PostgresLargeIntake
from storage.intake.store import PostgresClaims, PostgresIntake
from storage.ownership import Ownership
from storage.recording.settle import PostgresSettle
from storage.replays.jobs import PostgresJobs
from storage.replays.running import REPLAYING, PostgresReplays
from tests.sim.conformance.dump import Dump, dump_of_postgres, dump_of_tables
from tests.sim.gateway import Direct
from tests.sim.store import Database, Stores
from tests.sim.store.intake import SimulatedIntake
from tests.sim.store.settle import SimulatedSettle

BOX = SecretBox([b"k" * 32])


class Ports(Struct):
    """Every port of one process."""

    intake: IntakeStore
    large: IntakeStore
    settle: SettleStore
    backlog: BacklogStore
    requeue: RequeueStore
    dead: DeadLetterStore
    jobs: JobStore
    replays: ReplayStore
    destinations: DestinationStore
    rules: RuleStore
    claims: ClaimReader
    configuration: Any  # only `tenants.create` and `load` are used


class Side(Protocol):
    """One of the two databases. `ports` are the stores of the newest process, which took over the
    database last. `former` are the stores of the process before it, or None."""

    name: str
    ports: Ports
    former: Ports | None

    async def take(self, part: WorkerPart = WHOLE) -> None:
        """Begin a new process, which takes over `part` (by default the whole database). From then on,
        `ports` are the stores of the new process."""

    def lose(self, purpose: str) -> None:
        """Break one of the newest process's connections. `purpose` names it: intake, large or settle."""

    async def remove_event(self, environment: int, event: str) -> None:
        """Remove an event and leave its deliveries."""

    async def dump(self) -> Dump:
        """Return all rows."""


class Simulated:
    name = "simulated"
    ports: Ports

    def __init__(self, database: Database) -> None:
        self.database = database
        self.former: Ports | None = None
        self._processes = 0
        self._stores: Stores | None = None

    async def take(self, part: WorkerPart = WHOLE) -> None:
        self.former = self.ports if self._processes else None
        self._processes += 1
        stores = self._stores = self.database.connect(self._processes, Direct(), part)
        await stores.take()
        self.ports = Ports(
            stores.intake,
            stores.large_intake,
            stores.settle,
            stores.backlog,
            stores.requeue,
            stores.dead,
            stores.jobs,
            stores.replays,
            stores.destinations,
            stores.rules,
            stores.claims,
            stores.configuration,
        )

    def lose(self, purpose: str) -> None:
        assert self._stores is not None
        stores = self._stores
        purposes: dict[str, SimulatedIntake | SimulatedSettle] = {
            "intake": stores.intake,
            "large": stores.large_intake,
            "settle": stores.settle,
        }
        purposes[purpose].connection.connected = False

    async def remove_event(self, environment: int, event: str) -> None:
        self.database.remove_event(environment, event)

    async def dump(self) -> Dump:
        return dump_of_tables(self.database.tables)


class Postgres:
    """The real database. All processes of a test read through the same connection pools. This is
    possible because a read does not state which process makes it."""

    name = "postgres"
    ports: Ports

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.former: Ports | None = None
        self._hot: dict[str, Connection] = {}
        self._reading = bridge.make_pool(BACKLOG, 1)
        self._replaying = bridge.make_pool(REPLAYING, 1)
        self._upkeep = bridge.connection(UPKEEP)

    async def take(self, part: WorkerPart = WHOLE) -> None:
        bridge, ownership = self.bridge, Ownership(part=part)
        self.former = self.ports if self._hot else None
        await ownership.take(self._upkeep)
        intake = bridge.connection(INTAKE, ownership.renew_intake)
        settle = bridge.connection(SETTLE, ownership.renew_settle)
        large = bridge.connection(INTAKE, ownership.renew_intake)
        self._hot = {"intake": intake, "large": large, "settle": settle}
        tables = ConfigurationTables(bridge.pool, BOX)
        self.ports = Ports(
            PostgresIntake(intake, ownership),
            PostgresLargeIntake(large, ownership),
            PostgresSettle(settle, ownership),
            PostgresBacklog(self._reading, part),
            PostgresRequeue(intake, ownership),
            PostgresDeadLetters(bridge.pool),
            PostgresJobs(bridge.pool),
            PostgresReplays(self._replaying, intake, ownership),
            tables.destinations,
            tables.rules,
            PostgresClaims(bridge.pool),
            tables,
        )

    def lose(self, purpose: str) -> None:
        raw = self._hot[purpose]._raw
        if raw is not None:
            raw.terminate()

    async def remove_event(self, environment: int, event: str) -> None:
        await self.bridge.pool.fetch(
            "DELETE FROM events WHERE environment = $1 AND id = $2::uuid", environment, event
        )

    async def dump(self) -> Dump:
        return await dump_of_postgres(self.bridge.pool)
