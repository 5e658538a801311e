"""The shapes of answers.

A shape is a TypedDict with the names of the JSON, so an answer costs no more than a dict.
"""

from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

from orjson import Fragment
from pydantic import ConfigDict
from typing_extensions import TypedDict

from engine.control.views import DestinationDocument
from engine.control.workspace_settings import BrandColors, Branding, CustomerMay, SettingsDraft
from engine.core.health import CircuitState, HealthState, HoldReason
from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    HttpMethod,
    Origin,
    Priority,
)
from engine.drafts import Document, DocumentedAs, Uuid, doc, shown_of
from engine.model.instants import Timestamp
from engine.model.words import CallerKindName, ScopeName, Word

JsonObject = Annotated[Fragment, DocumentedAs(dict[str, Any])]  # the bytes are unchanged
Item = TypeVar("Item")
Looks = Annotated[dict[str, Any], DocumentedAs(shown_of(Branding, colors=shown_of(BrandColors)))]
Abilities = Annotated[dict[str, bool], DocumentedAs(shown_of(CustomerMay))]
ReturnUrl = Annotated[str | None, doc(SettingsDraft.model_fields["return_url"].description)]
PERMISSIONS = "The abilities that the workspace allows and its plan includes."
UNSEEN = "Null in an embed session without the permission `viewPayloads`."


class Page(TypedDict, Generic[Item]):
    """A page of a list, newest first."""

    items: list[Item]
    nextCursor: Annotated[str | None, doc("The `cursor` of the next page; null at the end.")]
    searchedTo: NotRequired[
        Annotated[
            Timestamp,
            doc(
                "Present if the search stopped early: everything that is newer than this time was"
                " examined. The next page continues from there."
            ),
        ]
    ]


class ErrorDetail(TypedDict):
    """One error in the request."""

    path: str
    message: str


class Error(TypedDict):
    """The reason why a request was refused."""

    code: str
    message: str
    details: NotRequired[list[ErrorDetail]]
    requestId: str


class Success(TypedDict):
    """The operation was done."""

    success: bool


class AuthContext(TypedDict):
    """The caller. Fields that do not apply are null."""

    kind: CallerKindName
    workspaceId: Uuid
    workspaceName: str
    environment: Word[Environment] | None
    scope: ScopeName | None
    keyId: Uuid | None
    customerAccountId: Uuid | None
    customerExternalId: str | None
    plan: str
    expiresAt: Timestamp | None
    returnUrl: ReturnUrl
    branding: Looks
    permissions: Annotated[Abilities | None, doc(f"{PERMISSIONS} Null for a key.")]


class Named(TypedDict):
    """The object of an id, within an environment."""

    id: Uuid
    environment: Word[Environment]


class Destination(Named, DestinationDocument):
    """A destination."""

    status: Word[DestinationStatus]
    transformVersion: Annotated[
        int | None, doc("The version of the transform script that is live.")
    ]
    createdAt: Timestamp
    updatedAt: Timestamp


class DestinationWithSecret(Destination):
    """A destination with its signing secret, shown only in this answer."""

    secret: Annotated[str | None, doc("Null if there is no new secret to show.")]


class TestResult(TypedDict):
    """The result of a test with a sample."""

    deliveryId: Annotated[Uuid | None, doc("Null with `dryRun`.")]
    success: bool
    skipped: Annotated[bool, doc("True if the transform script returned null: nothing was sent.")]
    responseStatus: int | None
    durationMs: Annotated[int | None, doc("Null with `dryRun`.")]
    errorCategory: Word[ErrorCategory] | None
    errorMessage: str | None
    responseBody: str | None
    request: Annotated["SentRequest | None", doc("With `dryRun`: the request that would be sent.")]


class Circuit(TypedDict):
    """The state of the destination's circuit."""

    state: Word[CircuitState]
    openedAt: Timestamp | None
    nextProbeAt: Timestamp | None


class Latency(TypedDict):
    """Percentiles in milliseconds; null without attempts."""

    p50: int | None
    p95: int | None
    p99: int | None


class Queue(TypedDict):
    """The waiting deliveries of a destination, and its rates."""

    pending: int
    inFlight: int
    concurrency: Annotated[int, doc("The configured value; with `auto` the present value.")]
    suggestedConcurrency: Annotated[
        int | None,
        doc(
            "The lowest concurrency that would keep up with the busiest ten seconds of the last"
            " five minutes, by Little's law. Null after fewer than 20 attempts."
        ),
    ]
    effectiveConcurrency: Annotated[
        int,
        doc(
            "The most attempts in flight: 1 with ordering STRICT and while the"
            " circuit probes, 0 while the destination is disabled."
        ),
    ]
    arrivalsPerSecond: Annotated[float, doc("Over the last minute.")]
    deliveredPerSecond: Annotated[float, doc("Over the last minute.")]
    drainSeconds: Annotated[
        float | None,
        doc(
            "The time in which these rates would clear the waiting deliveries. Null if none wait,"
            " or if at least as many arrive as are delivered."
        ),
    ]
    oldestPendingSeconds: Annotated[
        float | None,
        doc(
            "The age of the oldest waiting delivery. Null if none waits. In the stream also null"
            " while some wait only in the database, unless the stream is of one destination."
        ),
    ]


class ActorState(TypedDict):
    """The destination's actor."""

    state: str
    restarts: int
    mailbox: int
    startedAt: Timestamp | None
    snapshotAt: Timestamp | None


