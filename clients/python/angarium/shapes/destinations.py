# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.destinations`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.authentication import (
    BasicAuthentication,
    BearerAuthentication,
    ClientCredentialsAuthentication,
    MutualTlsAuthentication,
)
from angarium.shapes.page import JsonObject
from angarium.shapes.shared import (
    AnalyticsPoint,
    AnalyticsTotals,
    DeliveryItem,
    Latency,
    SentRequest,
)
from angarium.shapes.words import (
    AnalyticsGranularity,
    AnalyticsPeriod,
    DestinationStatus,
    Environment,
    ErrorCategory,
    HttpMethod,
    Ordering,
    SigningAlgorithm,
)


class ActorState(TypedDict):
    """The destination's actor."""

    state: str
    restarts: int
    mailbox: int
    startedAt: str | None
    snapshotAt: str | None


# A destination's counters over a period, from its delivery log.
Analytics = TypedDict(
    "Analytics",
    {
        "from": str,
        "period": AnalyticsPeriod,
        "granularity": AnalyticsGranularity,
        "to": str,
        "totals": AnalyticsTotals,
        "series": list[AnalyticsPoint],
        "errorCategories": dict[str, int],
        "destinationId": str,
    },
)


class Circuit(TypedDict):
    """The state of the destination's circuit."""

    state: Literal["CLOSED", "OPEN", "HALF_OPEN"]
    openedAt: str | None
    nextProbeAt: str | None


class DeliveryOptions(TypedDict, total=False):
    """The sending options of a destination."""

    # Requests in flight at once. `auto`: the server adapts the number to the durations and failures
    # of attempts. By default 8.
    concurrency: int | Literal["auto"]
    # Scope of first-in first-out order: none, a key of the event, or the destination.
    ordering: Ordering
    # Time from DNS to the last byte.
    timeoutMs: int
    # Attempts per second, with a burst of one second. Null: no limit.
    rateLimitPerSecond: float | None
    # Route and record, but send nothing.
    dryRun: bool
    # Seconds to wait after each failed attempt, varied by up to 20 %.
    retrySchedule: list[int]


class DestinationHold(TypedDict):
    """The hold on a destination: the reason why its deliveries are not sent."""

    # RETRY_AFTER: the receiver asked for a pause. CIRCUIT: the circuit is open, or a probe is under
    # way. RATE: the rate limit is used up. STORE: outcomes cannot be recorded fast enough.
    reason: Literal["RETRY_AFTER", "CIRCUIT", "RATE", "DISABLED", "STORE"]
    # Null if it is unknown.
    until: str | None


class HourCounts(TypedDict):
    """The counters of the hour (UTC) that begins at `at`."""

    attempts: int
    delivered: int
    failed: int
    retried: int
    deadLettered: int
    at: str


class Lane(TypedDict):
    """The deliveries of one destination that are sent one after another."""

    # The value that the lane's events share; null for DESTINATION, the lane of ordering STRICT.
    key: str | None
    kind: Literal["CUSTOMER", "CORRELATION", "SOURCE", "DESTINATION"]
    # Its waiting deliveries, including the head.
    depth: int
    # True if the lane can have more deliveries than `depth`.
    atLeast: bool
    # The delivery that must end first. Null if it ended during this request.
    head: DeliveryItem | None
    # The earliest time of the head's next attempt. Null: now, or unknown.
    until: str | None


class OutcomeCounts(TypedDict):
    """Counters of the delivery log; see the analytics for each."""

    attempts: int
    delivered: int
    failed: int
    retried: int
    deadLettered: int


class Queue(TypedDict):
    """The waiting deliveries of a destination, and its rates."""

    pending: int
    inFlight: int
    # The configured value; with `auto` the present one.
    concurrency: int
    # The lowest concurrency that keeps up with the busiest ten seconds of the last five minutes, by
    # Little's law; null after fewer than 20 attempts.
    suggestedConcurrency: int | None
    # The most attempts in flight: 1 with ordering STRICT and while the circuit probes, 0 while the
    # destination is disabled.
    effectiveConcurrency: int
    # Over the last minute.
    arrivalsPerSecond: float
    # Over the last minute.
    deliveredPerSecond: float
    # The time until the waiting deliveries are sent at these rates; null if none wait, or if as
    # many arrive as are delivered.
    drainSeconds: float | None
    # The time since the creation of the oldest waiting delivery; null if none waits. A stream of
    # several destinations has null while some wait only in the database.
    oldestPendingSeconds: float | None


class SampleDraft(TypedDict, total=False):
    """The sample of a test. All of it can be left out."""

    # Null: `angarium.test`.
    eventType: str | None
    # Null: the example of the type's active schema, or a short message.
    payload: JsonObject | None
    # Show the request and send nothing.
    dryRun: bool


class Signing(TypedDict):
    """How outbound bodies are signed; the public keys where the algorithm has them."""

    algorithm: SigningAlgorithm
    # whpk_...; Ed25519 only.
    publicKey: NotRequired[str]
    # For 24 hours after a rotation.
    previousPublicKey: NotRequired[str]


class SigningOptions(TypedDict, total=False):
    """The signatures of outbound bodies."""

    algorithm: SigningAlgorithm


