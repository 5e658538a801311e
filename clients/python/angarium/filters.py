# Made of the API's routes by `python -m api.generation`; do not edit.
"""The filters of lists. One that is None or absent does not narrow. `since` is inclusive,
`until` exclusive.
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

from angarium.calls import Instant
from angarium.shapes import (
    DeliveryKind,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    OriginKind,
    Priority,
    ReplayStatus,
    SchemaStatus,
)


class EventFilter(TypedDict, total=False):
    """What `client.events.list` and `iterate` are narrowed by."""

    examine: int | None
    environment: Environment | None
    event_type: str | Sequence[str] | None
    customer_external_id: str | Sequence[str] | None
    correlation_id: str | Sequence[str] | None
    request_id: str | Sequence[str] | None
    idempotency_key: str | Sequence[str] | None
    undelivered: bool | None
    since: Instant | None
    until: Instant | None


class FileFilter(TypedDict, total=False):
    """What `client.files.list` and `iterate` are narrowed by."""

    environment: Environment | None
    state: (
        Literal["PENDING", "STORED", "FAILED"]
        | Sequence[Literal["PENDING", "STORED", "FAILED"]]
        | None
    )
    purpose: Literal["UPLOAD", "ATTACHMENT"] | Sequence[Literal["UPLOAD", "ATTACHMENT"]] | None
    customer_external_id: str | Sequence[str] | None
    since: Instant | None
    until: Instant | None


class DestinationFilter(TypedDict, total=False):
    """What `client.destinations.list` and `iterate` are narrowed by."""

    environment: Environment | None
    status: DestinationStatus | Sequence[DestinationStatus] | None
    customer_account_id: str | None


class RoutingRuleFilter(TypedDict, total=False):
    """What `client.routing_rules.list` and `iterate` are narrowed by."""

    destination_id: str | Sequence[str] | None
    enabled: bool | None


class SchemaFilter(TypedDict, total=False):
    """What `client.schemas.list` and `iterate` are narrowed by."""

    event_type: str | Sequence[str] | None
    status: SchemaStatus | Sequence[SchemaStatus] | None


class DeliveryFilter(TypedDict, total=False):
    """What `client.deliveries.list` and `iterate` are narrowed by."""

    examine: int | None
    event_id: str | Sequence[str] | None
    destination_id: str | Sequence[str] | None
    environment: Environment | None
    status: DeliveryStatus | Sequence[DeliveryStatus] | None
    since: Instant | None
    until: Instant | None
    is_replay: bool | None
    error_category: ErrorCategory | Sequence[ErrorCategory] | None
    priority: Priority | Sequence[Priority] | None
    dlq_status: DlqStatus | Sequence[DlqStatus] | None
    kind: DeliveryKind | Sequence[DeliveryKind] | None
    origin_kind: OriginKind | Sequence[OriginKind] | None
    event_type: str | Sequence[str] | None
    customer_external_id: str | Sequence[str] | None
    response_status: int | Sequence[int] | None
    replay_job_id: str | Sequence[str] | None


class DlqFilter(TypedDict, total=False):
    """What `client.dlq.list` and `iterate` are narrowed by."""

    since: Instant | None
    until: Instant | None
    destination_id: str | Sequence[str] | None
    event_type: str | Sequence[str] | None
    error_category: ErrorCategory | Sequence[ErrorCategory] | None
    signature: str | Sequence[str] | None


class ReplayJobFilter(TypedDict, total=False):
    """What `client.replay_jobs.list` and `iterate` are narrowed by."""

    status: ReplayStatus | Sequence[ReplayStatus] | None
    kind: (
        Literal["REPLAY", "CANCEL", "RETRY"] | Sequence[Literal["REPLAY", "CANCEL", "RETRY"]] | None
    )
    customer_account_id: str | None


class ApiKeyFilter(TypedDict, total=False):
    """What `client.api_keys.list` and `iterate` are narrowed by."""

    environment: Environment | None


class CustomerFilter(TypedDict, total=False):
    """What `client.customers.list` and `iterate` are narrowed by."""

    prefix: str | None


class AuditLogFilter(TypedDict, total=False):
    """What `client.audit_logs.list` and `iterate` are narrowed by."""

    action: str | Sequence[str] | None
    object_type: str | Sequence[str] | None
    object_id: str | Sequence[str] | None
    actor_id: str | Sequence[str] | None
    since: Instant | None
    until: Instant | None
