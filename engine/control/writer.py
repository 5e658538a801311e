"""The writer of configuration: the objects with which each command writes the next version of a row."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import trio

from engine.control.audit import Auditor, Principal
from engine.control.commands import CommandQueue
from engine.control.ports import DestinationStore, Projection
from engine.core.vocabulary import DestinationStatus
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.model.errors import Refusal
from engine.model.identity import Identity

T = TypeVar("T")
ATTEMPTS = 5  # to write a row that other processes write too; five failures in a row mean a bug


class ConfigurationWriter:
    """The objects that all commands share: the command queue, the clock, the read models, and the makers
    of ids and audit entries."""

    def __init__(
        self,
        commands: CommandQueue,
        projection: Projection,
        identity: Identity,
        now: Callable[[], float],
    ) -> None:
        self.commands = commands
        self.projection = projection
        self.new_id = identity.other
        self.now = now  # seconds since the epoch
        self._auditor = Auditor(identity)

    def now_ms(self) -> int:
        """Return the present, in milliseconds since the epoch."""
        return int(self.now() * 1000)

    def next_ms(self, updated_at_ms: int | None) -> int:
        """Return the instant of a new version. This is the present, but at least one millisecond after
        `updated_at_ms`, the instant of the former version."""
        return max(self.now_ms(), (updated_at_ms or 0) + 1)

    def entry(
        self,
        principal: Principal,
        action: str,
        object_id: str,
        changes: Mapping[str, Any] | None = None,
        previous_fingerprint: str | None = None,
    ) -> AuditEntry:
        return self._auditor.entry(principal, action, object_id, changes, previous_fingerprint)

    async def command(self, what: str, attempt: Callable[[], Awaitable[T | None]]) -> T:
        """Wait for all earlier commands, then do the same as the method `attempts`."""
        return await self.commands.run(lambda: self.attempts(what, attempt))

    async def attempts(self, what: str, attempt: Callable[[], Awaitable[T | None]]) -> T:
        """Call `attempt` until it returns a result, and return the result.

        `attempt` returns None if another process changed the row after `attempt` had read it. If all
        `ATTEMPTS` calls return None, raises Refusal `conflict`, which names `what`.
        """
        for _ in range(ATTEMPTS):
            done = await attempt()
            if done is not None:
                return done
            await trio.lowlevel.checkpoint()
        raise Refusal("conflict", f"others are changing {what} at the same time: try again")


def writer_without_models(identity: Identity, now: Callable[[], float]) -> ConfigurationWriter:
    """Return the writer of a process that has no read models, such as the command line."""
    return ConfigurationWriter(CommandQueue(), Projection(), identity, now)


async def destination_of(
    store: DestinationStore,
    principal: Principal,
    environment: int,
    identifier: str,
    *,
    field: str | None = None,
) -> DestinationRecord:
    """Return a destination that `principal` can see. Raises Refusal 404. The refusal's text begins with
    `field`, the name of the request's field that contains the destination's id."""
    found = await store.get(environment, identifier)
    if found is None or not principal.sees(found.customer_account):
        raise Refusal("not_found", _of(field, "no such destination"))
    return found


def refuse_archived(record: DestinationRecord, *, field: str | None = None) -> None:
    """Raise Refusal `conflict` if a destination is archived: no archived destination can change."""
    if record.status is DestinationStatus.ARCHIVED:
        raise Refusal("conflict", _of(field, "the destination is archived"))


def _of(field: str | None, message: str) -> str:
    return message if field is None else f"{field}: {message}"
