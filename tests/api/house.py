"""A whole control plane over real sockets and a real database, with fakes for all other parts.

Every answer is checked against the OpenAPI document, and must have the headers that all answers have.
"""

import functools
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import jsonschema_rs
import orjson
import trio

from api.admission import AdmissionControl
from api.app import make_app
from api.budget import BodyBudget
from api.door.front import FrontDoor
from api.door.limits import LIMITS
from api.heads import Heads
from api.ingestion import Ingestion
from api.ingestion_routes import make_blueprint
from api.live import LiveChannels
from api.openapi.operations import OCTETS
from api.services import Services
from api.shares import shares_of
from api.table import ROUTES, openapi_json
from engine.actors.awaited import Awaited
from engine.actors.mailbox import Ordered, Resumed
from engine.actors.reports import AT_REST, DestinationReport, Totals
from engine.actors.snapshots import Snapshots
from engine.actors.survey import Surveys
from engine.control.commands import CommandQueue
from engine.control.console import PURPOSE as CONSOLE
from engine.control.console import ConsoleCommands, ConsoleTokens, session_reader
from engine.control.customers import CustomerCommands, QuotaCheck
from engine.control.deliveries import DeliveryCommands
from engine.control.destinations import DestinationCommands
from engine.control.dlq import DeadLetterCommands
from engine.control.erasure import CustomerErasures, ErasureCommands
from engine.control.inference import Inference
from engine.control.inspection import Inspections
from engine.control.keys import KeyCommands
from engine.control.last_use import LastUse
from engine.control.loading import Loader
from engine.control.machines import MachineCommands
from engine.control.projection import ModelProjection
from engine.control.replays import ReplayCommands
from engine.control.rules import RuleCommands
from engine.control.schemas import SchemaCommands
from engine.control.sessions import PURPOSE, SessionCommands, SessionTokens
from engine.control.transforms import TransformCommands
from engine.control.workspace_settings import SettingsCommands
from engine.control.writer import ConfigurationWriter
from engine.core.destination import Destination
from engine.core.records import Attempt, Delivery, Outcome
from engine.core.vocabulary import Environment, Scope
from engine.filters.failures import FilterFailures
from engine.ingest.ingest import Done, Reply
from engine.intake.entries import QueueEntry
from engine.log.delivery_log import (
    AttemptPage,
    DeliveryDetail,
    DeliveryEntry,
    DeliveryFilter,
    DeliveryPage,
    EventDetail,
    EventFilter,
    EventPage,
)
from engine.model.configuration import Tenant
from engine.model.identity import Identity
from engine.model.read_models import EnvironmentModel, Models
from engine.nodes.liveness import Liveness
from engine.outbound.remake import Remake
from engine.outbound.trials import Trials
from engine.plans.plans import BUILT_IN, Plans, Visibility, overridden
from engine.ports import StoreAwayError, Transmission
from engine.recording.feed import Feed
from engine.recording.throughput import Throughput
from engine.replay.admission import ReplaySamples
from engine.replay.job import ReplayJob
from engine.routing.judge import EventJudge
from engine.routing.router import Router
from engine.runtime.clock import Clock
from engine.runtime.loop_watch import LoopWatch
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.settings import Settings
from engine.templates.catalog import read_catalog
from engine.templates.renderer import Renderer
from storage.audit.log import PostgresAudit
from storage.backlog.queues import PostgresQueues
from storage.configuration.customers import Accounts
from storage.configuration.store import ConfigurationTables
from storage.counters.analytics import PostgresAnalytics, PostgresEnvironmentCounters
from storage.database.bridge import Bridge
from storage.database.profiles import INTAKE
from storage.dead_letters.listing import PostgresDeadLetterLog
from storage.dead_letters.reading import PostgresDeadLetters
from storage.dead_letters.requeue import PostgresRequeue
from storage.encryption.secretbox import SecretBox
from storage.log.events import PostgresEvents
from storage.log.troubles import PostgresTroubles
from storage.nodes.cluster import MachineRows
from storage.ownership import Ownership
from storage.replays.jobs import PostgresJobs
from storage.retention.erasing import CustomerErasureRows, PostgresErasure
from tests.api.issued import Issued, logged
from tests.api.no_files import no_files, no_reading
from tests.door.house import Client, Listening
from tests.outbound.fakes import Unchanged
from tests.patience import HANGS_S

