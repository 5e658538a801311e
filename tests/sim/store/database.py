"""The simulated database, and the stores that one process has over it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.nodes.parts import WHOLE, WorkerPart
from tests.sim.gateway import Gateway
from tests.sim.store.backlog import SimulatedBacklog
from tests.sim.store.configuration import SimulatedClaims, SimulatedConfiguration
from tests.sim.store.connection import HotConnection, Ownership, Pool
from tests.sim.store.dead import SimulatedDeadLetters
from tests.sim.store.destinations import SimulatedDestinations
from tests.sim.store.ending import ending, mark_of
from tests.sim.store.intake import SimulatedIntake
from tests.sim.store.jobs import SimulatedJobs
from tests.sim.store.large_intake import SimulatedLargeIntake
from tests.sim.store.log import SimulatedLog
from tests.sim.store.replays import SimulatedReplays
from tests.sim.store.requeue import SimulatedRequeue
from tests.sim.store.rules import SimulatedRules
from tests.sim.store.settle import SimulatedSettle
from tests.sim.store.tables import Tables
from tests.sim.trace import Rows


@dataclass(frozen=True, slots=True)
class Looks:
    """For each kind of read, the number of rows that one read looks at. If the numbers are low, many
    reads are needed even for a short queue."""

    queue: int = 5_000
    dead: int = 2_000
    dead_counted: int = 20_000
    replays: int = 2_000


@dataclass(frozen=True, slots=True)
class Stores:
    """One process's access to the database: its right to write, and a store for each port."""

    ownership: Ownership
    intake: SimulatedIntake
    large_intake: SimulatedLargeIntake
    settle: SimulatedSettle
    backlog: SimulatedBacklog
    requeue: SimulatedRequeue
    dead: SimulatedDeadLetters
    jobs: SimulatedJobs
    replays: SimulatedReplays
    destinations: SimulatedDestinations
    rules: SimulatedRules
    configuration: SimulatedConfiguration
    claims: SimulatedClaims
    log: SimulatedLog

    async def take(self) -> int:
        return await self.ownership.take()


class Database:
    """The durable state, which outlives every process. `tables`: the rows, which tests can read."""

    def __init__(self, now: Callable[[], float] = time.time, looks: Looks | None = None) -> None:
        """`now`: the database's own clock. A requeue or a discard stores the time of this clock as the
        time of the change."""
        self.tables = Tables(now)
        self._looks = looks or Looks()

    def connect(self, process: int, gateway: Gateway, part: WorkerPart = WHOLE) -> Stores:
        """Return the stores of a new process, which does not own the database yet and can take over
        `part`. A process connects only once."""
        tables, looks = self.tables, self._looks
        ownership = Ownership(tables, process, gateway, part)
        intake = HotConnection(gateway, ownership, "intake")
        settle = HotConnection(gateway, ownership, "settle")
        pool = Pool(gateway)
        configuration = SimulatedConfiguration(tables, pool)
        return Stores(
            ownership,
            SimulatedIntake(tables, intake),
            SimulatedLargeIntake(tables, HotConnection(gateway, ownership, "intake")),
            SimulatedSettle(tables, settle),
            SimulatedBacklog(tables, pool, looks.queue, part),
            SimulatedRequeue(tables, intake),
            SimulatedDeadLetters(tables, pool, looks.dead, looks.dead_counted),
            SimulatedJobs(tables, pool),
            SimulatedReplays(tables, pool, intake, looks.replays),
            configuration.destinations,
            configuration.rules,
            configuration,
            SimulatedClaims(tables, pool),
            SimulatedLog(tables, pool),
        )

    def take_over(self, process: int) -> int:
        """Make a process the owner of the database at once, as an operator can. Return its epoch."""
        return self.tables.rights.take_over(process)

    def remove_event(self, environment: int, event: str) -> None:
        """Remove an event and leave its deliveries. Retention can do this to the event of a replay."""
        self.tables.events.pop((environment, event), None)

    def rows(self, mark: Callable[[bytes], str] = mark_of) -> Rows:
        """`mark` reads the mark in an event's payload."""
        return ending(self.tables, mark)
