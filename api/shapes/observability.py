"""The shapes of answers about analytics, throughput, nodes, queues, look-ups and the audit log."""

from enum import Enum
from typing import Annotated, Any, Literal

from orjson import Fragment
from pydantic import Field
from typing_extensions import TypedDict

from api.shapes import DeliveryItem, Destination, DestinationHealth, Latency
from engine.core.vocabulary import DeliveryStatus, Environment, ErrorCategory
from engine.drafts import DocumentedAs, Uuid, doc
from engine.log.queues import Gate, LaneKind
from engine.model.instants import Timestamp
from engine.model.words import ActorKindName, GranularityName, PeriodName, Word
from engine.nodes.liveness import NodeState


class AnalyticsTotals(TypedDict):
    """The totals of the whole period."""

    attempts: Annotated[int, doc("Attempts, by the minute in which they ended.", ge=0)]
    delivered: Annotated[int, doc("Deliveries that succeeded.", ge=0)]
    failed: Annotated[int, doc("Attempts that failed.", ge=0)]
    retried: Annotated[int, doc("Attempts after the first of a delivery.", ge=0)]
    deadLettered: Annotated[
        int, doc("Deliveries, by the minute in which they first became dead letters.", ge=0)
    ]
    latencyMs: Latency


class AnalyticsPoint(AnalyticsTotals):
    """The counters from `at` until the next point."""

    at: Timestamp


From = TypedDict(
    "From", {"from": Annotated[Timestamp, doc("The beginning of the first point, inclusive.")]}
)


class CountedPeriod(From):
    """The counters of a period: totals, and a series of points."""

    period: PeriodName
    granularity: GranularityName
    to: Annotated[Timestamp, doc("The end of the last point, exclusive. It can be in the future.")]
    totals: AnalyticsTotals
    series: Annotated[
        list[AnalyticsPoint],
        doc(
            "One point for each minute, hour or day (UTC), oldest first, also for times without"
            " events."
        ),
    ]
    errorCategories: Annotated[
        dict[Word[ErrorCategory], int],
        doc("Failed attempts, by error category. Categories without failures are missing."),
    ]


class Analytics(CountedPeriod):
    """A destination's counters over a period."""

    destinationId: Uuid


class ThroughputPoint(TypedDict):
    """The counts of one second."""

    at: Timestamp
    accepted: Annotated[int, Field(ge=0)]
    delivered: Annotated[int, Field(ge=0)]
    failed: Annotated[int, Field(ge=0)]
    attempts: Annotated[int, Field(ge=0)]


class LoopHealth(TypedDict):
    """The long steps of the server's event loop since the process started. While a step runs, all other
    work of the process waits."""

    limitMs: Annotated[
        float, doc("The limit in milliseconds. The operator's log has each longer step.", ge=0)
    ]
    longSteps: Annotated[int, doc("Steps that took longer than the limit.", ge=0)]
    longestStepMs: Annotated[float, Field(ge=0)]
    mostStepCpuMs: Annotated[
        float,
        doc(
            "The most CPU time of any step. A long step with little CPU time was delayed by the "
            "machine.",
            ge=0,
        ),
    ]
    ownLongSteps: Annotated[
        int, doc("The long steps that worked for this environment or its workspace.", ge=0)
    ]


class Throughput(TypedDict):
    """An environment's rates over the last minute, and its waiting deliveries."""

    environment: Word[Environment]
    at: Timestamp
    windowSeconds: Literal[60]
    accepted: Annotated[float, doc("Events a second.", ge=0)]
    delivered: Annotated[float, doc("Deliveries a second.", ge=0)]
    failed: Annotated[float, doc("Failed attempts a second.", ge=0)]
    attempts: Annotated[float, doc("Attempts a second.", ge=0)]
    pending: Annotated[int, doc("Waiting deliveries, including RETRYING ones.", ge=0)]
    inFlight: Annotated[int, doc("Deliveries that are being sent or recorded.", ge=0)]
    series: Annotated[
        list[ThroughputPoint],
        doc("The last 60 seconds, oldest first. The last second is not complete."),
    ]
    loop: LoopHealth


