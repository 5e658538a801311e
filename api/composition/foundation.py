"""The foundation of a server.

A server is made in stages, each a subclass of the stage before: Foundation, DeliveryParts, ControlParts,
Server. A function declares the stage that it needs, so mypy refuses the use of a later stage. If code of
a stage must call a method of a later stage, the earlier stage declares that method as abstract.
"""

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog
import trio
from msgspec import Struct

from api.live import LiveChannels
from engine.actors.memory import memory_of
from engine.filters.failures import FilterFailures
from engine.ingest.own_events import OwnEvents
from engine.model.hops import PURPOSE as HOPS
from engine.model.hops import Hops
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.model.setting_values import machine_of
from engine.nodes.liveness import NodeLoad
from engine.nodes.parts import WHOLE, WorkerPart
from engine.peers.acceptor import LocalLinks
from engine.peers.handshake import PURPOSE as LINK_KEYS
from engine.peers.parts import PartLinks
from engine.plans.file import plans_of
from engine.plans.plans import Plans
from engine.recording.announcer import Announcer
from engine.recording.feed import Feed
from engine.recording.throughput import ProcessRates, Throughput
from engine.recording.trouble import TroubleLog
from engine.routing.router import Router
from engine.runtime.background import Background
from engine.runtime.clock import Clock
from engine.runtime.loop_watch import LoopWatch
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.settings import Settings
from engine.templates.catalog import catalog_of
from engine.templates.renderer import Renderer
from engine.tracing.opening import open_tracing
from engine.transforms.pool import TransformPool
from engine.wire.client import WireClient
from storage.configuration.store import ConfigurationTables
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from storage.embedded.server import EmbeddedServer
from storage.encryption.secretbox import SecretBox
from storage.nodes.membership import Membership
from storage.ownership import Ownership

log = structlog.get_logger("angarium")


class WorkerNode(Struct, frozen=True):
    """A worker's arguments from its parent."""

    name: str
    listeners: Sequence[socket.socket]
    part: WorkerPart = WHOLE
    links: Path | None = None  # the folder of the sockets for links between workers
    pulse: Callable[[], None] | None = None  # a sign of life to the parent


class Foundation(ABC):
    """The parts of a process that deliveries and configuration use. Create it within trio."""

    @property
    @abstractmethod
    def address(self) -> tuple[str, int]:
        """The address at which the door listens."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        box: SecretBox,
        embedded: EmbeddedServer | None,
        worker: WorkerNode | None,
    ) -> None:
        self.settings = settings
        self.embedded = embedded
        self.worker = worker
        self.bridge = bridge
        self.models = Models()
        self.plans = Plans(self.models, plans_of(settings))
        self.identity = Identity()
        self.background = Background()
        self.clock = Clock()
        self.timers = Timers(report)
        self.reactor = Reactor(report)
        self.watch = LoopWatch(settings.loop_step, self.clock.now)
        now = self.clock.now
        self.throughput = Throughput(now)
        self.memory = memory_of(settings)
        rates = ProcessRates(self.throughput, trio.current_time)
        self.part = WHOLE if worker is None else worker.part
        self.ownership = Ownership(part=self.part)
        self.membership = Membership(
            bridge,
            self.ownership,
            address=settings.peer_address,
            name=settings.node_name if worker is None else worker.name,
            machine=machine_of(settings.node_name),
            load=lambda: NodeLoad(*rates.look(), self.memory.deliveries),
        )
        self.tracing = open_tracing(
            settings, self.ownership.process, self.clock.now, self.models.workspace_of
        )
        self.links: LocalLinks | None = None  # to the other workers of this machine
        self.part_links: PartLinks | None = None  # to the workers of all machines
        if worker is not None and worker.links is not None:
            keys = box.derived(LINK_KEYS)
            self.links = LocalLinks(worker.links, worker.part.number, keys)
            if settings.peer_bind is not None:
                self.part_links = PartLinks(
                    self.links,
                    lambda: self.membership.liveness.rows,
                    self.membership.machine,
                    self.part.of,
                    keys,
                )
        self.upkeep = bridge.connection(UPKEEP)
        self.hops = Hops(box.derived(HOPS), settings.hop_limit)
        self.wire = WireClient(settings, self.reactor, self.timers, self.clock, hops=self.hops)
        self.transforms = TransformPool(self.reactor, self.timers, settings.transform_workers)
        self.catalog = catalog_of(settings)
        self.templates = Renderer(self.catalog)
        self.tables = ConfigurationTables(bridge.pool, box)
        self.filter_failures = FilterFailures(self.tables.rules.failed, now)
        self.router = Router(self.models, self.filter_failures.note)
        self.own_events = OwnEvents(self.router, self.identity, now)
        self.trouble = TroubleLog(self.own_events.announce_once)
        self.announcer = Announcer(self.trouble, self.models.destinations.get)
        self.feed = Feed()
        self.live = LiveChannels(self.feed)


def report(error: Exception) -> None:
    """Log an error raised by the work of a socket or a timer."""
    log.error("reactor.callback_failed", exc_info=error)
