"""The shapes of answers, for the OpenAPI document. Answers are made elsewhere; tests compare the two."""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import ConfigDict, Field

from engine.drafts import DeliveryOptions, Document, Uuid
from engine.model.words import (
    AlgorithmName,
    CategoryName,
    CredentialKindName,
    DeliveryKindName,
    DeliveryStatusName,
    DestinationStatusName,
    DlqStatusName,
    EnvironmentName,
    OriginKindName,
    PriorityName,
    ScopeName,
)

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Item = TypeVar("Item")
UNSEEN = "Null in an embed session whose workspace does not let its customers `viewPayloads`."


class Page(Document, Generic[Item]):
    """A page of a list, newest first."""

    items: list[Item]
    next_cursor: str | None = Field(
        description="Give it as `cursor` for the next page; null at the end."
    )

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Name a page as the document does: of `EventItem`s it is an `EventPage`."""
        return f"{params[0].__name__.removesuffix('Item')}Page"


class ErrorDetail(Document):
    """One offending place."""

    path: str
    message: str


class Error(Document):
    """Why a request was refused."""

    code: str
    message: str
    details: list[ErrorDetail] = Field(default_factory=list)
    request_id: str


class Success(Document):
    """Done."""

    success: bool


class AuthContext(Document):
    """Who calls. What does not apply is null."""

    kind: CredentialKindName
    workspace_id: Uuid
    workspace_name: str
    environment: EnvironmentName | None
    scope: ScopeName | None
    key_id: Uuid | None
    customer_account_id: Uuid | None
    customer_external_id: str | None
    plan: str
    expires_at: Timestamp | None


class Signing(Document):
    """How outbound bodies are signed; the public keys where the algorithm has them."""

    algorithm: AlgorithmName
    public_key: str = Field("", description="whpk_...; Ed25519 only.")
    previous_public_key: str = Field("", description="For 24 hours after a rotation.")


class Destination(Document):
    """A destination."""

    id: Uuid
    environment: EnvironmentName
    status: DestinationStatusName
    template_id: str | None = Field(description="Of the catalog; null: made directly.")
    name: str
    config: dict[str, Any] | None = Field(
        description="Of its template, defaults filled in; secrets are shown as ***."
    )
    url: str = Field(description="Secrets in it are shown as ***.")
    description: str | None
    customer_external_id: str | None
    customer_account_id: Uuid | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    created_at: Timestamp
    updated_at: Timestamp


class DestinationWithSecret(Destination):
    """A destination with its signing secret, shown this once; null where there is none to show."""

    secret: str | None


class TestResult(Document):
    """What became of a sample."""

    delivery_id: Uuid
    success: bool
    skipped: bool = Field(description="The transform script returned null: nothing was sent.")
    response_status: int | None
    duration_ms: int
    error_category: CategoryName | None
    error_message: str | None
    response_body: str | None


class Circuit(Document):
    """Whether deliveries are let through."""

    state: Literal["CLOSED", "OPEN", "HALF_OPEN"]
    opened_at: Timestamp | None
    next_probe_at: Timestamp | None


class Latency(Document):
    """Percentiles in milliseconds; null without attempts."""

    p50: int | None
    p95: int | None
    p99: int | None


class Queue(Document):
    """What waits."""

    pending: int
    in_flight: int
    concurrency: int = Field(description="As set; the present one where that is `auto`.")
    suggested_concurrency: int | None = Field(
        description="The least that keeps up with the busiest ten seconds of the last five minutes, by "
        "Little's law; null after fewer than 20 attempts."
    )
    oldest_pending_seconds: float | None


class ActorState(Document):
    """The destination's actor."""

    state: str
    restarts: int
    mailbox: int
    started_at: Timestamp | None
    snapshot_at: Timestamp | None


class DestinationHealth(Document):
    """How a destination does, from its live actor."""

    destination_id: Uuid
    state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
    circuit: Circuit
    success_rate: float | None = Field(description="0-1 over the last 5 minutes.")
    consecutive_failures: int
    latency_ms: Latency
    last_success_at: Timestamp | None
    last_failure_at: Timestamp | None
    last_error: str | None = Field(description=UNSEEN)
    queue: Queue
    actor: ActorState


class DeliveryItem(Document):
    """A delivery, as lists show it."""

    id: Uuid
    event_id: Uuid
    event_type: str
    destination_id: Uuid
    environment: EnvironmentName
    status: DeliveryStatusName
    kind: DeliveryKindName
    priority: PriorityName
    origin_kind: OriginKindName
    is_replay: bool
    skipped: bool = Field(description="Its transform script returned null: nothing was sent.")
    attempt_count: int
    error_category: CategoryName | None
    response_status: int | None
    dlq_status: DlqStatusName | None
    created_at: Timestamp
    updated_at: Timestamp
    next_attempt_at: Timestamp | None
    delivered_at: Timestamp | None


class Attempt(Document):
    """One attempt, as it was recorded."""

    number: int
    started_at: Timestamp
    duration_ms: int
    success: bool
    response_status: int | None
    response_headers: dict[str, str]
    response_body: str | None = Field(description=UNSEEN)
    response_truncated: bool
    error_category: CategoryName | None
    error_message: str | None = Field(description=UNSEEN)
    transform_version: int | None = Field(description="Of the transform script that ran.")
    logs: str | None = Field(description="What the transform script printed, at most 4 KiB.")


class SentRequest(Document):
    """The request as it was last sent, without its signature and with masked values."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str | None = Field(
        description="As the script and the template that it went through made it, made again; null where "
        "that cannot be done any more."
    )
    note: str | None = Field(description="Why there is no body, or not all of it.")


class EventItem(Document):
    """An event, as lists show it."""

    id: Uuid
    environment: EnvironmentName
    event_type: str
    occurred_at: Timestamp
    received_at: Timestamp
    source: str | None
    customer_external_id: str | None
    correlation_id: str | None
    request_id: str | None
    idempotency_key: str | None
    deliveries: int
    origin: Literal["API", "FILE", "OWN", "TEST"]


class Event(EventItem):
    """An event with everything that came with it."""

    payload: dict[str, Any] | None = Field(description=UNSEEN)
    metadata: dict[str, Any] | None
    attachments: list[dict[str, Any]] | None


class Delivery(DeliveryItem):
    """A delivery with its attempts, its event and the request that was last sent."""

    event: Event | None = Field(description="Null once retention has removed it.")
    request: SentRequest | None = Field(description="Null before the first that was sent.")
    replay_of: Uuid | None
    replay_job_id: Uuid | None
    attempts: list[Attempt] = Field(description="The newest, the last one last.")
    attempts_cursor: str | None = Field(
        description="Where the attempts before these are listed; null: there are none."
    )


class IngestResult(Document):
    """An event that is durable."""

    id: Uuid
    event_type: str
    received_at: Timestamp
    duplicate: bool
    deliveries: int


class Rejection(Document):
    """Why an event of a batch was rejected."""

    code: str
    message: str
    details: list[ErrorDetail] = Field(default_factory=list)


class BatchEntry(Document):
    """What became of one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: Uuid | None
    deliveries: int | None
    error: Rejection | None


class BatchResult(Document):
    """What became of a batch."""

    accepted: int
    duplicates: int
    rejected: int
    results: list[BatchEntry]


class Live(Document):
    """The process answers."""

    status: Literal["ok"]


class AnyDocument(Document):
    """A document of another kind."""

    model_config = ConfigDict(extra="allow")
