"""The services that the control plane's routes call."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from quart import Blueprint

from api.admission import AdmissionControl
from api.budget import BodyBudget, Streams
from api.live import LiveChannels
from api.shares import ControlShares
from engine.actors.reports import DestinationReport, Totals
from engine.actors.survey import Surveys
from engine.control.commands import CommandQueue
from engine.control.console import ConsoleCommands
from engine.control.customers import CustomerCommands
from engine.control.deliveries import DeliveryCommands
from engine.control.destinations import DestinationCommands
from engine.control.dlq import DeadLetterCommands
from engine.control.erasure import CustomerErasures, ErasureCommands
from engine.control.inference import Inference
from engine.control.inspection import Inspections
from engine.control.keys import KeyCommands
from engine.control.last_use import LastUse
from engine.control.machines import MachineCommands
from engine.control.ports import CustomerStore, DestinationPages, RuleStore, TransformStore
from engine.control.replays import ReplayCommands
from engine.control.rules import RuleCommands
from engine.control.schemas import SchemaCommands
from engine.control.sessions import SessionCommands
from engine.control.transforms import TransformCommands
from engine.control.workspace_settings import SettingsCommands
from engine.files.depot import Depot, FileLibrary
from engine.files.urls import FileUrls
from engine.filters.failures import FilterFailures
from engine.ingest.uploads import Uploads
from engine.log.delivery_log import DeadLetterLog, DeliveryLog, EventFinder, EventLog
from engine.log.observability import AnalyticsStore, AuditLog, EnvironmentCounters, Troubles
from engine.log.queues import QueueLog
from engine.model.read_models import Models
from engine.nodes.liveness import Liveness
from engine.outbound.ports import TemplateStage
from engine.outbound.remake import Remake
from engine.outbound.trials import Trials
from engine.plans.plans import Plans, Visibility
from engine.recording.throughput import Throughput
from engine.replay.admission import ReplaySamples
from engine.replay.ports import JobStore
from engine.routing.judge import EventJudge
from engine.runtime.loop_watch import LoopWatch
from engine.schemas.records import SchemaStore
from engine.templates.catalog import Catalog
from engine.tracing.opening import Tracing

HopsOf = Callable[[Mapping[bytes, bytes]], int]


class LiveActors(Protocol):
    """The live actors, as the API shows them."""

    def health(self, destination: str) -> DestinationReport:
        """Return a destination's health, also if it has no actor at present."""

    def delivering(self, ids: Iterable[str]) -> set[str]:
        """Return which of these deliveries are in flight."""

    def in_flight(self, environment: int) -> set[str]:
        """Return all deliveries of an environment that are in flight."""

    def known(self, environment: int) -> Iterator[str]:
        """Yield the environment's destinations that have an actor or waiting deliveries."""

    def work(self, destination: str) -> int:
        """Return how many deliveries of a destination wait or are in flight."""

    def totals(self, environment: int) -> Totals:
        """Return two numbers for an environment: its waiting deliveries, and its deliveries in flight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileServices:
    """The services that routes of files call."""

    uploads: Uploads
    depot: Depot
    library: FileLibrary
    spooled: BodyBudget  # bytes of uploads on disk
    urls: FileUrls


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that the routes call."""

    admission: AdmissionControl
    models: Models
    commands: CommandQueue
    destinations: DestinationCommands
    rules: RuleCommands
    inspections: Inspections
    keys: KeyCommands
    last_use: LastUse
    sessions: SessionCommands
    console: ConsoleCommands
    workspace_settings: SettingsCommands
    portal: Callable[[str], str]  # the address of the portal of a workspace's customers
    dead_letters: DeadLetterCommands
    dead_letter_log: DeadLetterLog
    deliveries: DeliveryCommands
    replays: ReplayCommands
    replay_store: JobStore
    replay_samples: ReplaySamples
    replay_speed: Callable[[str], float | None]  # by job: its finished deliveries a second
    destination_store: DestinationPages
    rule_store: RuleStore
    catalog: Catalog
    templates: TemplateStage
    schemas: SchemaCommands
    schema_store: SchemaStore
    inference: Inference
    transforms: TransformCommands
    transform_store: TransformStore
    trials: Trials
    remake: Remake
    filter_failures: FilterFailures
    files: FileServices
    bodies: BodyBudget  # bytes of requests in memory
    delivery_log: DeliveryLog
    event_log: EventLog
    erasure: ErasureCommands
    event_finder: EventFinder
    queues: QueueLog
    visibility: Visibility
    plans: Plans
    analytics: AnalyticsStore
    environment_counters: EnvironmentCounters
    troubles: Troubles
    surveys: Surveys
    audit_log: AuditLog
    throughput: Throughput
    live: LiveChannels
    watch: LoopWatch
    nodes: Liveness  # of all servers with this database
    links: Mapping[str, bool]  # by server id: whether its last dial succeeded
    machines: MachineCommands
    directory: LiveActors
    judge: EventJudge  # previews share its time
    customers: CustomerCommands
    customer_store: CustomerStore
    customer_erasures: CustomerErasures
    hops_of: HopsOf  # the hops of a request's events, by its headers
    tracing: Tracing | None = None  # None: requests have no spans
    ingestion: Blueprint  # the two routes of `api.ingestion_routes`
    streams: Streams
    shares: ControlShares  # they bound the requests of each workspace
    now: Callable[[], float]  # seconds since the epoch
    unready: Callable[[], list[str]]  # the reasons why the server cannot take work now
