"""Shapes of answers on observation: analytics, overview, throughput, queues, look-ups, the audit
log."""

from enum import Enum
from typing import Annotated, Any, Literal

from orjson import Fragment
from pydantic import Field
from typing_extensions import TypedDict

from api.shapes import DeliveryItem, Destination, DestinationHealth, Latency
from engine.core.vocabulary import DeliveryStatus, Environment, ErrorCategory
from engine.drafts import DocumentedAs, Uuid, told
from engine.log.queues import Gate, LaneKind
from engine.model.instants import Timestamp
from engine.model.words import ActorKindName, GranularityName, PeriodName, Word


class AnalyticsTotals(TypedDict):
    """The totals of the whole period."""

    attempts: Annotated[int, told("Attempts, by the minute in which they ended.", ge=0)]
    delivered: Annotated[int, told("Deliveries.", ge=0)]
    failed: Annotated[int, told("Attempts.", ge=0)]
    retried: Annotated[int, told("Attempts with a number above 1.", ge=0)]
    deadLettered: Annotated[
        int, told("Deliveries, by the minute in which they first became dead letters.", ge=0)
    ]
    latencyMs: Latency


class AnalyticsPoint(AnalyticsTotals):
    """The counters from `at` until the next point."""

    at: Timestamp


From = TypedDict(
    "From", {"from": Annotated[Timestamp, told("Inclusive, the beginning of the first point.")]}
)


class CountedPeriod(From):
    """The counters of a period: totals, and a series of points."""

    period: PeriodName
    granularity: GranularityName
    to: Annotated[
        Timestamp, told("Exclusive: the end of the last point, which can lie in the future.")
    ]
    totals: AnalyticsTotals
    series: Annotated[
        list[AnalyticsPoint],
        told(
            "One point for each minute, hour or day (UTC), oldest first, also for times without"
            " events."
        ),
    ]
    errorCategories: Annotated[
        dict[Word[ErrorCategory], int],
        told("Failed attempts by error category; categories without failures are left out."),
    ]


class Analytics(CountedPeriod):
    """A destination's counters over a period, from its delivery log."""

    destinationId: Uuid


class ThroughputPoint(TypedDict):
    """The counts of one second."""

    at: Timestamp
    accepted: Annotated[int, Field(ge=0)]
    delivered: Annotated[int, Field(ge=0)]
    failed: Annotated[int, Field(ge=0)]
    attempts: Annotated[int, Field(ge=0)]


class LoopHealth(TypedDict):
    """How long a step of the process kept other work waiting, since its start: over all
    environments."""

    limitMs: Annotated[
        float, told("The limit in milliseconds. The operator's log has each longer step.", ge=0)
    ]
    longSteps: Annotated[int, told("Steps beyond the limit.", ge=0)]
    longestStepMs: Annotated[float, Field(ge=0)]
    mostStepCpuMs: Annotated[
        float,
        told("The most CPU of any step. A long step of little CPU was held by the machine.", ge=0),
    ]
    ownLongSteps: Annotated[
        int, told("The steps that worked for this environment or its workspace.", ge=0)
    ]


class Throughput(TypedDict):
    """The counts of an environment over the last minute, second by second, and its waiting
    deliveries."""

    environment: Word[Environment]
    at: Timestamp
    windowSeconds: Literal[60]
    accepted: Annotated[float, told("Events a second.", ge=0)]
    delivered: Annotated[float, told("Deliveries a second.", ge=0)]
    failed: Annotated[float, told("Failed attempts a second.", ge=0)]
    attempts: Annotated[float, told("Attempts a second.", ge=0)]
    pending: Annotated[int, told("Deliveries that wait now, RETRYING ones too.", ge=0)]
    inFlight: Annotated[int, told("Deliveries that are sent and not yet recorded.", ge=0)]
    series: Annotated[
        list[ThroughputPoint],
        told("The last 60 seconds, oldest first. The last one is not over yet."),
    ]
    loop: LoopHealth


NodeStateName = Literal["LIVE", "SILENT", "DEAD"]
LinkStateName = Literal["UP", "DOWN", "UNUSED"]
NodeRoleName = Literal["ACTIVE", "STANDBY"]


class Node(TypedDict):
    """A server process on this database, from its start to its end."""

    id: Annotated[Uuid, told("New at each start.")]
    name: Annotated[str, told("The name of its machine; workers have their number behind it.")]
    machine: Annotated[str, told("The name of its machine.")]
    version: str
    address: Annotated[
        str | None,
        told("The address for other servers. Null: none, since `peer_bind` is not set."),
    ]
    startedAt: Timestamp
    state: Annotated[
        NodeStateName,
        told("SILENT: no heartbeat for a second. DEAD: a standby takes over from it."),
    ]
    answering: Annotated[bool, told("Whether this is the server that answers.")]
    heartbeatAgeMs: Annotated[
        int, told("When its last heartbeat was seen, at most half a second ago.", ge=0)
    ]
    slots: Annotated[int, told("How many of the 256 slots of all workspaces it has.")]
    part: Annotated[
        int, told("The part of the workspaces that it works for or stands by for, from 0.", ge=0)
    ]
    parts: Annotated[int, told("How many parts the workspaces are shared in.", ge=1)]
    drained: Annotated[bool, told("Whether its machine is not to work: another one has its parts.")]
    role: Annotated[
        NodeRoleName,
        told("ACTIVE: it does the work of its part. STANDBY: it can take the part over."),
    ]
    acceptedPerSecond: Annotated[float, told("Events a second over the last 10 seconds.", ge=0)]
    deliveredPerSecond: Annotated[
        float, told("Deliveries a second over the last 10 seconds.", ge=0)
    ]
    link: Annotated[
        LinkStateName,
        told("Whether the answering server reached it when it last passed a request on to it."),
    ]
    waiting: Annotated[int, told("Deliveries that wait or are sent, in its memory.", ge=0)]


