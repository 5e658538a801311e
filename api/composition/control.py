"""The composition of the configuration."""

from collections.abc import Sequence
from contextlib import suppress

import structlog
import trio

from api.composition.delivery import DeliveryParts
from api.composition.foundation import Foundation, WorkerNode
from engine.control.audit import Principal
from engine.control.commands import CommandQueue
from engine.control.console import ENDED, ConsoleTokens
from engine.control.console import PURPOSE as CONSOLE
from engine.control.console import TTL_S as CONSOLE_TTL_S
from engine.control.customers import QuotaCheck
from engine.control.destinations import DestinationCommands
from engine.control.keys import KeyCommands
from engine.control.last_use import LastUse
from engine.control.loading import Loader
from engine.control.projection import ModelProjection
from engine.control.rules import RuleCommands
from engine.control.sessions import PURPOSE, TTL_MOST_S, SessionTokens
from engine.control.sessions import PURPOSE as SESSIONS
from engine.control.writer import ConfigurationWriter
from engine.core.destination import Destination
from engine.files.urls import PURPOSE as FILE_URLS
from engine.model.errors import Refusal
from engine.model.hops import PURPOSE as HOPS
from engine.ports import StoreAwayError
from engine.runtime.freshness import Freshness
from engine.settings import Settings
from storage.audit.changes import Change, Changes
from storage.database.bridge import Bridge
from storage.embedded.server import EmbeddedServer
from storage.encryption import master_keys
from storage.encryption.master_keys import KIND as MASTER_KEY
from storage.encryption.secretbox import SecretBox, SecretBoxError
from storage.log.partitions import Range
from storage.log.summarising import Summarising
from storage.retention.housekeeping import Housekeeping

log = structlog.get_logger("angarium.storage")


class Keyring:
    """The owner of a server's secret box, and of the keys derived from it."""

    def __init__(
        self,
        base: DeliveryParts,
        box: SecretBox,
        tokens: SessionTokens,
        console: ConsoleTokens,
        loader: Loader,
    ) -> None:
        self._base = base
        self._tokens = tokens
        self._console = console
        self._loader = loader
        self._box = box
        self._limit = trio.CapacityLimiter(1)
        self.changed = trio.Event()  # replaced after each reading of the keys
        self._signed_for_s = max(CONSOLE_TTL_S, TTL_MOST_S, base.settings.file_url_lifetime)

    @property
    def ids(self) -> tuple[bytes, ...]:
        """The ids of the master keys; the first key encrypts."""
        return self._box.ids

    async def refresh(self) -> None:
        """Read the master keys again, and record their ids in the database. If the keys cannot be read,
        the present keys stay. Raises StoreError if the database fails."""
        base, box = self._base, self._box
        try:
            if await trio.to_thread.run_sync(box.reread, limiter=self._limit):
                log.info("master_key.changed", first=box.ids[0].hex(), keys=len(box.ids))
        except SecretBoxError as error:
            log.warning("master_key.unreadable", error=str(error))
        self._tokens.keys.use(box.derived(SESSIONS))
        self._console.keys.use(box.derived(CONSOLE))
        base.hops.use(box.derived(HOPS))
        base.carrying.urls.keys.use(box.derived(FILE_URLS))
        await master_keys.tell(
            base.bridge.pool, base.ownership.process, box.ids, self._signed_for_s
        )
        self.changed.set()
        self.changed = trio.Event()

    async def reload(self) -> None:
        """Read the keys before the configuration, because a new key can have encrypted some of the
        configuration."""
        await self.refresh()
        await self._loader.load()


class ControlParts(DeliveryParts):
    """A process's configuration, and the tasks that update it."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        box: SecretBox,
        embedded: EmbeddedServer | None,
        worker: WorkerNode | None,
    ) -> None:
        super().__init__(settings, bridge, box, embedded, worker)
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
        if self.part.has(destination.workspace):
            self.directory.configure(destination)

    async def disable_gone(self, gone: Destination, quiet: bool, overdue: bool) -> None:
        await self.destinations.disable_gone(gone, quiet=quiet, overdue=overdue)

    async def _changed(self, news: Sequence[Change]) -> None:
        if any(change.kind == MASTER_KEY for change in news):
            await self.keyring.refresh()
        for change in news:
            if change.kind == ENDED:
                self.console.end(change.id)
        await self.loader.changed_all((change.kind, change.id) for change in news)

    def _covered(self, covered: Range) -> None:
        self.identity.limit(covered.ceiling_ms)


SWEPT = 1_000  # archived destinations that one start sweeps; the next start continues


def routing_of(
    base: Foundation, writer: ConfigurationWriter, quotas: QuotaCheck
) -> tuple[DestinationCommands, RuleCommands]:
    """Return the commands on destinations and on rules."""
    tables = base.tables
    rules = RuleCommands(tables.rules, tables.destinations, writer, base.plans, quotas)
    destinations = DestinationCommands(
        tables.destinations,
        writer,
        base.plans,
        quotas,
        base.catalog,
        rules,
        disabled=base.announcer.disabled,
        objection=base.wire.host_check.objection,
    )
    base.background.spawn(_sweep, base, rules)
    return destinations, rules


async def _sweep(base: Foundation, rules: RuleCommands) -> None:
    """Remove the rules whose destination is archived. Such rules remain if a server is killed after it
    has archived the destination."""
    with suppress(StoreAwayError, Refusal):
        for number, destination in await base.tables.rules.left_behind(SWEPT):
            environment = base.models.environments.get(number)
            if environment is not None:
                principal = Principal(
                    kind="SYSTEM",
                    id="archived-destination",
                    workspace=environment.workspace,
                    environment=number,
                )
                await rules.remove_all_of(principal, number, destination)