DOCUMENT = json.loads(openapi_json())
CATALOG = read_catalog()
RATE_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
# The routes that accept events. Their answers need no `no-store`, because caches do not keep answers to
# POST.
RECEIPTS = {("POST", "/events"), ("POST", "/events/batch")}
RESTING = DestinationReport(health=None, pending=0, in_flight=0, actor=AT_REST)
HOOK = "https://example.com/hooks"


@dataclass
class Response:
    """A complete answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])

    @property
    def paths(self) -> list[str]:
        """The offending places in an error."""
        return [detail["path"] for detail in self.json.get("details", [])]


def template_of(path: str) -> str | None:
    bare = path.partition("?")[0]
    templates = [
        template
        for template in DOCUMENT["paths"]
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), bare)
    ]
    return min(templates, key=lambda template: template.count("{"), default=None)


def hold_to_document(method: str, path: str, response: Response) -> None:
    for name in ("x-request-id", *RATE_HEADERS):
        assert name in response.headers, f"{name} is missing"
    template = template_of(path)
    if response.status != 204 and (method.upper(), template) not in RECEIPTS:
        assert "no-store" in response.headers.get("cache-control", ""), (
            f"{method} {path} may be kept"
        )
    operation = {} if template is None else DOCUMENT["paths"][template]
    described = operation.get("get" if method == "HEAD" else method.lower())
    if described is None or response.status in (401, 405) or method == "HEAD":
        if response.status >= 400 and method != "HEAD":
            hold_to_schema({"$ref": "#/components/schemas/Error"}, response)
        return
    answer = described["responses"].get(str(response.status))
    assert answer is not None, f"{response.status} is not in the document for {method} {template}"
    if "$ref" in answer:
        answer = DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    if "content" not in answer:
        assert response.body == b""
        return
    ((media, content),) = answer["content"].items()
    assert media == OCTETS or response.headers["content-type"].startswith(media)
    if media == "application/json":
        hold_to_schema(content["schema"], response)


def hold_to_schema(schema: dict[str, Any], response: Response) -> None:
    _validator(json.dumps(schema)).validate(response.json)


@functools.cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    whole = {**json.loads(schema), "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


class Growing(list[Any]):
    """A list with an event for its growth."""

    def __init__(self) -> None:
        super().__init__()
        self._grew = trio.Event()

    def append(self, item: Any) -> None:
        super().append(item)
        self._grew.set()
        self._grew = trio.Event()

    async def reaches(self, length: int) -> None:
        while len(self) < length:
            await self._grew.wait()


class FakeLog:
    """A delivery log with a test's entries. It ignores most fields of the filters."""

    def __init__(self) -> None:
        self.entries: list[DeliveryEntry] = []
        self.details: dict[str, DeliveryDetail] = {}
        self.all_events: dict[str, EventDetail] = {}
        self.asked: list[Any] = []
        self.inspections = Growing()

    async def deliveries(
        self, environment: int, which: DeliveryFilter, below: str | None, limit: int
    ) -> DeliveryPage:
        self.asked.append((environment, which, below, limit))
        found = [
            entry
            for entry in sorted(self.entries, key=lambda e: e.id, reverse=True)
            if entry.environment == environment
            and (below is None or entry.id < below)
            and (which.ids is None or entry.id in which.ids)
            and (which.statuses is None or entry.status in which.statuses)
        ]
        return DeliveryPage(found[:limit], found[limit - 1].id if len(found) > limit else None)

    async def delivery(self, environment: int, delivery: str) -> DeliveryDetail | None:
        detail = self.details.get(delivery)
        return detail if detail and detail.entry.environment == environment else None

    async def attempts(
        self, environment: int, delivery: str, below: int | None, limit: int, max_bytes: int
    ) -> AttemptPage:
        detail = self.details[delivery]
        found = [each for each in reversed(detail.attempts) if below is None or each.number < below]
        return AttemptPage(found[:limit], more=len(found) > limit)

    async def entry(self, environment: int, delivery: str) -> DeliveryEntry | None:
        detail = await self.delivery(environment, delivery)
        return None if detail is None else detail.entry

    async def record_inspection(self, delivery: Delivery, attempt: Attempt) -> None:
        self.inspections.append((delivery, attempt))

    async def events(
        self, environment: int, which: EventFilter, below: str | None, limit: int
    ) -> EventPage:
        self.asked.append((environment, which, below, limit))
        found = [
            event.entry
            for event in sorted(self.all_events.values(), key=lambda e: e.entry.id, reverse=True)
            if event.entry.environment == environment and (below is None or event.entry.id < below)
        ]
        return EventPage(found[:limit], found[limit - 1].id if len(found) > limit else None)

    async def event(self, environment: int, event: str) -> EventDetail | None:
        found = self.all_events.get(event)
        return found if found and found.entry.environment == environment else None

    async def deliveries_to(
        self, environment: int, events: Sequence[str], customer: str
    ) -> dict[str, int]:
        return {}