_Before = TypedDict("_Before", {"from": Any})


class AuditChange(_Before):
    """A field before and after a change; null where it was or is absent. Secrets are `***`."""

    to: Any


class AuditEntry(TypedDict):
    """One change of configuration."""

    id: Uuid
    createdAt: Timestamp
    action: Annotated[str, told("Such as `destination.update`.")]
    objectType: str
    objectId: str
    actorType: ActorKindName
    actorId: str
    environment: Annotated[
        Word[Environment] | None, told("Null for changes of the whole workspace.")
    ]
    requestId: str | None
    changes: Annotated[Fragment, DocumentedAs(dict[str, AuditChange])] | None
    previousFingerprint: Annotated[
        str | None, told("The key's secret that a rotation or revocation ended.")
    ]


class FoundKind(Enum):
    """The kind of something found."""

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
    """Something that was found."""

    kind: Word[FoundKind]
    id: Annotated[str, told("CUSTOMER: the customerExternalId. EVENT_TYPE: the type itself.")]
    label: Annotated[str, told("A name for people: of an event or delivery, the event's type.")]


class Findings(TypedDict):
    """Everything that was found."""

    items: Annotated[list[Found], told("At most 20 customers and 20 event types.")]


Depth = Annotated[int, Field(ge=1)]


class Lane(TypedDict):
    """Deliveries of one destination that are sent one after another."""

    key: Annotated[
        str | None,
        told(
            "The value that the lane's events share; null for DESTINATION, the lane of ordering"
            " STRICT."
        ),
    ]
    kind: Word[LaneKind]
    depth: Annotated[Depth, told("Deliveries that wait in it, the head among them.")]
    atLeast: Annotated[bool, told("The lane can have more deliveries than `depth` counts.")]
    head: Annotated[
        DeliveryItem | None,
        told("The delivery that must end first. Null if it ended during this request."),
    ]
    until: Annotated[
        Timestamp | None,
        told("The earliest instant of the head's next attempt. Null: now, or not known."),
    ]


class DeliveryLane(TypedDict):
    """The lane of a delivery."""

    key: str | None
    kind: Word[LaneKind]


class DeliveryWait(TypedDict):
    """One reason why a delivery is not sent."""

    gate: Word[Gate]
    until: Annotated[Timestamp | None, told("Null if it is not known.")]
    detail: Annotated[str, told("A sentence for people.")]
    blockedBy: Annotated[Uuid | None, told("LANE: the delivery that must end first.")]


class DeliveryExplanation(TypedDict):
    """The reasons why a delivery waits."""

    deliveryId: Uuid
    status: Word[DeliveryStatus]
    waits: Annotated[
        list[DeliveryWait],
        told("Every gate that it has not passed. Empty: it is in flight, has ended, or is next."),
    ]
    lane: Annotated[DeliveryLane | None, told("Null if its destination has no lanes.")]
    position: Annotated[
        int | None,
        told(
            "How many waiting deliveries go before it in its lane, or else in its class."
            " Null if it waits only for its schedule, does not wait, or is behind 5,000"
            " others.",
            ge=0,
        ),
    ]


Count = Annotated[int, Field(ge=0)]


class Counts(TypedDict):
    """The numbers of an environment's present objects."""

    at: Timestamp
    pending: Annotated[int, told("Deliveries that wait now, RETRYING ones too.", ge=0)]
    inFlight: Annotated[int, told("Deliveries that are sent and not yet recorded.", ge=0)]
    retrying: Annotated[int, told("Deliveries that wait for their next attempt.", ge=0)]
    inDlq: Annotated[int, told("Deliveries in the dead-letter queue.", ge=0)]
    atLeast: Annotated[bool, told("There can be more in `retrying` or `inDlq` than were counted.")]
    openCircuits: Annotated[
        int, told("Destinations whose circuit is not CLOSED and that have work or an actor.", ge=0)
    ]
    disabled: Annotated[int, told("Destinations that are DISABLED.", ge=0)]


class OutcomeCounts(TypedDict):
    """Counters of the delivery log. Analytics explain each."""

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
    """The counters of all destinations of an environment over a period, from its delivery log."""

    environment: Word[Environment]
    topDestinations: Annotated[
        list[DestinationCounts],
        told("The destinations with the most attempts, the busiest first.", max_length=10),
    ]


class DestinationSummary(TypedDict):
    """A destination, its health, and its last 24 hours."""

    destination: Destination
    health: DestinationHealth
    totals: Annotated[OutcomeCounts, told("The sums of the 24 hours in `series`.")]
    series: Annotated[
        list[HourCounts], told("24 hours, oldest first; the last one is not over yet.")
    ]
    inDlq: Annotated[int, told("Deliveries in the dead-letter queue, counted up to 1,000.", ge=0)]
    atLeast: Annotated[bool, told("There can be more in `inDlq` than were counted.")]
