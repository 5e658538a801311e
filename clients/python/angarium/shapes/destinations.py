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


# A destination's counters over a period.
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
    # The most time for an attempt, from the name look-up to the last byte.
    timeoutMs: int
    # Attempts per second, with a burst of one second. Null: no limit.
    rateLimitPerSecond: float | None
    # Route and record events, but send nothing.
    dryRun: bool
    # Seconds to wait after each failed attempt, varied by up to 20 %. Empty: no retries.
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
    """The waiting deliveries of one destination that have the same ordering key. They are sent
    one after another.
    """

    # The value that the lane's events share. Null for DESTINATION, the one lane of a destination
    # with ordering STRICT.
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
    """Counters of attempts and deliveries, as in the analytics."""

    attempts: int
    delivered: int
    failed: int
    retried: int
    deadLettered: int


class Queue(TypedDict):
    """The waiting deliveries of a destination, and its rates."""

    pending: int
    inFlight: int
    # The configured value; with `auto` the present value.
    concurrency: int
    # The lowest concurrency that would keep up with the busiest ten seconds of the last five
    # minutes, by Little's law. Null after fewer than 20 attempts.
    suggestedConcurrency: int | None
    # The most attempts in flight: 1 with ordering STRICT and while the circuit probes, 0 while the
    # destination is disabled.
    effectiveConcurrency: int
    # Over the last minute.
    arrivalsPerSecond: float
    # Over the last minute.
    deliveredPerSecond: float
    # The time in which these rates would clear the waiting deliveries. Null if none wait, or if at
    # least as many arrive as are delivered.
    drainSeconds: float | None
    # The age of the oldest waiting delivery. Null if none waits. In the stream also null while some
    # wait only in the database, unless the stream is of one destination.
    oldestPendingSeconds: float | None


class SampleDraft(TypedDict, total=False):
    """The sample event of a test. Every field can be left out."""

    # Null: `angarium.test`.
    eventType: str | None
    # Null: the example of the type's active schema, otherwise a short message.
    payload: JsonObject | None
    # Show the request and send nothing.
    dryRun: bool


class Signing(TypedDict):
    """The signing of outbound bodies, with the public keys if the algorithm has any."""

    algorithm: SigningAlgorithm
    # whpk_...; Ed25519 only.
    publicKey: NotRequired[str]
    # The former key, while it also signs after a rotation.
    previousPublicKey: NotRequired[str]


class SigningOptions(TypedDict, total=False):
    """The signatures of outbound bodies."""

    algorithm: SigningAlgorithm


class TestResult(TypedDict):
    """The result of a test with a sample."""

    # Null with `dryRun`.
    deliveryId: str | None
    success: bool
    # True if the transform script returned null: nothing was sent.
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
    # The template in the catalog. Null: the destination has no template.
    templateId: str | None
    name: str
    # The template's configuration, with defaults. Secrets are shown as ***.
    config: JsonObject | None
    # Secrets in the URL are shown as ***.
    url: str
    description: str | None
    customerExternalId: str | None
    customerAccountId: str | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    method: HttpMethod
    # The authentication of requests. Secrets are shown as ***.
    authentication: (
        BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None
    )
    # The destination is disabled after it has failed for this many seconds. Null: never.
    disableAfterSeconds: int | None
    status: DestinationStatus
    # The version of the transform script that is live.
    transformVersion: int | None
    createdAt: str
    updatedAt: str


class DestinationDraft(TypedDict):
    """A destination as a caller writes it."""

    name: str
    # http or https, without user name and password.
    url: str
    description: NotRequired[str | None]
    # The end-customer whose events the destination receives.
    customerExternalId: NotRequired[str | None]
    # The id of the same customer's account.
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
    # Disable the destination after it has failed for this many seconds. Null: never.
    disableAfterSeconds: NotRequired[int | None]
    # A signing secret of 24 to 64 bytes that receivers already know. Null: the server makes a new
    # one.
    secret: NotRequired[str | None]


class DestinationHealth(TypedDict):
    """The present health of a destination."""

    destinationId: str
    state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
    circuit: Circuit
    hold: DestinationHold | None
    # The share of successful attempts in the last 5 minutes, 0 to 1.
    successRate: float | None
    consecutiveFailures: int
    # The time of the first failure after the last success. Set while `state` is FAILING, and after
    # ten failures in a row or an hour of waiting without a success. The next success makes it null.
    failingSince: str | None
    latencyMs: Latency
    lastSuccessAt: str | None
    lastFailureAt: str | None
    # Null in an embed session without the permission `viewPayloads`.
    lastError: str | None
    queue: Queue
    actor: ActorState


class DestinationWithSecret(TypedDict):
    """A destination with its signing secret, shown only in this answer."""

    id: str
    environment: Environment
    # The template in the catalog. Null: the destination has no template.
    templateId: str | None
    name: str
    # The template's configuration, with defaults. Secrets are shown as ***.
    config: JsonObject | None
    # Secrets in the URL are shown as ***.
    url: str
    description: str | None
    customerExternalId: str | None
    customerAccountId: str | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    method: HttpMethod
    # The authentication of requests. Secrets are shown as ***.
    authentication: (
        BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None
    )
    # The destination is disabled after it has failed for this many seconds. Null: never.
    disableAfterSeconds: int | None
    status: DestinationStatus
    # The version of the transform script that is live.
    transformVersion: int | None
    createdAt: str
    updatedAt: str
    # Null if there is no new secret to show.
    secret: str | None


class TemplateDestinationDraft(TypedDict):
    """A destination made from a template, as a caller writes it. The template builds the URL
    from `config`. The template's defaults apply to fields that are missing in `delivery`.
    """

    # An id from `GET /destination-templates`.
    templateId: str
    name: str
    # Values that match the template's `configSchema`. Answers show secrets as ***.
    config: JsonObject
    description: NotRequired[str | None]
    # The end-customer whose events the destination receives.
    customerExternalId: NotRequired[str | None]
    # The id of the same customer's account.
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
    # Disable the destination after it has failed for this many seconds. Null: never.
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
