"""Commands on the machines (computers) that share a database: drain a machine, or end its drain."""

from typing import Protocol

from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.writer import ConfigurationWriter
from engine.model.configuration import AuditEntry
from engine.model.errors import Refusal
from engine.nodes.liveness import Liveness


class DrainedMachines(Protocol):
    """The rows of drained machines."""

    async def drain(self, machine: str) -> bool:
        """Record that a machine is drained. Return False if it was drained already."""

    async def undrain(self, machine: str) -> bool:
        """Record that a machine is no longer drained. Return False if it was not drained."""


class Trail(Protocol):
    """The audit log."""

    async def write(self, entry: AuditEntry) -> None:
        """Add an entry."""


class MachineCommands:
    """Drains machines and ends their drains."""

    def __init__(
        self,
        drained: DrainedMachines,
        nodes: Liveness,
        trail: Trail,
        writer: ConfigurationWriter,
    ) -> None:
        self._drained = drained
        self._nodes = nodes
        self._trail = trail
        self._writer = writer

    async def drain(self, principal: Principal, machine: str) -> None:
        """Drain a machine: other machines take over its parts of the database. The drained machine keeps
        the parts that no other machine can take. Raises Refusal 404 if no live node runs on the machine.
        """
        self._require_live(machine)
        if await written(self._drained.drain(machine)):
            await self._note(principal, machine, drained=True)

    async def undrain(self, principal: Principal, machine: str) -> None:
        """End the drain of a machine: the machine gets its share of the parts again. Raises Refusal 404
        if the machine is not drained and no live node runs on it."""
        if await written(self._drained.undrain(machine)):
            await self._note(principal, machine, drained=False)
        else:
            self._require_live(machine)

    def _require_live(self, machine: str) -> None:
        if all(row.machine != machine for row in self._nodes.live_rows()):
            raise Refusal("not_found", "no machine of this name")

    async def _note(self, principal: Principal, machine: str, *, drained: bool) -> None:
        action = "machine.drain" if drained else "machine.undrain"
        changes = {"drained": {"from": not drained, "to": drained}}
        await written(self._trail.write(self._writer.entry(principal, action, machine, changes)))
