# Made of the API's routes by `python -m api.generation`; do not edit.
"""The API's enumerations."""

from typing import Literal

# One of a workspace's three environments.
Environment = Literal["DEVELOPMENT", "STAGING", "PRODUCTION"]


# The permission of a key.
Scope = Literal["ingest", "read", "manage"]


# API_KEY: a key of one environment. MCP_KEY: a key of the whole workspace.
KeyKind = Literal["API_KEY", "MCP_KEY"]


# The state of a destination.
DestinationStatus = Literal["ACTIVE", "DISABLED", "ARCHIVED"]


# The scope of first-in first-out order: none, a key of the event, or the destination.
Ordering = Literal["NONE", "KEY", "STRICT"]


# The HTTP method of requests.
HttpMethod = Literal["POST", "PUT", "PATCH"]


# The algorithm of the signature.
SigningAlgorithm = Literal["HMAC_SHA256", "ED25519"]


# The urgency of a delivery.
Priority = Literal["STANDARD", "HIGH", "CRITICAL"]


# The state of a delivery.
DeliveryStatus = Literal["PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN"]


# The kind of content in a delivery.
DeliveryKind = Literal["EVENT", "FILE"]


# The origin of a delivery.
OriginKind = Literal["NORMAL", "REPLAY", "INSPECTION"]


# The state of a dead delivery.
DlqStatus = Literal["IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED"]


# The kind of error of an attempt.
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
    "AUTHENTICATION",
]


# The state of a version.
SchemaStatus = Literal["DRAFT", "ACTIVE", "DEPRECATED"]


# The state of a job.
ReplayStatus = Literal["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"]


# The period, which ends now.
AnalyticsPeriod = Literal["1h", "6h", "24h", "7d", "30d"]


# The time that each point covers.
AnalyticsGranularity = Literal["minute", "hour", "day"]


# The kind of refusal.
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