class TestResult(TypedDict):
    """The result of a sample."""

    # Null with `dryRun`.
    deliveryId: str | None
    success: bool
    # The transform script returned null: nothing was sent.
    skipped: bool
    responseStatus: int | None
    # Null with `dryRun`.
    durationMs: int | None
    errorCategory: ErrorCategory | None
    errorMessage: str | None
    responseBody: str | None
    # With `dryRun`: the request that would be sent.
    request: SentRequest | None


class Destination(TypedDict):
    """A destination."""

    id: str
    environment: Environment
    # Of the catalog; null: made directly.
    templateId: str | None
    name: str
    # Of its template, defaults filled in; secrets are shown as ***.
    config: JsonObject | None
    # Secrets in it are shown as ***.
    url: str
    description: str | None
    customerExternalId: str | None
    customerAccountId: str | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    method: HttpMethod
    # How requests prove who sends them; secrets are shown as ***.
    authentication: (
        BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None
    )
    # Seconds of failing after which it is disabled; null: never.
    disableAfterSeconds: int | None
    status: DestinationStatus
    # The version of the transform script that is live.
    transformVersion: int | None
    createdAt: str
    updatedAt: str


class DestinationDraft(TypedDict):
    """A destination as a caller writes it."""

    name: str
    # http or https, without userinfo.
    url: str
    description: NotRequired[str | None]
    # The end-customer whose events the destination receives.
    customerExternalId: NotRequired[str | None]
    # That customer, by the account's id.
    customerAccountId: NotRequired[str | None]
    # Sent with every request. Names are case-insensitive. Answers show *** for authorization,
    # cookie, and names that contain key, token, secret or the like.
    headers: NotRequired[dict[str, str] | None]
    delivery: NotRequired[DeliveryOptions | None]
    signing: NotRequired[SigningOptions | None]
    method: NotRequired[HttpMethod | None]
    # Authentication of requests to receivers. Answers show secrets as ***.
    authentication: NotRequired[
        BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None
    ]
    # Seconds of failures after which the server disables the destination. Null: never.
    disableAfterSeconds: NotRequired[int | None]
    # A signing secret of 24 to 64 bytes that receivers already know. Null: the server makes a new
    # one.
    secret: NotRequired[str | None]


class DestinationHealth(TypedDict):
    """The health of a destination, from its live actor."""

    destinationId: str
    state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
    circuit: Circuit
    hold: DestinationHold | None
    # 0-1 over the last 5 minutes.
    successRate: float | None
    consecutiveFailures: int
    # The first failure after the last success, while `state` is FAILING or ten attempts in a row
    # have failed or a delivery has waited for an hour without a success. Null after the next
    # success.
    failingSince: str | None
    latencyMs: Latency
    lastSuccessAt: str | None
    lastFailureAt: str | None
    # Null in an embed session without the permission `viewPayloads`.
    lastError: str | None
    queue: Queue
    actor: ActorState


class DestinationWithSecret(TypedDict):
    """A destination with its signing secret, shown only in this answer; null if there is no
    secret to show.
    """

    id: str
    environment: Environment
    # Of the catalog; null: made directly.
    templateId: str | None
    name: str
    # Of its template, defaults filled in; secrets are shown as ***.
    config: JsonObject | None
    # Secrets in it are shown as ***.
    url: str
    description: str | None
    customerExternalId: str | None
    customerAccountId: str | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    method: HttpMethod
    # How requests prove who sends them; secrets are shown as ***.
    authentication: (
        BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None
    )
    # Seconds of failing after which it is disabled; null: never.
    disableAfterSeconds: int | None
    status: DestinationStatus
    # The version of the transform script that is live.
    transformVersion: int | None
    createdAt: str
    updatedAt: str
    secret: str | None


class TemplateDestinationDraft(TypedDict):
    """A destination made from a template, as a caller writes it. The template builds the URL
    from `config`. Its defaults apply to members that `delivery` leaves out.
    """

    # An id from `GET /destination-templates`.
    templateId: str
    name: str
    # Values that match the template's `configSchema`. Answers show secrets as ***.
    config: JsonObject
    description: NotRequired[str | None]
    # The end-customer whose events the destination receives.
    customerExternalId: NotRequired[str | None]
    # That customer, by the account's id.
    customerAccountId: NotRequired[str | None]
    # Sent with every request. Names are case-insensitive. Answers show *** for authorization,
    # cookie, and names that contain key, token, secret or the like.
    headers: NotRequired[dict[str, str] | None]
    delivery: NotRequired[DeliveryOptions | None]
    signing: NotRequired[SigningOptions | None]
    method: NotRequired[HttpMethod | None]
    # Authentication of requests to receivers. Answers show secrets as ***.
    authentication: NotRequired[
        BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None
    ]
    # Seconds of failures after which the server disables the destination. Null: never.
    disableAfterSeconds: NotRequired[int | None]
    # A signing secret of 24 to 64 bytes that receivers already know. Null: the server makes a new
    # one.
    secret: NotRequired[str | None]


class DestinationSummary(TypedDict):
    """A destination, its health, and its last 24 hours."""

    destination: Destination
    health: DestinationHealth
    # The sums of the 24 hours in `series`.
    totals: OutcomeCounts
    # 24 hours, oldest first; the last hour is not complete.
    series: list[HourCounts]
    # Deliveries in the dead-letter queue, counted up to 1,000.
    inDlq: int
    # True if `inDlq` can be higher than counted.
    atLeast: bool
