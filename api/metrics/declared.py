"""The list of all metrics: the source of the exposition, the documentation and the dashboard."""

from collections.abc import Sequence

from api.metrics.reading import (
    DESTINATION,
    ENVIRONMENT,
    Metric,
    accepted,
    actors_of,
    answers,
    attempts,
    away,
    busiest_of,
    dead,
    delivered,
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
from engine.core.health import CircuitState, HealthState
from engine.core.vocabulary import ErrorCategory
from engine.model.version import VERSION
from engine.model.words import word

CATEGORIES = ", ".join(map(word, ErrorCategory))

METRICS: Sequence[Metric] = (
    # What customers see.
    Metric(
        "angarium_events_accepted",
        "counter",
        "Events that were answered with 202; the service's own do not count.",
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
        "Deliveries that wait, for a retry too.",
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
        "Time from an event's acceptance to the end of its successful attempt; replays do not count.",
        histogram=lambda measured: measured.lags,
    ),
    # The destinations with the most work.
    Metric(
        "angarium_destination_pending",
        "gauge",
        "Deliveries that wait for one of the destinations with the most work.",
        DESTINATION,
        busiest_of(lambda each: each.pending),
    ),
    Metric(
        "angarium_destination_in_flight",
        "gauge",
        "Deliveries that are being sent to one of the destinations with the most work.",
        DESTINATION,
        busiest_of(lambda each: each.in_flight),
    ),
    Metric(
        "angarium_destination_circuit_open",
        "gauge",
        "1 where the circuit of one of the destinations with the most work is not closed.",
        DESTINATION,
        busiest_of(lambda each: each.circuit is not CircuitState.CLOSED),
    ),
    Metric(
        "angarium_destination_failing",
        "gauge",
        "1 where one of the destinations with the most work is FAILING.",
        DESTINATION,
        busiest_of(lambda each: each.state is HealthState.FAILING),
    ),
    # Commits.
    Metric(
        "angarium_commits",
        "counter",
        "Groups that were committed to PostgreSQL: of accepted events, and of outcomes.",
        ("kind",),
        groups,
    ),
    Metric(
        "angarium_commit_waiting",
        "gauge",
        "Events and outcomes that wait for their commit.",
        ("kind",),
        waiting,
    ),
    Metric(
        "angarium_commit_stalled", "gauge", "1 while PostgreSQL does not commit.", ("kind",), away
    ),
    Metric(
        "angarium_intake_waiting_bytes",
        "gauge",
        "Bytes of events that wait for their commit.",
        (),
        intake_of(lambda each: each.waiting_bytes),
    ),
    Metric(
        "angarium_intake_refused",
        "counter",
        "Events that were refused because too many waited.",
        (),
        intake_of(lambda each: each.refused),
    ),
    # Requests.
    Metric(
        "angarium_http_answers", "counter", "Answers to requests, by status.", ("status",), answers
    ),
    Metric(
        "angarium_http_connections",
        "gauge",
        "Open connections of clients.",
        (),
        door_of(lambda each: each.connections),
    ),
    Metric(
        "angarium_http_connections_accepted",
        "counter",
        "Connections that clients have opened.",
        (),
        door_of(lambda each: each.accepted),
    ),
    Metric(
        "angarium_http_connections_refused",
        "counter",
        "Connections that were refused, or closed while idle, because there were too many.",
        (),
        door_of(lambda each: each.turned_away + each.evicted),
    ),
    Metric(
        "angarium_http_handshakes_waiting",
        "gauge",
        "Clients whose TLS handshake has not begun. Networks of clients take turns.",
        (),
        door_of(lambda each: each.handshakes.waiting),
    ),
    Metric(
        "angarium_http_requests_under_way",
        "gauge",
        "Requests that the application answers, or that wait for it. Ingestion is not among them.",
        (),
        door_of(lambda each: each.passing),
    ),
    Metric(
        "angarium_http_requests_refused",
        "counter",
        "Requests that were refused because the application was full.",
        (),
        door_of(lambda each: each.places.refused),
    ),
    Metric(
        "angarium_http_body_bytes",
        "gauge",
        "Bytes of request bodies in memory.",
        (),
        door_of(lambda each: each.body_bytes),
    ),
    Metric(
        "angarium_http_unread_bytes",
        "gauge",
        "Bytes of answers that clients have not read yet.",
        (),
        door_of(lambda each: each.untaken_bytes),
    ),
    # Receivers.
    Metric(
        "angarium_receiver_requests_in_flight",
        "gauge",
        "Requests to receivers that have begun and have no outcome yet.",
        (),
        wire_of(lambda each: each.in_flight),
    ),
    Metric(
        "angarium_receiver_connections_idle",
        "gauge",
        "Open connections to receivers without a request.",
        (),
        wire_of(lambda each: each.idle),
    ),
    Metric(
        "angarium_receiver_connections_waiting",
        "gauge",
        "Connections to receivers that wait for a file descriptor or a place among those being opened.",
        (),
        wire_of(lambda each: each.descriptors_waiting + each.openings_waiting),
    ),
    Metric(
        "angarium_receiver_descriptors",
        "gauge",
        "File descriptors of connections to receivers.",
        (),
        wire_of(lambda each: each.descriptors),
    ),
    Metric(
        "angarium_receiver_descriptors_limit",
        "gauge",
        "Most file descriptors of connections to receivers.",
        (),
        wire_of(lambda each: each.descriptors_limit),
    ),
    # Actors, replays, scripts.
    Metric(
        "angarium_actors",
        "gauge",
        "Destinations with an actor in memory.",
        (),
        actors_of(lambda each: each.actors),
    ),
    Metric(
        "angarium_actor_restarts",
        "counter",
        "Actors that were started again after an error.",
        (),
        actors_of(lambda each: each.restarts),
    ),
    Metric(
        "angarium_held_bytes",
        "gauge",
        "Bytes of deliveries in memory.",
        (),
        actors_of(lambda each: each.held_bytes),
    ),
    Metric(
        "angarium_replay_jobs_running",
        "gauge",
        "Replay jobs under way.",
        (),
        server_of(lambda server: len(server.replays.jobs)),
    ),
    Metric(
        "angarium_transform_runs",
        "counter",
        "Runs of transform scripts.",
        (),
        scripts_of(lambda each: each.runs),
    ),
    Metric(
        "angarium_transform_failures",
        "counter",
        "Runs of transform scripts that failed.",
        (),
        scripts_of(lambda each: each.failures),
    ),
    Metric(
        "angarium_transform_waiting",
        "gauge",
        "Runs of transform scripts that wait for a worker.",
        (),
        scripts_of(lambda each: each.waiting),
    ),
    Metric(
        "angarium_own_events_dropped",
        "counter",
        "Events of the service's own that were dropped because too many waited.",
        (),
        server_of(lambda server: server.own_events.statistics().dropped),
    ),
    Metric(
        "angarium_trace_spans",
        "counter",
        "Spans by result: exported, failed (the collector did not take them), dropped (too many "
        "waited for ANGARIUM_TRACES_RATE or for the collector).",
        ("result",),
        spans,
    ),
    # The process and its nodes.
    Metric(
        "angarium_ready",
        "gauge",
        "1 while /readyz answers 200.",
        (),
        server_of(lambda server: not server.unready()),
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
        "1 where the server of this name is live, as seen by the one that answers.",
        ("node", "role"),
        nodes,
    ),
    Metric(
        "angarium_loop_long_steps",
        "counter",
        "Steps of the event loop beyond its limit.",
        (),
        server_of(lambda server: server.watch.statistics().long_steps),
    ),
    Metric(
        "angarium_loop_longest_step_seconds",
        "gauge",
        "The longest step of the event loop since the start.",
        (),
        server_of(lambda server: server.watch.statistics().longest_s),
    ),
    Metric(
        "angarium_component_restarts",
        "counter",
        "Restarts of a component after an error.",
        ("component",),
        restarts,
    ),
)
