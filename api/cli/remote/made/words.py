# Made of the API's routes by `python -m api.generation`; do not edit.
"""The API's enumerations, for the options of commands."""

ENVIRONMENT = ("DEVELOPMENT", "STAGING", "PRODUCTION")
SCOPE = ("ingest", "read", "manage")
KEY_KIND = ("API_KEY", "MCP_KEY")
DESTINATION_STATUS = ("ACTIVE", "DISABLED", "ARCHIVED")
ORDERING = ("NONE", "KEY", "STRICT")
HTTP_METHOD = ("POST", "PUT", "PATCH")
SIGNING_ALGORITHM = ("HMAC_SHA256", "ED25519")
PRIORITY = ("STANDARD", "HIGH", "CRITICAL")
DELIVERY_STATUS = ("PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN")
DELIVERY_KIND = ("EVENT", "FILE")
ORIGIN_KIND = ("NORMAL", "REPLAY", "INSPECTION")
DLQ_STATUS = ("IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED")
ERROR_CATEGORY = (
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
)
SCHEMA_STATUS = ("DRAFT", "ACTIVE", "DEPRECATED")
REPLAY_STATUS = ("PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED")
ANALYTICS_PERIOD = ("1h", "6h", "24h", "7d", "30d")
ANALYTICS_GRANULARITY = ("minute", "hour", "day")
ERROR_CODE = (
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
)