class DestinationHold(TypedDict):
    """The hold on a destination: the reason why its deliveries are not sent."""

    reason: Annotated[
        Word[HoldReason],
        doc(
            "RETRY_AFTER: the receiver asked for a pause. CIRCUIT: the circuit is open, or a probe "
            "is under way. RATE: the rate limit is used up. STORE: outcomes cannot be recorded "
            "fast enough."
        ),
    ]
    until: Annotated[Timestamp | None, doc("Null if it is unknown.")]


class DestinationHealth(TypedDict):
    """The present health of a destination."""

    destinationId: Uuid
    state: Word[HealthState]
    circuit: Circuit
    hold: DestinationHold | None
    successRate: Annotated[
        float | None, doc("The share of successful attempts in the last 5 minutes, 0 to 1.")
    ]
    consecutiveFailures: int
    failingSince: Annotated[
        Timestamp | None,
        doc(
            "The time of the first failure after the last success. Set while `state` is FAILING, and"
            " after ten failures in a row or an hour of waiting without a success. The next success"
            " makes it null."
        ),
    ]
    latencyMs: Latency
    lastSuccessAt: Timestamp | None
    lastFailureAt: Timestamp | None
    lastError: Annotated[str | None, doc(UNSEEN)]
    queue: Queue
    actor: ActorState


class DeliveryItem(TypedDict):
    """A delivery in a list."""

    id: Uuid
    eventId: Uuid
    eventType: str
    destinationId: Uuid
    environment: Word[Environment]
    status: Word[DeliveryStatus]
    kind: Word[DeliveryKind]
    priority: Word[Priority]
    originKind: Word[DeliveryOrigin]
    isReplay: bool
    skipped: Annotated[bool, doc("True if the transform script returned null: nothing was sent.")]
    attemptCount: int
    errorCategory: Word[ErrorCategory] | None
    responseStatus: int | None
    dlqStatus: Word[DlqStatus] | None
    createdAt: Timestamp
    updatedAt: Timestamp
    nextAttemptAt: Timestamp | None
    deliveredAt: Timestamp | None


class Attempt(TypedDict):
    """One recorded attempt."""

    number: int
    startedAt: Timestamp
    durationMs: int
    success: bool
    responseStatus: int | None
    responseHeaders: dict[str, str]
    responseBody: Annotated[str | None, doc(UNSEEN)]
    responseTruncated: bool
    errorCategory: Word[ErrorCategory] | None
    errorMessage: Annotated[str | None, doc(UNSEEN)]
    transformVersion: Annotated[int | None, doc("The version of the transform script that ran.")]
    logs: Annotated[str | None, doc("The output of the transform script, at most 4 KiB.")]


class SentRequest(TypedDict):
    """The last request sent, without its signature and with masked values."""

    method: Word[HttpMethod]
    url: str
    headers: dict[str, str]
    body: Annotated[
        str | None,
        doc(
            "The body, built again with the same script and template. Null if that is no longer"
            " possible."
        ),
    ]
    note: Annotated[str | None, doc("The reason why the body is missing or incomplete.")]


class EventItem(TypedDict):
    """An event in a list."""

    id: Uuid
    environment: Word[Environment]
    eventType: str
    occurredAt: Timestamp
    receivedAt: Timestamp
    source: str | None
    customerExternalId: str | None
    correlationId: str | None
    requestId: str | None
    idempotencyKey: str | None
    deliveries: int
    origin: Word[Origin]
    erasedAt: Annotated[
        Timestamp | None, doc("The time when the content was erased. Null: it was not erased.")
    ]
    traceparent: Annotated[
        str | None,
        doc(
            "The W3C Trace Context that its deliveries continue: the event's own; otherwise the span"
            " `accept` if the server traces the request; otherwise the request's. Null: no trace."
        ),
    ]


class Event(EventItem):
    """An event with its payload, metadata and attachments."""

    payload: Annotated[JsonObject | None, doc(UNSEEN)]
    metadata: JsonObject | None
    attachments: Annotated[Fragment, DocumentedAs(list[dict[str, Any]])] | None


class Delivery(DeliveryItem):
    """A delivery with its attempts, its event and the last request sent."""

    event: Annotated[Event | None, doc("Null if retention has removed it.")]
    request: Annotated[SentRequest | None, doc("Null before the first request is sent.")]
    lastError: Annotated[
        str | None,
        doc("The error of the last attempt; `cancelled` for a cancelled delivery. " + UNSEEN),
    ]
    replayOf: Uuid | None
    replayJobId: Uuid | None
    attempts: Annotated[list[Attempt], doc("The newest attempts, in the order of their numbers.")]
    attemptsCursor: Annotated[
        str | None, doc("The cursor of the earlier attempts. Null: these are all.")
    ]


class IngestResult(TypedDict):
    """An accepted event, which is durable."""

    id: Uuid
    eventType: str
    receivedAt: Timestamp
    duplicate: bool
    deliveries: int


class Rejection(TypedDict):
    """The reason why an event of a batch was rejected."""

    code: str
    message: str
    details: NotRequired[list[ErrorDetail]]


class BatchEntry(TypedDict):
    """The result for one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: Uuid | None
    deliveries: int | None
    error: Rejection | None


class BatchResult(TypedDict):
    """The results of a batch."""

    accepted: int
    duplicates: int
    rejected: int
    results: list[BatchEntry]


class Live(TypedDict):
    """The process answers."""

    status: Literal["ok"]


class AnyDocument(Document):
    """A document of another kind."""

    model_config = ConfigDict(extra="allow")