LinkStateName = Literal["UP", "DOWN", "UNUSED"]
NodeRoleName = Literal["ACTIVE", "STANDBY"]


class Node(TypedDict):
    """A server process on this database, from its start to its end."""

    id: Annotated[Uuid, doc("An id that is new at each start.")]
    name: Annotated[
        str, doc("The name of its machine; with several workers, followed by the worker's number.")
    ]
    machine: Annotated[str, doc("The name of its machine.")]
    version: str
    address: Annotated[
        str | None,
        doc("The address for other servers; null if `peer_bind` is not set."),
    ]
    startedAt: Timestamp
    state: Annotated[
        Word[NodeState],
        doc("SILENT: no heartbeat for a second. DEAD: a standby takes over its part."),
    ]
    answering: Annotated[bool, doc("True for the server that answers this request.")]
    heartbeatAgeMs: Annotated[
        int, doc("The age of its last heartbeat, measured at most half a second ago.", ge=0)
    ]
    slots: Annotated[int, doc("The number of its slots. All workspaces together have 256.")]
    part: Annotated[int, doc("The number of its part of the workspaces, from 0.", ge=0)]
    parts: Annotated[int, doc("The number of parts into which the workspaces are divided.", ge=1)]
    drained: Annotated[bool, doc("True if its machine is drained: other machines take its parts.")]
    role: Annotated[
        NodeRoleName,
        doc("ACTIVE: it does the work of its part. STANDBY: it can take the part over."),
    ]
    acceptedPerSecond: Annotated[float, doc("Events a second over the last 10 seconds.", ge=0)]
    deliveredPerSecond: Annotated[float, doc("Deliveries a second over the last 10 seconds.", ge=0)]
    link: Annotated[
        LinkStateName,
        doc(
            "UP or DOWN: the result of the answering server's last connection to it. UNUSED: none."
        ),
    ]
    waiting: Annotated[int, doc("Deliveries in its memory that wait or are in flight.", ge=0)]


_Before = TypedDict("_Before", {"from": Any})


class AuditChange(_Before):
    """A field before and after a change. Null: the field was or is absent. Secrets are `***`."""

    to: Any


class AuditEntry(TypedDict):
    """One change of configuration."""

    id: Uuid
    createdAt: Timestamp
    action: Annotated[str, doc("The action, such as `destination.update`.")]
    objectType: str
    objectId: str
    actorType: ActorKindName
    actorId: str
    environment: Annotated[
        Word[Environment] | None, doc("Null for changes of the whole workspace.")
    ]
    requestId: str | None
    changes: Annotated[Fragment, DocumentedAs(dict[str, AuditChange])] | None
    previousFingerprint: Annotated[
        str | None,
        doc("The fingerprint of the secret that this rotation or revocation ended."),
    ]


class FoundKind(Enum):
    """The kind of a found object."""

    EVENT = "events/{id}"
    DELIVERY = "deliveries/{id}"
    DESTINATION = "destinations/{id}"
    ROUTING_RULE = "routing-rules/{id}"
    TRANSFORM_SCRIPT = "transform-scripts/{id}"
    REPLAY_JOB = "replay-jobs/{id}"
    SCHEMA = "schemas/{id}"
    FILE = "files/{id}"
    CUSTOMER = "customers/{id}"
    EVENT_TYPE = "events?eventType={id}"


class Found(TypedDict):
    """A found object."""

    kind: Word[FoundKind]
    id: Annotated[
        str, doc("The id. CUSTOMER: the customerExternalId. EVENT_TYPE: the type itself.")
    ]
    label: Annotated[str, doc("A name for people. For an event or a delivery, the event's type.")]


class Findings(TypedDict):
    """The found objects."""

    items: Annotated[list[Found], doc("At most 20 from each kind of search.")]


Depth = Annotated[int, Field(ge=1)]


