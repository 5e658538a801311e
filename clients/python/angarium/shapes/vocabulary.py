"""The API's enumerations, and what every answer is made of."""

from typing import Any, Generic, Literal, TypedDict, TypeVar

Environment = Literal["DEVELOPMENT", "STAGING", "PRODUCTION"]
Scope = Literal["ingest", "manage", "read"]
CredentialKind = Literal["API_KEY", "MCP_KEY", "EMBED_SESSION"]
DestinationStatus = Literal["ACTIVE", "DISABLED", "ARCHIVED"]
DeliveryStatus = Literal["PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN"]
Priority = Literal["STANDARD", "HIGH", "CRITICAL"]
DlqStatus = Literal["IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED"]
DeliveryKind = Literal["EVENT", "FILE"]
OriginKind = Literal["NORMAL", "REPLAY", "INSPECTION"]
SchemaStatus = Literal["DRAFT", "ACTIVE", "DEPRECATED"]
TransformStatus = Literal["DRAFT", "PUBLISHED", "SUPERSEDED"]
ReplayStatus = Literal["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"]
ErrorCategory = Literal[
    "TIMEOUT",
    "DNS",
    "CONNECTION",
    "TLS",
    "BLOCKED_ADDRESS",
    "PROTOCOL",
    "REDIRECT",
    "HTTP_4XX",
    "HTTP_5XX",
    "RATE_LIMITED",
    "TRANSFORM",
    "DESTINATION_GONE",
    "INTERNAL",
]
ErrorCode = Literal[
    "invalid_request",
    "schema_violation",
    "idempotency_mismatch",
    "loop_detected",
    "unauthorized",
    "plan_limit",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "request_timeout",
    "conflict",
    "payload_too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "rate_limited",
    "internal",
    "overloaded",
]
Period = Literal["1h", "6h", "24h", "7d", "30d"]
Granularity = Literal["minute", "hour", "day"]
JsonObject = dict[str, Any]
Item = TypeVar("Item")


class Success(TypedDict):
    """The answer to a DELETE."""

    success: bool


class Latency(TypedDict):
    """Percentiles in milliseconds; null without attempts."""

    p50: int | None
    p95: int | None
    p99: int | None


class Page(TypedDict, Generic[Item]):
    """One page of a list, newest first."""

    items: list[Item]
    nextCursor: str | None