@dataclass
class FakeDirectory:
    """A directory that records the configured destinations. Tests put the deliveries in flight into
    `flying`."""

    configured: list[Destination] = field(default_factory=list)
    flying: set[str] = field(default_factory=set)
    report: DestinationReport = RESTING
    awaited: Awaited = field(default_factory=Awaited)

    def configure(self, destination: Destination) -> None:
        self.configured.append(destination)

    def health(self, destination: str) -> DestinationReport:
        return self.report

    def tell(self, destination: str, message: Ordered | Resumed) -> None:
        pass

    def delivering(self, ids: Iterable[str]) -> set[str]:
        return self.flying & set(ids)

    def known(self, environment: int) -> Iterator[str]:
        return (each.id for each in self.configured if each.environment == environment)

    def work(self, destination: str) -> int:
        return 0

    def totals(self, environment: int) -> Totals:
        return Totals(0, len(self.flying))

    def in_flight(self, environment: int) -> set[str]:
        return self.flying


class FakeSender:
    """Each attempt ends with `outcome`. If `outcome` is None, the test ends attempts."""

    def __init__(self) -> None:
        self.sent = Growing()  # pairs of a transmission and its `done`
        self.outcome: Outcome | None = Outcome(1.0, 12, success=True, status=204)

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        self.sent.append((transmission, done))
        if self.outcome is not None:
            done(self.outcome)

    def forget(self, destination: str) -> None:
        """Do nothing, because nothing is prepared."""


class FakeIngest:
    """Accepts every body."""

    def submit(
        self, environment: EnvironmentModel, body: bytes, batch: bool, done: Done,
        hops: int = 0, key: str | None = None, trace: str | None = None,
    ) -> None:  # fmt: skip
        done(Reply(202, orjson.dumps({"accepted": True})))


class NoAdmission:
    """Admits nothing, as when the database is away."""

    async def enter(self, entry: QueueEntry, within_s: float) -> list[Delivery]:
        error = StoreAwayError("away")
        error.maybe_written = False
        raise error


class FakeRunner:
    """Runs no replay job, but counts the requests to do so."""

    def __init__(self) -> None:
        self.nudges = 0
        self.ended: list[ReplayJob] = []

    def nudge(self) -> None:
        self.nudges += 1

    def finished(self, job: ReplayJob) -> None:
        self.ended.append(job)


