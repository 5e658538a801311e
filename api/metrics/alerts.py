"""The alert rules."""

from collections.abc import Sequence

from msgspec import Struct


class Alert(Struct, frozen=True):
    """A rule that fires after `when` (PromQL) was true for `since`."""

    name: str
    when: str
    since: str
    severity: str
    says: str
    then: str


ALERTS: Sequence[Alert] = (
    Alert(
        "AngariumDown",
        'up{job="angarium"} == 0',
        "1m",
        "critical",
        "Prometheus cannot read the metrics of {{ $labels.instance }}.",
        "Check that the server runs, and read its log.",
    ),
    Alert(
        "AngariumNotReady",
        "angarium_ready == 0",
        "1m",
        "critical",
        "{{ $labels.instance }} is not ready.",
        "Read the reasons with GET /readyz.",
    ),
    Alert(
        "AngariumCommitsStalled",
        "max by (instance, kind) (angarium_commit_stalled) == 1",
        "30s",
        "critical",
        "PostgreSQL does not commit {{ $labels.kind }}.",
        "Check PostgreSQL: does it run, is its disk full, does a lock block it?",
    ),
    Alert(
        "AngariumEventsRefused",
        "rate(angarium_intake_refused_total[5m]) > 0",
        "5m",
        "warning",
        "The server refuses events with 503, because too many wait for their commit.",
        "Compare the rate of angarium_events_accepted_total with the rate that PostgreSQL can "
        "commit.",
    ),
    Alert(
        "AngariumLagging",
        "histogram_quantile(0.9, sum by (le) (rate(angarium_delivery_lag_seconds_bucket[10m]))) > "
        "60",
        "10m",
        "warning",
        "A tenth of the deliveries arrives more than a minute after its event.",
        "Find the destinations with the most work: angarium_destination_pending, or the console.",
    ),
    Alert(
        "AngariumBacklogGrows",
        "sum(angarium_deliveries_pending) > 10000 "
        "and deriv(sum(angarium_deliveries_pending)[30m:1m]) > 0",
        "30m",
        "warning",
        "More than 10,000 deliveries wait, and their number grows.",
        "Raise the concurrency of slow destinations, or disable those that fail.",
    ),
    Alert(
        "AngariumDeadLetters",
        "sum by (workspace, environment) (increase(angarium_deliveries_dead_lettered_total[15m])) "
        "> 100",
        "0m",
        "warning",
        "More than 100 deliveries of {{ $labels.workspace }} became dead letters within 15 minutes.",
        "Find the causes with angarium dlq groups; retry the deliveries once the receiver works.",
    ),
    Alert(
        "AngariumDestinationFailing",
        "angarium_destination_failing == 1",
        "30m",
        "warning",
        "{{ $labels.name }} ({{ $labels.destination }}) has failed for half an hour.",
        "Read the error in the console, or with angarium destinations health.",
    ),
    Alert(
        "AngariumLoopHeld",
        "increase(angarium_loop_long_steps_total[5m]) > 10",
        "5m",
        "warning",
        "Steps of the event loop of {{ $labels.instance }} take too long.",
        "Find the work and the workspace of each step in the log (loop.step_held).",
    ),
    Alert(
        "AngariumComponentRestarts",
        "increase(angarium_component_restarts_total[15m]) > 0",
        "0m",
        "warning",
        "The component {{ $labels.component }} of {{ $labels.instance }} has restarted.",
        "Find the error in the log, and report it.",
    ),
    Alert(
        "AngariumDescriptorsScarce",
        "angarium_receiver_descriptors / angarium_receiver_descriptors_limit > 0.9",
        "5m",
        "warning",
        "Connections to receivers use nearly all file descriptors of their limit.",
        "Raise the process's limit of open files (ulimit -n).",
    ),
)
