"""The configuring side of the composition: commands, read models, keys, and what keeps them current."""

from collections.abc import Callable, Sequence

import trio

from api.composition.delivery import DeliveryParts
from api.composition.foundation import WorkerNode
from api.composition.keyring import Keyring
from api.composition.routing import routing_of
from engine.control.commands import CommandQueue
from engine.control.console import ENDED, ConsoleTokens
from engine.control.console import PURPOSE as CONSOLE
from engine.control.customers import QuotaCheck
from engine.control.keys import KeyCommands
from engine.control.last_use import LastUse
from engine.control.loading import Loader
from engine.control.projection import ModelProjection
from engine.control.sessions import PURPOSE, SessionTokens
from engine.control.writer import ConfigurationWriter
from engine.core.destination import Destination
from engine.model.errors import Refusal
from engine.runtime.freshness import Freshness
from engine.settings import Settings
from storage.audit.changes import Change, Changes
from storage.database.bridge import Bridge
from storage.database.errors import StoreError
from storage.embedded.server import EmbeddedServer
from storage.encryption.master_keys import KIND as MASTER_KEY
from storage.encryption.secretbox import SecretBox
from storage.log.partitions import Range
from storage.log.summarising import Summarising
from storage.retention.housekeeping import Housekeeping


class ControlParts(DeliveryParts):
    """A process's configuration: commands, read models, keys, and what keeps them current."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        box: SecretBox,
        embedded: EmbeddedServer | None,
        address: Callable[[], tuple[str, int]],
        worker: WorkerNode | None,
    ) -> None:
        super().__init__(
            settings, bridge, box, embedded, worker, gone=self._disable_gone, address=address
        )
        now = self.clock.now
        self.projection = ModelProjection(
            self.models, self._configure, self.catalog, settings.auto_concurrency_max
        )
        self.commands = CommandQueue()
        self.writer = ConfigurationWriter(self.commands, self.projection, self.identity, now)
        self.loader = Loader(self.tables, self.projection, self.commands)
        self.tokens = SessionTokens(box.derived(PURPOSE), self.models)
        self.console = ConsoleTokens(box.derived(CONSOLE), self.models)
        self.keyring = Keyring(self, box, self.tokens, self.console, self.loader)
        self.changes = Changes(bridge, self._changed, self.keyring.reload)
        self.freshness = Freshness(lambda: self.changes.confirmed_at)
        self.quotas = QuotaCheck(self.tables.customers, self.models, self.plans)
        self.destinations, self.rules = routing_of(self, self.writer, self.quotas)
        self.keys = KeyCommands(
            self.tables.tenants,
            self.tables.keys,
            self.writer,
            self.own_events.announce,
            self.plans.names,
        )
        self.last_use = LastUse(self.tables.keys, now)
        self.summarising = Summarising(bridge.pool, lambda: int(now() * 1000))
        self.housekeeping = Housekeeping(
            self.upkeep,
            self.plans.longest_retention_days,
            lambda: int(now() * 1000),
            self._covered,
            removes=self.part.number == 0,
        )

    def _configure(self, destination: Destination) -> None:
        """Tell the actor of a destination, where this worker has it."""
        if self.part.has(destination.workspace):
            self.directory.configure(destination)

    async def _disable_gone(self, gone: Destination, quiet: bool, overdue: bool) -> None:
        """Disable a destination, however long the database is away."""
        while True:
            try:
                await self.destinations.disable_gone(gone, quiet=quiet, overdue=overdue)
            except (StoreError, Refusal):
                await trio.sleep(1)
            else:
                return

    async def _changed(self, news: Sequence[Change]) -> None:
        if any(change.kind == MASTER_KEY for change in news):
            await self.keyring.refresh()
        for change in news:
            if change.kind == ENDED:
                self.console.end(change.id)
        await self.loader.changed_all((change.kind, change.id) for change in news)

    def _covered(self, covered: Range) -> None:
        self.identity.limit(covered.ceiling_ms)
