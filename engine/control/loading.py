"""The loader of read models.

The loader holds the lock of the commands while it reads. Without the lock, a command could commit
meanwhile, and the loader would then replace the committed change by older rows.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable
from time import perf_counter
from typing import TypeVar

import trio

from engine.control.commands import CommandQueue
from engine.control.ports import ConfigurationStore
from engine.control.projection import ModelProjection
from engine.model.documents import is_uuid

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
# The loader yields to other tasks after this time, and not after a number of rows, because rows differ. A
# destination with a template takes as long as twenty destinations without a template.
SLICE_S = 0.002


class Loader:
    """The loader of this process."""

    def __init__(
        self,
        store: ConfigurationStore,
        projection: ModelProjection,
        commands: CommandQueue,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._clock = clock
        self._store = store
        self._projection = projection
        self._turn = commands.turn
        self._kinds: dict[str, Callable[[str], Awaitable[None]]] = {
            "workspace": self._workspace,
            "key": self._key,
            "destination": self._destination,
            "rule": self._rule,
            "schema": self._schema,
            "settings": self._settings,
            "customer": self._customer,
        }

    async def load(self) -> None:
        """Make the read models equal to the rows.

        Commands wait while the loader reads. To shorten the wait, the loader skips the destinations and
        rules whose present version is in the read models already. Raises StoreError if the rows cannot be
        read, and then the read models stay as they are.
        """
        async with self._turn:
            configuration = await self._store.load(self._projection)
            projection, breaks = self._projection, Breaks(self._clock)
            await breaks.between(projection.tenant, configuration.tenants)
            await breaks.between(projection.settings, configuration.settings)
            await breaks.between(projection.customer, configuration.customers)
            await breaks.between(projection.key, configuration.keys)
            await breaks.between(projection.destination, configuration.destinations)
            await breaks.between(projection.rule, configuration.rules)
            key_ids = (key.id for key in configuration.keys)
            for key in await breaks.absent(projection.keys(), key_ids):
                projection.key_removed(key)
            for rule in await breaks.absent(projection.rules(), configuration.rule_ids):
                projection.rule_removed(rule)
            for schema in configuration.schemas:
                projection.schema(schema.environment, schema.event_type, schema)
                await breaks.when_due()
            there = ((schema.environment, schema.event_type) for schema in configuration.schemas)
            for environment, event_type in await breaks.absent(projection.schema_types(), there):
                projection.schema(environment, event_type, None)

    async def changed_all(self, named: Iterable[tuple[str, str]]) -> None:
        """Read the rows that notifications name. Raises StoreError. An unknown kind is ignored.

        The loader can wait long for the lock of the commands. Therefore it takes the lock once for all
        rows.
        """
        known = [
            (self._kinds[kind], identifier)
            for kind, identifier in named
            if kind in self._kinds and is_uuid(identifier)
        ]
        if known:
            async with self._turn:
                for read, identifier in known:
                    await read(identifier)

    async def _workspace(self, identifier: str) -> None:
        tenant = await self._store.tenants.get(identifier)
        if tenant is not None:
            self._projection.tenant(tenant)

    async def _key(self, identifier: str) -> None:
        key = await self._store.keys.get(identifier)
        if key is None:
            self._projection.key_removed(identifier)
        else:
            self._projection.key(key)

    async def _destination(self, identifier: str) -> None:
        record = await self._store.destinations.find(identifier)
        if record is not None:
            self._projection.destination(record)

    async def _rule(self, identifier: str) -> None:
        rule = await self._store.rules.find(identifier)
        if rule is None:
            self._projection.rule_removed(identifier)
        else:
            self._projection.rule(rule)

    async def _schema(self, identifier: str) -> None:
        found = await self._store.schemas.type_of(identifier)
        if found is not None:
            active = await self._store.schemas.active(*found)
            self._projection.schema(*found, None if active is None else active.active())

    async def _settings(self, identifier: str) -> None:
        self._projection.settings(await self._store.settings.get(identifier))

    async def _customer(self, identifier: str) -> None:
        account = await self._store.customers.find(identifier)
        if account is not None:
            self._projection.customer(account)


class Breaks:
    """The pauses of a long loop."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._since = clock()

    async def between(self, show: Callable[[T], None], rows: Iterable[T]) -> None:
        """Call `show` with each row, and yield when due."""
        for row in rows:
            show(row)
            await self.when_due()

    async def absent(self, here: Iterable[K], there: Iterable[K]) -> list[K]:
        """Return the members of `here` that are not in `there`. Other tasks run during this call. They
        must not change `here`."""
        present: set[K] = set()
        await self.between(present.add, there)
        gone: list[K] = []
        for each in here:
            if each not in present:
                gone.append(each)
            await self.when_due()
        return gone

    async def when_due(self) -> None:
        """Yield if the loop has run for `SLICE_S` since it last yielded."""
        if self._clock() - self._since > SLICE_S:
            await trio.lowlevel.checkpoint()
            self._since = self._clock()
