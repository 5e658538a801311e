"""The API's lists of words as types, each once. A test compares them with the enumerations."""

from typing import Literal

EnvironmentName = Literal["DEVELOPMENT", "STAGING", "PRODUCTION"]
ScopeName = Literal["ingest", "read", "manage"]
KeyKindName = Literal["API_KEY", "MCP_KEY"]
CredentialKindName = Literal["API_KEY", "MCP_KEY", "EMBED_SESSION"]
DestinationStatusName = Literal["ACTIVE", "DISABLED", "ARCHIVED"]
OrderingName = Literal["NONE", "KEY", "STRICT"]
AlgorithmName = Literal["HMAC_SHA256", "ED25519"]
PriorityName = Literal["STANDARD", "HIGH", "CRITICAL"]
DeliveryStatusName = Literal[
    "PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN",
]  # fmt: skip
SettledStatusName = Literal["DELIVERED", "FAILED", "DRY_RUN"]
DeliveryKindName = Literal["EVENT", "FILE"]
OriginKindName = Literal["NORMAL", "REPLAY", "INSPECTION"]
DlqStatusName = Literal["IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED"]
CategoryName = Literal[
    "TIMEOUT", "DNS", "CONNECTION", "TLS", "BLOCKED_ADDRESS", "PROTOCOL", "REDIRECT", "HTTP_4XX",
    "HTTP_5XX", "RATE_LIMITED", "TRANSFORM", "DESTINATION_GONE", "INTERNAL",
]  # fmt: skip
SchemaStatusName = Literal["DRAFT", "ACTIVE", "DEPRECATED"]
TransformStatusName = Literal["DRAFT", "PUBLISHED", "SUPERSEDED"]
ReplayStatusName = Literal["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"]
FileStateName = Literal["PENDING", "STORED", "FAILED"]
FilePurposeName = Literal["UPLOAD", "ATTACHMENT"]
PeriodName = Literal["1h", "6h", "24h", "7d", "30d"]
GranularityName = Literal["minute", "hour", "day"]
