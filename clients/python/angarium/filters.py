# Made of the API's routes by `python -m api.generation`; do not edit.
"""The filters of lists. A filter that is None or absent has no effect. `since` is inclusive,
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
    """The filters of `client.events.list` and `iterate`."""

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
    """The filters of `client.files.list` and `iterate`."""

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
    """The filters of `client.destinations.list` and `iterate`."""

    environment: Environment | None
    status: DestinationStatus | Sequence[DestinationStatus] | None
    customer_account_id: str | None


class RoutingRuleFilter(TypedDict, total=False):
    """The filters of `client.routing_rules.list` and `iterate`."""

    destination_id: str | Sequence[str] | None
    enabled: bool | None


class SchemaFilter(TypedDict, total=False):
    """The filters of `client.schemas.list` and `iterate`."""

    event_type: str | Sequence[str] | None
    status: SchemaStatus | Sequence[SchemaStatus] | None


class DeliveryFilter(TypedDict, total=False):
    """The filters of `client.deliveries.list` and `iterate`."""

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
    """The filters of `client.dlq.list` and `iterate`."""

    since: Instant | None
    until: Instant | None
    destination_id: str | Sequence[str] | None
    event_type: str | Sequence[str] | None
    error_category: ErrorCategory | Sequence[ErrorCategory] | None
    signature: str | Sequence[str] | None
    replay_job_id: str | Sequence[str] | None


class ReplayJobFilter(TypedDict, total=False):
    """The filters of `client.replay_jobs.list` and `iterate`."""

    status: ReplayStatus | Sequence[ReplayStatus] | None
    kind: (
        Literal["REPLAY", "CANCEL", "RETRY"] | Sequence[Literal["REPLAY", "CANCEL", "RETRY"]] | None
    )
    customer_account_id: str | None


class ApiKeyFilter(TypedDict, total=False):
    """The filters of `client.api_keys.list` and `iterate`."""

    environment: Environment | None


class CustomerFilter(TypedDict, total=False):
    """The filters of `client.customers.list` and `iterate`."""

    prefix: str | None


class AuditLogFilter(TypedDict, total=False):
    """The filters of `client.audit_logs.list` and `iterate`."""

    action: str | Sequence[str] | None
    object_type: str | Sequence[str] | None
    object_id: str | Sequence[str] | None
    actor_id: str | Sequence[str] | None
    since: Instant | None
    until: Instant | None