class Lane(TypedDict):
    """The waiting deliveries of one destination that have the same ordering key. They are sent one after
    another."""

    key: Annotated[
        str | None,
        doc(
            "The value that the lane's events share. Null for DESTINATION, the one lane of a"
            " destination with ordering STRICT."
        ),
    ]
    kind: Word[LaneKind]
    depth: Annotated[Depth, doc("Its waiting deliveries, including the head.")]
    atLeast: Annotated[bool, doc("True if the lane can have more deliveries than `depth`.")]
    head: Annotated[
        DeliveryItem | None,
        doc("The delivery that must end first. Null if it ended during this request."),
    ]
    until: Annotated[
        Timestamp | None,
        doc("The earliest time of the head's next attempt. Null: now, or unknown."),
    ]


class DeliveryLane(TypedDict):
    """The lane of a delivery."""

    key: str | None
    kind: Word[LaneKind]


class DeliveryWait(TypedDict):
    """One reason why a delivery is not sent."""

    gate: Word[Gate]
    until: Annotated[Timestamp | None, doc("Null if it is unknown.")]
    detail: Annotated[str, doc("A sentence for people.")]
    blockedBy: Annotated[Uuid | None, doc("LANE: the delivery that must end first.")]


class DeliveryExplanation(TypedDict):
    """The reasons why a delivery waits."""

    deliveryId: Uuid
    status: Word[DeliveryStatus]
    waits: Annotated[
        list[DeliveryWait],
        doc("Every reason. Empty: the delivery is in flight, has ended, or is next."),
    ]
    lane: Annotated[DeliveryLane | None, doc("Null if its destination has no lanes.")]
    position: Annotated[
        int | None,
        doc(
            "The number of waiting deliveries before it in its lane; without a lane, in its"
            " priority class. Null if it does not wait, waits only for its schedule, or has more"
            " than 5,000 before it.",
            ge=0,
        ),
    ]


Count = Annotated[int, Field(ge=0)]


class Counts(TypedDict):
    """The present numbers of an environment."""

    at: Timestamp
    pending: Annotated[int, doc("Waiting deliveries, including RETRYING ones.", ge=0)]
    inFlight: Annotated[int, doc("Deliveries that are being sent or recorded.", ge=0)]
    retrying: Annotated[int, doc("Deliveries that wait for their next attempt.", ge=0)]
    inDlq: Annotated[int, doc("Deliveries in the dead-letter queue.", ge=0)]
    atLeast: Annotated[bool, doc("True if `retrying` or `inDlq` can be higher than counted.")]
    openCircuits: Annotated[int, doc("Destinations whose circuit is not CLOSED.", ge=0)]
    disabled: Annotated[int, doc("Destinations that are DISABLED.", ge=0)]


class OutcomeCounts(TypedDict):
    """Counters of attempts and deliveries, as in the analytics."""

    attempts: Count
    delivered: Count
    failed: Count
    retried: Count
    deadLettered: Count


class HourCounts(OutcomeCounts):
    """The counters of the hour (UTC) that begins at `at`."""

    at: Timestamp


class DestinationCounts(OutcomeCounts):
    """The counters of one destination."""

    destinationId: Uuid


class EnvironmentAnalytics(CountedPeriod):
    """The counters of all destinations of an environment over a period."""

    environment: Word[Environment]
    topDestinations: Annotated[
        list[DestinationCounts],
        doc("The destinations with the most attempts, the busiest first.", max_length=10),
    ]


class DestinationSummary(TypedDict):
    """A destination, its health, and its last 24 hours."""

    destination: Destination
    health: DestinationHealth
    totals: Annotated[OutcomeCounts, doc("The sums of the 24 hours in `series`.")]
    series: Annotated[
        list[HourCounts], doc("24 hours, oldest first; the last hour is not complete.")
    ]
    inDlq: Annotated[int, doc("Deliveries in the dead-letter queue, counted up to 1,000.", ge=0)]
    atLeast: Annotated[bool, doc("True if `inDlq` can be higher than counted.")]
