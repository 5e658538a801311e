# Made of the API's routes by `python -m api.generation`; do not edit.
"""The filters of lists. One that is None or absent does not narrow. `since` is inclusive,
`until` exclusive.
"""

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
    event_type: str | None
    customer_external_id: str | None
    correlation_id: str | None
    request_id: str | None
    idempotency_key: str | None
    undelivered: bool | None
    since: Instant | None
    until: Instant | None


class FileFilter(TypedDict, total=False):
    """What `client.files.list` and `iterate` are narrowed by."""

    environment: Environment | None
    state: Literal["PENDING", "STORED", "FAILED"] | None
    purpose: Literal["UPLOAD", "ATTACHMENT"] | None
    customer_external_id: str | None
    since: Instant | None
    until: Instant | None


class DestinationFilter(TypedDict, total=False):
    """What `client.destinations.list` and `iterate` are narrowed by."""

    environment: Environment | None
    status: DestinationStatus | None
    customer_account_id: str | None


class RoutingRuleFilter(TypedDict, total=False):
    """What `client.routing_rules.list` and `iterate` are narrowed by."""

    destination_id: str | None
    enabled: bool | None


class SchemaFilter(TypedDict, total=False):
    """What `client.schemas.list` and `iterate` are narrowed by."""

    event_type: str | None
    status: SchemaStatus | None


class DeliveryFilter(TypedDict, total=False):
    """What `client.deliveries.list` and `iterate` are narrowed by."""

    examine: int | None
    event_id: str | None
    destination_id: str | None
    environment: Environment | None
    status: DeliveryStatus | None
    since: Instant | None
    until: Instant | None
    is_replay: bool | None
    error_category: ErrorCategory | None
    priority: Priority | None
    dlq_status: DlqStatus | None
    kind: DeliveryKind | None
    origin_kind: OriginKind | None
    event_type: str | None
    customer_external_id: str | None
    response_status: int | None
    replay_job_id: str | None


class DlqFilter(TypedDict, total=False):
    """What `client.dlq.list` and `iterate` are narrowed by."""

    since: Instant | None
    until: Instant | None
    destination_id: str | None
    event_type: str | None
    error_category: ErrorCategory | None
    signature: str | None


class ReplayJobFilter(TypedDict, total=False):
    """What `client.replay_jobs.list` and `iterate` are narrowed by."""

    status: ReplayStatus | None
    kind: Literal["REPLAY", "CANCEL", "RETRY"] | None
    customer_account_id: str | None


class ApiKeyFilter(TypedDict, total=False):
    """What `client.api_keys.list` and `iterate` are narrowed by."""

    environment: Environment | None


class CustomerFilter(TypedDict, total=False):
    """What `client.customers.list` and `iterate` are narrowed by."""

    prefix: str | None


class AuditLogFilter(TypedDict, total=False):
    """What `client.audit_logs.list` and `iterate` are narrowed by."""

    action: str | None
    object_type: str | None
    object_id: str | None
    actor_id: str | None
    since: Instant | None
    until: Instant | None
