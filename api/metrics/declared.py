"""The list of all metrics."""

from collections.abc import Sequence

from api.metrics.dead_letters import MOST
from api.metrics.reading import (
    DESTINATION,
    ENVIRONMENT,
    Metric,
    accepted,
    actors_of,
    answers,
    attempts,
    away,
    dead,
    delivered,
    destinations_of,
    door_of,
    groups,
    intake_of,
    nodes,
    restarts,
    scripts_of,
    server_of,
    spans,
    waiting,
    wire_of,
)
from api.metrics.scrape import ENVIRONMENTS
from engine.core.health import CircuitState, HealthState
from engine.core.vocabulary import ErrorCategory
from engine.model.version import VERSION
from engine.model.words import word

CATEGORIES = ", ".join(map(word, ErrorCategory))

METRICS: Sequence[Metric] = (
    # Events, deliveries and attempts.
    Metric(
        "angarium_events_accepted",
        "counter",
        "Events that were answered with 202, without the service's own events.",
        ENVIRONMENT,
        accepted,
    ),
    Metric(
        "angarium_deliveries_delivered",
        "counter",
        "Deliveries that a receiver has accepted.",
        ENVIRONMENT,
        delivered,
    ),
    Metric(
        "angarium_deliveries_dead_lettered",
        "counter",
        "Deliveries that have entered the dead-letter queue.",
        ENVIRONMENT,
        dead,
    ),
    Metric(
        "angarium_attempts",
        "counter",
        f"Attempts by result: SUCCESS, or {CATEGORIES}.",
        (*ENVIRONMENT, "result"),
        attempts,
    ),
    Metric(
        "angarium_deliveries_pending",
        "gauge",
        "Deliveries that wait, including those that wait for a retry.",
        ENVIRONMENT,
        lambda scrape: scrape.pending,
    ),
    Metric(
        "angarium_deliveries_in_flight",
        "gauge",
        "Deliveries that are being sent.",
        ENVIRONMENT,
        lambda scrape: scrape.in_flight,
    ),
    Metric(
        "angarium_attempt_duration_seconds",
        "histogram",
        "Duration of an attempt.",
        histogram=lambda measured: measured.durations,
    ),
    Metric(
        "angarium_delivery_lag_seconds",
        "histogram",
        "Time from an event's acceptance to the end of its successful attempt; replays do not "
        "count.",
        histogram=lambda measured: measured.lags,
    ),
    Metric(
        "angarium_dead_letters",
        "gauge",
        f"Deliveries in the dead-letter queue, counted up to {MOST:,} of an environment. A task counts"
        f" the first {ENVIRONMENTS} environments in turn, at least every minute.",
        ENVIRONMENT,
        lambda scrape: scrape.dead_letters,
    ),
    Metric(
        "angarium_circuits_open",
        "gauge",
        "Active destinations whose circuit is not closed.",
        ENVIRONMENT,
        lambda scrape: scrape.open_circuits,
    ),
    # The destinations with labels of their own.
    Metric(
        "angarium_destination_pending",
        "gauge",
        "Deliveries that wait for one of the named destinations.",
        DESTINATION,
        destinations_of(lambda each: each.pending),
    ),
    Metric(
        "angarium_destination_in_flight",
        "gauge",
        "Deliveries that are being sent to one of the named destinations.",
        DESTINATION,
        destinations_of(lambda each: each.in_flight),
    ),
    Metric(
        "angarium_destination_circuit_open",
        "gauge",
        "1 if the circuit of one of the named destinations is not closed.",
        DESTINATION,
        destinations_of(lambda each: each.circuit is not CircuitState.CLOSED),
    ),
    Metric(
        "angarium_destination_failing",
        "gauge",
        "1 if one of the named destinations is FAILING.",
        DESTINATION,
        destinations_of(lambda each: each.state is HealthState.FAILING),
    ),
    Metric(
        "angarium_destination_failures_in_a_row",
        "gauge",
        "Attempts that failed since the last success of one of the named destinations.",
        DESTINATION,
        destinations_of(lambda each: each.failures),
    ),
    # Commits.
    Metric(
        "angarium_commits",
        "counter",
        "Groups that were committed to PostgreSQL, by kind: accepted events, or outcomes.",
        ("kind",),
        groups,
    ),
    Metric(
        "angarium_commit_waiting",
        "gauge",
        "Accepted events or outcomes that wait for their commit, by kind.",
        ("kind",),
        waiting,
    ),
    Metric(
        "angarium_commit_stalled", "gauge", "1 while PostgreSQL does not commit.", ("kind",), away
    ),
    Metric(
        "angarium_database_connections_lent",
        "gauge",
        "Connections to PostgreSQL that queries of the control plane use.",
        read=server_of(lambda server: server.bridge.pool.statistics().lent),
    ),
    Metric(
        "angarium_database_queries_waiting",
        "gauge",
        "Queries of the control plane that wait for a connection to PostgreSQL.",
        read=server_of(lambda server: server.bridge.pool.statistics().waiting),
    ),
    Metric(
        "angarium_intake_waiting_bytes",
        "gauge",
        "Bytes of events that wait for their commit.",
        read=intake_of(lambda each: each.waiting_bytes),
    ),
    Metric(
        "angarium_intake_refused",
        "counter",
        "Events that were refused because too many waited.",
        read=intake_of(lambda each: each.refused),
    ),
    # Requests.
    Metric(
        "angarium_http_answers", "counter", "Answers to requests, by status.", ("status",), answers
    ),
    Metric(
        "angarium_http_connections",
        "gauge",
        "Open connections of clients.",
        read=door_of(lambda each: each.connections),
    ),
    Metric(
        "angarium_http_connections_accepted",
        "counter",
        "Connections that clients have opened.",
        read=door_of(lambda each: each.accepted),
    ),
    Metric(
        "angarium_http_connections_refused",
        "counter",
        "Connections that were refused, or closed while idle, because there were too many.",
        read=door_of(lambda each: each.turned_away + each.evicted),
    ),
    Metric(
        "angarium_http_handshakes_waiting",
        "gauge",
        "Clients whose TLS handshake has not begun. Networks of clients take turns.",
        read=door_of(lambda each: each.handshakes.waiting),
    ),
    Metric(
        "angarium_http_connections_handed_over",
        "counter",
        "Connections that were handed over to the worker of their workspace.",
        read=door_of(lambda each: each.handed),
    ),
    Metric(
        "angarium_http_requests_relayed",
        "counter",
        "Requests that were relayed to the worker of their workspace.",
        read=door_of(lambda each: each.relayed),
    ),
    Metric(
        "angarium_http_requests_under_way",
        "gauge",
        "Requests that the application is answering, or that wait for it. Ingestion is not counted.",
        read=door_of(lambda each: each.passing),
    ),
    Metric(
        "angarium_http_requests_refused",
        "counter",
        "Requests that were refused because the application was full.",
        read=door_of(lambda each: each.places.refused),
    ),
    Metric(
        "angarium_http_body_bytes",
        "gauge",
        "Bytes of request bodies in memory.",
        read=door_of(lambda each: each.body_bytes),
    ),
    Metric(
        "angarium_http_unread_bytes",
        "gauge",
        "Bytes of answers that clients have not read yet.",
        read=door_of(lambda each: each.untaken_bytes),
    ),
    # Receivers.
    Metric(
        "angarium_receiver_requests_in_flight",
        "gauge",
        "Requests to receivers that have no outcome yet.",
        read=wire_of(lambda each: each.in_flight),
    ),
    Metric(
        "angarium_receiver_connections_idle",
        "gauge",
        "Open connections to receivers that have no request under way.",
        read=wire_of(lambda each: each.idle),
    ),
    Metric(
        "angarium_receiver_connections_waiting",
        "gauge",
        "Connections to receivers that wait for a file descriptor or a place among those being "
        "opened.",
        read=wire_of(lambda each: each.descriptors_waiting + each.openings_waiting),
    ),
    Metric(
        "angarium_receiver_descriptors",
        "gauge",
        "File descriptors of connections to receivers.",
        read=wire_of(lambda each: each.descriptors),
    ),
    Metric(
        "angarium_receiver_descriptors_limit",
        "gauge",
        "Limit of file descriptors for connections to receivers.",
        read=wire_of(lambda each: each.descriptors_limit),
    ),
    # Actors, replays, scripts.
    Metric(
        "angarium_actors",
        "gauge",
        "Destinations with an actor in memory.",
        read=actors_of(lambda each: each.actors),
    ),
    Metric(
        "angarium_actor_restarts",
        "counter",
        "Actors that were started again after an error.",
        read=actors_of(lambda each: each.restarts),
    ),
    Metric(
        "angarium_held_bytes",
        "gauge",
        "Bytes of deliveries in memory.",
        read=actors_of(lambda each: each.held_bytes),
    ),
    Metric(
        "angarium_replay_jobs_running",
        "gauge",
        "Replay jobs under way.",
        read=server_of(lambda server: len(server.replays.jobs)),
    ),
    Metric(
        "angarium_transform_runs",
        "counter",
        "Runs of transform scripts.",
        read=scripts_of(lambda each: each.runs),
    ),
    Metric(
        "angarium_transform_failures",
        "counter",
        "Runs of transform scripts that failed.",
        read=scripts_of(lambda each: each.failures),
    ),
    Metric(
        "angarium_transform_waiting",
        "gauge",
        "Runs of transform scripts that wait for a worker.",
        read=scripts_of(lambda each: each.waiting),
    ),
    Metric(
        "angarium_own_events_dropped",
        "counter",
        "Events of the service's own that were dropped because too many waited.",
        read=server_of(lambda server: server.own_events.statistics().dropped),
    ),
    Metric(
        "angarium_trace_spans",
        "counter",
        "Spans by result: exported, failed (the collector did not accept them), dropped (too many "
        "waited for ANGARIUM_TRACES_RATE or for the collector).",
        ("result",),
        spans,
    ),
    # The process and its nodes.
    Metric(
        "angarium_ready",
        "gauge",
        "1 while /readyz answers 200.",
        read=server_of(lambda server: not server.unready()),
    ),
    Metric(
        "angarium_build",
        "gauge",
        "1, with the version.",
        ("version",),
        lambda _scrape: [((VERSION,), 1)],
    ),
    Metric(
        "angarium_node_live",
        "gauge",
        "1 if the server of this name is live, as the answering server observes.",
        ("node", "role"),
        nodes,
    ),
    Metric(
        "angarium_loop_long_steps",
        "counter",
        "Steps of the event loop that took longer than ANGARIUM_LOOP_STEP.",
        read=server_of(lambda server: server.watch.statistics().long_steps),
    ),
    Metric(
        "angarium_loop_longest_step_seconds",
        "gauge",
        "The longest step of the event loop since the start.",
        read=server_of(lambda server: server.watch.statistics().longest_s),
    ),
    Metric(
        "angarium_component_restarts",
        "counter",
        "Restarts of a component after an error.",
        ("component",),
        restarts,
    ),
)