class House:
    """All parts of a control plane, and a client for each key."""

    def __init__(self, bridge: Bridge, control_limit: int | None = None) -> None:
        self.bridge = bridge
        self.clock = Clock()
        self.errors: list[Exception] = []
        self.models = Models()
        self.identity = Identity()
        self.directory = FakeDirectory()
        self.log = FakeLog()
        self.sender = FakeSender()
        self.commands = CommandQueue()
        self.runner = FakeRunner()
        self.jobs = PostgresJobs(bridge.pool)
        self.unready: list[str] = []
        self.streams: list[trio.SocketStream] = []
        self.issued = Issued()
        box = SecretBox([b"k" * 32])
        self.tables = ConfigurationTables(bridge.pool, box)
        self.projection = ModelProjection(self.models, self.directory.configure, CATALOG)
        self.loader = Loader(self.tables, self.projection, self.commands)
        now = self.clock.now
        self.writer = ConfigurationWriter(self.commands, self.projection, self.identity, now)
        self.keys = KeyCommands(self.tables.tenants, self.tables.keys, self.writer)
        self.throughput = Throughput(now)
        self.plans = Plans(self.models, overridden(BUILT_IN, control_limit))
        self.last_use = LastUse(self.tables.keys, now)
        self.tokens = SessionTokens(box.derived(PURPOSE), self.models)
        self.console = ConsoleTokens(box.derived(CONSOLE), self.models)
        self.admission = AdmissionControl(
            self.models,
            now,
            self.plans,
            sessions=session_reader(self.tokens, self.console),
            last_use=self.last_use.seen,
        )
        self.ingestion = Ingestion(
            self.admission, self.models, FakeIngest(), BodyBudget(1 << 27, 1 << 25)
        )
        self.quotas = QuotaCheck(self.tables.customers, self.models, self.plans)
        self.filter_failures = FilterFailures(self.tables.rules.failed, now)
        self.rules = RuleCommands(
            self.tables.rules, self.tables.destinations, self.writer, self.plans, self.quotas
        )
        self.destinations = DestinationCommands(
            self.tables.destinations, self.writer, self.plans, self.quotas, CATALOG, self.rules
        )
        self.schemas = SchemaCommands(self.tables.schemas, self.writer)
        # After a pass that took time, the reactor pauses until a given time of trio's clock. In tests
        # with a mock clock that stands still, this pause would never end. So here trio's clock also
        # measures how long a pass took. While the mock clock stands still, a pass takes no time, and no
        # pause follows.
        self.reactor = Reactor(self.errors.append, trio.current_time)
        self.timers = Timers(self.errors.append)
        self.shares = shares_of(Settings())
        services = self.services()
        self.app = make_app(services)
        self.door = FrontDoor(
            Settings(bind="127.0.0.1:0"),
            self.reactor,
            self.timers,
            self.ingestion,
            self.app,
            self.errors.append,
            LIMITS,
            Heads(services, self.app.url_map),
        )

    def services(self) -> Services:
        erasure = ErasureCommands(
            self.log,
            self.log,
            PostgresErasure(self.bridge.pool),
            self.directory,
            DeadLetterCommands(
                self.log,
                PostgresDeadLetters(self.bridge.pool),
                PostgresRequeue(self.bridge.connection(INTAKE), Ownership()),
                NoAdmission(),
                self.writer,
            ),
            self.writer,
        )
        return Services(
            admission=self.admission,
            models=self.models,
            judge=EventJudge(Router(self.models)),
            commands=self.commands,
            destinations=self.destinations,
            rules=self.rules,
            inspections=Inspections(
                self.models,
                self.tables.destinations,
                self.log,
                self.sender,
                self.commands,
                self.identity,
                self.tables.schemas,
            ),
            keys=self.keys,
            last_use=self.last_use,
            console=ConsoleCommands(self.console, PostgresAudit(self.bridge.pool), self.writer),
            sessions=SessionCommands(
                Accounts(self.bridge.pool),
                self.tokens,
                self.writer,
            ),
            workspace_settings=SettingsCommands(self.tables.settings, self.writer),
            portal="https://portal.example.com/{}".format,
            dead_letters=DeadLetterCommands(
                self.log,
                PostgresDeadLetters(self.bridge.pool),
                PostgresRequeue(self.bridge.connection(INTAKE), Ownership()),
                NoAdmission(),
                self.writer,
            ),
            deliveries=DeliveryCommands(
                self.log,
                self.directory,
                DeadLetterCommands(
                    self.log,
                    PostgresDeadLetters(self.bridge.pool),
                    PostgresRequeue(self.bridge.connection(INTAKE), Ownership()),
                    NoAdmission(),
                    self.writer,
                ),
                PostgresAudit(self.bridge.pool),
                self.writer,
            ),
            dead_letter_log=PostgresDeadLetterLog(self.bridge.pool),
            replays=ReplayCommands(
                self.jobs,
                self.tables.destinations,
                self.writer,
                self.runner,
                Visibility(self.plans, self.clock.now),
            ),
            replay_store=self.jobs,
            replay_samples=ReplaySamples(no_reading, self.identity),
            replay_speed=lambda _: None,
            destination_store=self.tables.destinations,
            rule_store=self.tables.rules,
            catalog=CATALOG,
            templates=Renderer(CATALOG),
            files=no_files(self.bridge, self.models, self.plans),
            bodies=self.ingestion.bodies,
            customers=CustomerCommands(self.tables.customers, self.writer),
            customer_store=self.tables.customers,
            customer_erasures=CustomerErasures(
                CustomerErasureRows(self.bridge.pool, self.bridge.pool),
                PostgresErasure(self.bridge.pool),
                erasure,
                self.destinations,
                self.tables.destinations,
                self.models,
                self.writer,
            ),
            hops_of=self.ingestion.hops_of,
            schemas=self.schemas,
            schema_store=self.tables.schemas,
            inference=Inference(self.log, self.tables.schemas, self.schemas),
            transforms=TransformCommands(
                self.tables.transforms,
                self.tables.destinations,
                Unchanged(),
                self.writer,
                self.plans,
                self.quotas,
            ),
            transform_store=self.tables.transforms,
            trials=Trials(Unchanged()),
            remake=Remake(self.tables.transforms, Unchanged(), Unchanged()),
            filter_failures=self.filter_failures,
            delivery_log=self.log,
            event_log=self.log,
            erasure=erasure,
            queues=PostgresQueues(self.bridge.pool),
            event_finder=PostgresEvents(self.bridge.pool),
            visibility=Visibility(self.plans, self.clock.now),
            plans=self.plans,
            analytics=PostgresAnalytics(self.bridge.pool),
            environment_counters=PostgresEnvironmentCounters(
                self.bridge.pool, lambda environment, destinations: None
            ),
            troubles=PostgresTroubles(self.bridge.pool),
            surveys=Surveys(self.directory, Snapshots()),
            audit_log=PostgresAudit(self.bridge.pool),
            throughput=self.throughput,
            live=LiveChannels(Feed()),
            watch=LoopWatch(1.0, self.clock.now),
            nodes=(nodes := Liveness(str(uuid.uuid4()))),
            links={},
            machines=MachineCommands(
                MachineRows(self.bridge.pool), nodes, PostgresAudit(self.bridge.pool), self.writer
            ),
            directory=self.directory,
            ingestion=make_blueprint(self.ingestion),
            streams=self.ingestion.bodies.streams,
            shares=self.shares,
            now=self.clock.now,
            unready=lambda: self.unready,
        )

    async def tenant(self, name: str) -> Tenant:
        return await self.keys.create_workspace(name)

    async def key(
        self,
        tenant: Tenant,
        scope: Scope = Scope.MANAGE,
        environment: Environment | None = Environment.DEVELOPMENT,
    ) -> str:
        return (await self.keys.create(tenant, scope, environment, "a test's")).secret

    async def caller(self, key: str | None = None, **headers: str) -> "Caller":
        return Caller(self, key, headers)


