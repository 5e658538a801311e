"""The control plane's side of the composition: what its routes call, made of the server's parts."""

from typing import TYPE_CHECKING

from api.gate import Gate
from api.ingestion import Ingestion
from api.ingestion_routes import make_blueprint
from api.services import Services
from engine.control.inspection import Inspections
from engine.control.replays import Replays
from engine.control.rules import RoutingRules
from storage.deliveries import PostgresDeliveries
from storage.events import PostgresEvents
from storage.replays import PostgresJobs

if TYPE_CHECKING:
    from api.composition import Server


def services_of(server: "Server", gate: Gate, ingestion: Ingestion) -> Services:
    """Return everything that the routes call."""
    models, tables, now = server.models, server.tables, server.clock.now
    deliveries = PostgresDeliveries(server.bridge.pool)
    jobs = PostgresJobs(server.bridge.pool)
    return Services(
        gate=gate,
        models=models,
        commands=server.commands,
        destinations=server.destinations,
        rules=RoutingRules(
            tables.rules,
            tables.destinations,
            server.commands,
            server.projection,
            server.identity,
            now,
        ),
        inspections=Inspections(
            models,
            tables.destinations,
            deliveries,
            server.wire,
            server.commands,
            server.identity,
        ),
        replays=Replays(
            jobs, tables.destinations, server.commands, server.replays, server.identity, now
        ),
        replay_store=jobs,
        replay_speed=server.replays.per_second,
        destination_store=tables.destinations,
        rule_store=tables.rules,
        filter_failures=server.filter_failures,
        delivery_log=deliveries,
        event_log=PostgresEvents(server.bridge.pool),
        directory=server.directory,
        ingestion=make_blueprint(ingestion),
        now=now,
        unready=server.unready,
    )
