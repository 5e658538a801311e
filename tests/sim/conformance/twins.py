"""Both databases at once. Each call must have the same outcome on both, and leave the same rows in
both."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from engine.nodes.parts import WHOLE, WorkerPart
from engine.ports import Acceptance, BacklogRow, StoreError
from engine.recording.requeue import Requeued
from engine.replay.ports import Enqueued, NamedDelivery
from tests.sim.conformance.sides import Ports, Postgres, Side, Simulated

_ALIGN = "SELECT setval('intake_group', greatest($1::bigint, last_value)) FROM intake_group"
Call = Callable[[Ports], Awaitable[Any]]


class Refused(Struct, frozen=True):
    """A call raised an error of this kind."""

    kind: str


class Fault(Protocol):
    """A fault of a side, before or after a call."""

    def __call__(self, side: Side) -> None: ...


class Twins:
    """The simulated database and PostgreSQL, in the same state."""

    def __init__(self, simulated: Simulated, postgres: Postgres) -> None:
        self.simulated = simulated
        self.postgres = postgres
        self.calls: list[str] = []  # the calls so far, for the message of a failure

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.simulated, self.postgres

    async def take(self, part: WorkerPart = WHOLE) -> None:
        self.calls.append(f"take over {part.number} of {part.of}")
        for side in self.sides:
            await side.take(part)

    def lose(self, purpose: str) -> None:
        self.calls.append(f"lose {purpose}")
        for side in self.sides:
            side.lose(purpose)

    async def remove_event(self, environment: int, event: str) -> None:
        self.calls.append(f"remove event {event}")
        for side in self.sides:
            await side.remove_event(environment, event)

    async def call(self, named: str, call: Call) -> Any:
        """Make a call on both databases. Return its outcome, which must be the same on both. If the call
        raised a StoreError, the outcome is Refused."""
        return await self.compared(named, call, [side.ports for side in self.sides])

    async def call_former(self, named: str, call: Call) -> Any:
        """Make a call on both databases through the stores of the process before the newest one. Return
        the outcome, or None if there was only one process."""
        ports = [side.former for side in self.sides if side.former is not None]
        return await self.compared(f"former: {named}", call, ports) if ports else None

    async def compared(self, named: str, call: Call, ports: list[Ports]) -> Any:
        self.calls.append(named)
        simulated, real = [await _outcome(call, each) for each in ports]
        assert _comparable(simulated) == _comparable(real), self._story(simulated, real)
        if isinstance(simulated, Refused):
            await self._align()
        return simulated

    async def _align(self) -> None:
        """A refused call can have drawn a seq on one side only."""
        tables = self.simulated.database.tables
        rows = await self.postgres.bridge.pool.fetch(_ALIGN, tables.groups)
        tables.groups = rows[0][0]

    async def compare(self) -> None:
        simulated, real = await self.simulated.dump(), await self.postgres.dump()
        for table, rows in real.items():
            differing = [row for row in rows if row not in simulated[table]]
            missing = [row for row in simulated[table] if row not in rows]
            assert rows == simulated[table], self._story(missing, differing, table)

    def _story(self, simulated: object, real: object, table: str = "the answer") -> str:
        last = "\n  ".join(self.calls[-12:])
        return f"{table} differs\nsimulated {simulated}\npostgres  {real}\nafter\n  {last}"


async def _outcome(call: Call, ports: Ports) -> Any:
    try:
        return await call(ports)
    except StoreError as error:
        return Refused(type(error).__name__)


def _comparable(outcome: Any) -> Any:
    """Return an outcome in the form that is compared. If the called method promises no order of rows, the
    rows are sorted."""
    if (
        isinstance(outcome, list)
        and outcome
        and isinstance(outcome[0], (BacklogRow, NamedDelivery))
    ):
        return sorted(map(msgspec.to_builtins, outcome), key=repr)
    if isinstance(outcome, list) and outcome and isinstance(outcome[0], str):
        return sorted(outcome)
    if isinstance(outcome, Enqueued) and outcome.ids is not None:
        return sorted(outcome.ids)
    if isinstance(outcome, (Acceptance, Requeued)):
        return msgspec.to_builtins(outcome)
    return outcome