class Reachable(Listening, Protocol):
    """The parts of a house that its callers need."""

    issued: Issued


class Caller:
    """A client with a key. It sends requests one after another over one connection."""

    def __init__(self, house: Reachable, key: str | None, headers: dict[str, str]) -> None:
        self._house = house
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        house.issued.credential(key)
        self._client: Client | None = None
        self._turn = trio.Lock()

    async def __call__(
        self,
        method: str,
        path: str,
        document: Any = None,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        check: bool = True,
    ) -> Response:
        """Send a request, and check its answer against the document."""
        if document is not None:
            body = orjson.dumps(document)
            self._house.issued.sent(document)
        fields = {"Host": "localhost", **self._headers}
        if body is not None:
            fields |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        fields |= headers or {}
        head = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in fields.items() if v != "")]
        raw = "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + (body or b"")
        async with self._turn:
            found = await self._exchange(raw, head_only=method == "HEAD")
        response = Response(found.status, dict(found.headers), found.body)
        response.headers = {name.lower(): value for name, value in response.headers.items()}
        self._house.issued.answered(f"{method} {path}", response.status, response.body)
        if check:
            hold_to_document(method, path, response)
        return response

    async def _exchange(self, raw: bytes, *, head_only: bool) -> Any:
        if self._client is None:
            stream = await trio.open_tcp_stream("127.0.0.1", self._house.door.address[1])
            self._house.streams.append(stream)
            self._client = Client(stream)
        client = self._client
        await client.send(raw)
        found = await client.response(head_only)
        live = found.headers.get("content-type") == "text/event-stream"
        if live or found.headers.get("connection") == "close":
            self._client = None
        return found


@asynccontextmanager
async def open_house(bridge: Bridge, **options: Any) -> AsyncIterator[House]:
    house = House(bridge, **options)
    with logged(house.issued):
        async with running(house):
            yield house
    assert house.errors == []


@asynccontextmanager
async def running(house: House) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.reactor.run)
        nursery.start_soon(house.timers.run)
        await nursery.start(house.commands.tasks.serve)
        await nursery.start(house.door.run)
        try:
            with trio.fail_after(HANGS_S):
                yield
        finally:
            for stream in house.streams:
                stream.socket.close()
            nursery.cancel_scope.cancel()
    house.reactor.shut()


def example_of(method: str, path: str) -> Any:
    """Return the document's example of an operation's JSON body."""
    content = DOCUMENT["paths"][path][method.lower()]["requestBody"]["content"]
    return content["application/json"]["example"]


ALL_PATHS = [(route.method, route.path) for route in ROUTES]
