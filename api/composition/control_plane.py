"""The composition of the control plane."""

from collections.abc import Callable

from api.admission import AdmissionControl
from api.budget import BodyBudget
from api.composition.control import ControlParts
from api.ingestion import Ingestion
from api.ingestion_routes import make_blueprint
from api.services import FileServices, Services
from engine.actors.survey import Surveys
from engine.control.console import ConsoleCommands
from engine.control.customers import CustomerCommands
from engine.control.deliveries import DeliveryCommands
from engine.control.dlq import DeadLetterCommands
from engine.control.erasure import CustomerErasures, ErasureCommands
from engine.control.inference import Inference
from engine.control.inspection import Inspections
from engine.control.machines import MachineCommands
from engine.control.replays import ReplayCommands
from engine.control.schemas import SchemaCommands
from engine.control.sessions import SessionCommands
from engine.control.transforms import TransformCommands
from engine.control.workspace_settings import SettingsCommands
from engine.ingest.uploads import Uploads
from engine.log.visible_log import VisibleDeliveries, VisibleEvents
from engine.outbound.remake import Remake
from engine.outbound.trials import Trials
from engine.plans.plans import Visibility
from engine.replay.admission import ReplaySamples
from engine.routing.judge import EventJudge
from storage.audit.log import PostgresAudit
from storage.backlog.queues import PostgresQueues
from storage.configuration.customers import Accounts
from storage.counters.analytics import PostgresAnalytics, PostgresEnvironmentCounters
from storage.counters.hours import Rollup
from storage.database.profiles import LOG, LOG_READERS, SEARCH, SEARCHERS
from storage.dead_letters.listing import PostgresDeadLetterLog
from storage.dead_letters.reading import PostgresDeadLetters
from storage.log.deliveries import PostgresDeliveries
from storage.log.events import PostgresEvents
from storage.log.troubles import PostgresTroubles
from storage.nodes.cluster import MachineRows
from storage.replays.jobs import PostgresJobs
from storage.retention.erasing import CustomerErasureRows, PostgresErasure


def services_of(
    server: ControlParts,
    admission: AdmissionControl,
    ingestion: Ingestion,
    judge: EventJudge,
    uploads: Uploads,
    unready: Callable[[], list[str]],
) -> Services:
    """Return the services that the routes call."""
    models, tables, now = server.models, server.tables, server.clock.now
    pages = server.bridge.make_pool(LOG, LOG_READERS)
    searchers = server.bridge.make_pool(SEARCH, SEARCHERS)
    visibility = Visibility(server.plans, now)
    deliveries = VisibleDeliveries(PostgresDeliveries(pages, searchers), visibility)
    event_log = PostgresEvents(pages, searchers)
    events = VisibleEvents(event_log, visibility)
    rollup = Rollup(server.bridge.pool, now, server.background.spawn)
    jobs = PostgresJobs(server.bridge.pool)
    schemas = SchemaCommands(tables.schemas, server.writer)
    audit_log = PostgresAudit(server.bridge.pool)
    dead_letters = DeadLetterCommands(
        deliveries,
        PostgresDeadLetters(pages),
        server.requeue,
        server.intake.entries,
        server.writer,
    )
    store = PostgresErasure(server.bridge.pool)
    erasure = ErasureCommands(
        deliveries, events, store, server.directory, dead_letters, server.writer
    )
    customer_erasures = CustomerErasures(
        CustomerErasureRows(server.bridge.pool, pages),
        store,
        erasure,
        server.destinations,
        tables.destinations,
        models,
        server.writer,
    )
    server.background.spawn(customer_erasures.run)
    return Services(
        admission=admission,
        models=models,
        judge=judge,
        commands=server.commands,
        destinations=server.destinations,
        rules=server.rules,
        inspections=Inspections(
            models,
            tables.destinations,
            deliveries,
            server.outbound,
            server.commands,
            server.identity,
            tables.schemas,
        ),
        keys=server.keys,
        last_use=server.last_use,
        sessions=SessionCommands(Accounts(server.bridge.pool), server.tokens, server.writer),
        console=ConsoleCommands(server.console, audit_log, server.writer),
        workspace_settings=SettingsCommands(tables.settings, server.writer),
        portal=server.carrying.portal,
        dead_letters=dead_letters,
        deliveries=DeliveryCommands(
            deliveries, server.directory, dead_letters, audit_log, server.writer
        ),
        dead_letter_log=PostgresDeadLetterLog(pages, searchers),
        replays=ReplayCommands(
            jobs, tables.destinations, server.writer, server.replays, visibility
        ),
        replay_store=jobs,
        replay_samples=ReplaySamples(server.replays.reading, server.identity),
        replay_speed=server.replays.per_second,
        destination_store=tables.destinations,
        rule_store=tables.rules,
        catalog=server.catalog,
        templates=server.templates,
        schemas=schemas,
        schema_store=tables.schemas,
        inference=Inference(events, tables.schemas, schemas),
        transforms=TransformCommands(
            tables.transforms,
            tables.destinations,
            server.transforms,
            server.writer,
            server.plans,
            server.quotas,
        ),
        transform_store=tables.transforms,
        trials=Trials(server.transforms),
        remake=Remake(tables.transforms, server.transforms, server.outbound.templates),
        filter_failures=server.filter_failures,
        files=FileServices(
            uploads=uploads,
            depot=server.filing.depot,
            library=server.filing.library,
            urls=server.carrying.urls,
            spooled=BodyBudget(
                server.settings.file_spool_bytes, server.settings.file_spool_bytes_workspace
            ),
        ),
        bodies=ingestion.bodies,
        customers=CustomerCommands(tables.customers, server.writer),
        customer_store=tables.customers,
        customer_erasures=customer_erasures,
        hops_of=ingestion.hops_of,
        tracing=server.tracing,
        delivery_log=deliveries,
        event_log=events,
        erasure=erasure,
        queues=PostgresQueues(pages),
        event_finder=event_log,
        visibility=visibility,
        plans=server.plans,
        analytics=PostgresAnalytics(server.bridge.pool, rollup.wanted),
        environment_counters=PostgresEnvironmentCounters(server.bridge.pool, rollup.wanted_all),
        troubles=PostgresTroubles(pages),
        surveys=Surveys(server.directory, server.directory.snapshots),
        audit_log=audit_log,
        throughput=server.throughput,
        live=server.live,
        watch=server.watch,
        nodes=server.membership.liveness,
        links={} if server.part_links is None else server.part_links.states,
        machines=MachineCommands(
            MachineRows(server.bridge.pool),
            server.membership.liveness,
            audit_log,
            server.writer,
        ),
        directory=server.directory,
        ingestion=make_blueprint(ingestion),
        streams=ingestion.bodies.streams,
        shares=server.sharing.control,
        now=now,
        unready=unready,
    )
