"""The shapes of answers. Handlers return them, mypy checks them, the OpenAPI document is made of them.

A shape is a TypedDict in the words of the JSON: an answer costs no more than a dict.
"""

from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

from orjson import Fragment
from pydantic import ConfigDict
from typing_extensions import TypedDict

from engine.control.views import DestinationDocument
from engine.control.workspace_settings import BrandColors, Branding, CustomerMay, SettingsDraft
from engine.core.health import CircuitState, HealthState, HoldReason
from engine.core.vocabulary import (
    CredentialKind,
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
from engine.drafts import Document, DocumentedAs, Uuid, shown_of, told
from engine.model.instants import Timestamp
from engine.model.words import ScopeName, Word

JsonObject = Annotated[Fragment, DocumentedAs(dict[str, Any])]  # goes out as it came
Item = TypeVar("Item")
# What callers may leave out, answers hold.
Looks = Annotated[dict[str, Any], DocumentedAs(shown_of(Branding, colors=shown_of(BrandColors)))]
Abilities = Annotated[dict[str, bool], DocumentedAs(shown_of(CustomerMay))]
ReturnUrl = Annotated[str | None, told(SettingsDraft.model_fields["return_url"].description)]
PERMISSIONS = "What to offer: what the workspace lets its customers do, and its plan allows."
UNSEEN = "Null in an embed session whose workspace does not let its customers `viewPayloads`."


class Page(TypedDict, Generic[Item]):
    """A page of a list, newest first."""

    items: list[Item]
    nextCursor: Annotated[
        str | None, told("Give it as `cursor` for the next page; null at the end.")
    ]
    searchedTo: NotRequired[
        Annotated[
            Timestamp,
            told(
                "There where the page had to stop: everything that came later was looked at. The next "
                "page goes on from there."
            ),
        ]
    ]


class ErrorDetail(TypedDict):
    """One offending place."""

    path: str
    message: str


class Error(TypedDict):
    """Why a request was refused."""

    code: str
    message: str
    details: NotRequired[list[ErrorDetail]]
    requestId: str


class Success(TypedDict):
    """Done."""

    success: bool


class AuthContext(TypedDict):
    """Who calls. What does not apply is null."""

    kind: Word[CredentialKind]
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
    permissions: Annotated[Abilities | None, told(f"{PERMISSIONS} Null for a key.")]


class Named(TypedDict):
    """What an id names within an environment."""

    id: Uuid
    environment: Word[Environment]


class Destination(Named, DestinationDocument):
    """A destination."""

    status: Word[DestinationStatus]
    createdAt: Timestamp
    updatedAt: Timestamp


class DestinationWithSecret(Destination):
    """A destination with its signing secret, shown this once; null where there is none to show."""

    secret: str | None


class TestResult(TypedDict):
    """What became of a sample."""

    deliveryId: Annotated[Uuid | None, told("Null with `dryRun`.")]
    success: bool
    skipped: Annotated[bool, told("The transform script returned null: nothing was sent.")]
    responseStatus: int | None
    durationMs: Annotated[int | None, told("Null with `dryRun`.")]
    errorCategory: Word[ErrorCategory] | None
    errorMessage: str | None
    responseBody: str | None
    request: Annotated["SentRequest | None", told("With `dryRun`: what would be sent.")]


class Circuit(TypedDict):
    """Whether deliveries are let through."""

    state: Word[CircuitState]
    openedAt: Timestamp | None
    nextProbeAt: Timestamp | None


class Latency(TypedDict):
    """Percentiles in milliseconds; null without attempts."""

    p50: int | None
    p95: int | None
    p99: int | None


class Queue(TypedDict):
    """What waits."""

    pending: int
    inFlight: int
    concurrency: Annotated[int, told("As set; the present one where that is `auto`.")]
    suggestedConcurrency: Annotated[
        int | None,
        told(
            "The least that keeps up with the busiest ten seconds of the last five minutes, by "
            "Little's law; null after fewer than 20 attempts."
        ),
    ]
    effectiveConcurrency: Annotated[
        int,
        told(
            "How many attempts may be in flight: 1 with ordering STRICT and while the circuit probes, "
            "0 while the destination is disabled."
        ),
    ]
    arrivalsPerSecond: Annotated[float, told("Over the last minute.")]
    deliveredPerSecond: Annotated[float, told("Over the last minute.")]
    drainSeconds: Annotated[
        float | None,
        told(
            "Until what waits has been worked off at these rates; null where nothing waits, or as much "
            "arrives as is delivered."
        ),
    ]
    oldestPendingSeconds: Annotated[
        float | None,
        told(
            "The age of the oldest delivery that waits, by when it was made; null where nothing waits. A "
            "stream of several destinations has null while some wait only in the database."
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
    """What keeps a destination's deliveries from being sent."""

    reason: Annotated[
        Word[HoldReason],
        told(
            "RETRY_AFTER: the receiver asked for it. CIRCUIT: it is open, or a probe is under way. RATE: "
            "the rate limit is used up. STORE: outcomes cannot be recorded fast enough."
        ),
    ]
    until: Annotated[Timestamp | None, told("Null where that is not known.")]


class DestinationHealth(TypedDict):
    """How a destination does, from its live actor."""

    destinationId: Uuid
    state: Word[HealthState]
    circuit: Circuit
    hold: DestinationHold | None
    successRate: Annotated[float | None, told("0-1 over the last 5 minutes.")]
    consecutiveFailures: int
    failingSince: Annotated[
        Timestamp | None,
        told(
            "When ten attempts in a row had failed, or something had waited for an hour without a "
            "success. Null after the next success."
        ),
    ]
    latencyMs: Latency
    lastSuccessAt: Timestamp | None
    lastFailureAt: Timestamp | None
    lastError: Annotated[str | None, told(UNSEEN)]
    queue: Queue
    actor: ActorState


class DeliveryItem(TypedDict):
    """A delivery, as lists show it."""

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
    skipped: Annotated[bool, told("Its transform script returned null: nothing was sent.")]
    attemptCount: int
    errorCategory: Word[ErrorCategory] | None
    responseStatus: int | None
    dlqStatus: Word[DlqStatus] | None
    createdAt: Timestamp
    updatedAt: Timestamp
    nextAttemptAt: Timestamp | None
    deliveredAt: Timestamp | None


class Attempt(TypedDict):
    """One attempt, as it was recorded."""

    number: int
    startedAt: Timestamp
    durationMs: int
    success: bool
    responseStatus: int | None
    responseHeaders: dict[str, str]
    responseBody: Annotated[str | None, told(UNSEEN)]
    responseTruncated: bool
    errorCategory: Word[ErrorCategory] | None
    errorMessage: Annotated[str | None, told(UNSEEN)]
    transformVersion: Annotated[int | None, told("Of the transform script that ran.")]
    logs: Annotated[str | None, told("What the transform script printed, at most 4 KiB.")]


class SentRequest(TypedDict):
    """The request as it was last sent, without its signature and with masked values."""

    method: Word[HttpMethod]
    url: str
    headers: dict[str, str]
    body: Annotated[
        str | None,
        told(
            "As the script and the template that it went through made it, made again; null where "
            "that cannot be done any more."
        ),
    ]
    note: Annotated[str | None, told("Why there is no body, or not all of it.")]


class EventItem(TypedDict):
    """An event, as lists show it."""

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
        Timestamp | None, told("When its content was erased; null while it is there.")
    ]
    traceparent: Annotated[
        str | None,
        told(
            "The W3C Trace Context that its deliveries continue: of its request, or of the span "
            "`accept` where the server traces it. Null: it belongs to no trace."
        ),
    ]


class Event(EventItem):
    """An event with everything that came with it."""

    payload: Annotated[JsonObject | None, told(UNSEEN)]
    metadata: JsonObject | None
    attachments: Annotated[Fragment, DocumentedAs(list[dict[str, Any]])] | None


class Delivery(DeliveryItem):
    """A delivery with its attempts, its event and the request that was last sent."""

    event: Annotated[Event | None, told("Null once retention has removed it.")]
    request: Annotated[SentRequest | None, told("Null before the first that was sent.")]
    replayOf: Uuid | None
    replayJobId: Uuid | None
    attempts: Annotated[list[Attempt], told("The newest, the last one last.")]
    attemptsCursor: Annotated[
        str | None, told("Where the attempts before these are listed; null: there are none.")
    ]


class IngestResult(TypedDict):
    """An event that is durable."""

    id: Uuid
    eventType: str
    receivedAt: Timestamp
    duplicate: bool
    deliveries: int


class Rejection(TypedDict):
    """Why an event of a batch was rejected."""

    code: str
    message: str
    details: NotRequired[list[ErrorDetail]]


class BatchEntry(TypedDict):
    """What became of one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: Uuid | None
    deliveries: int | None
    error: Rejection | None


class BatchResult(TypedDict):
    """What became of a batch."""

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
