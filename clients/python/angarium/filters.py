"""What lists can be narrowed by. What is None or absent does not narrow; `since` is inclusive, `until`
exclusive."""

from typing import TypedDict

from angarium.calls import Instant
from angarium.shapes import (
    DeliveryKind,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    FilePurpose,
    FileState,
    OriginKind,
    Priority,
    ReplayStatus,
    SchemaStatus,
)


class EventFilter(TypedDict, total=False):
    """Filters of events."""

    event_type: str | None
    customer_external_id: str | None
    since: Instant | None
    until: Instant | None


class FileFilter(TypedDict, total=False):
    """Filters of files."""

    state: FileState | None
    purpose: FilePurpose | None
    environment: Environment | None
    customer_external_id: str | None
    since: Instant | None
    until: Instant | None


class DestinationFilter(TypedDict, total=False):
    """Filters of destinations; archived ones are listed only with their status."""

    status: DestinationStatus | None
    environment: Environment | None
    customer_account_id: str | None


class RuleFilter(TypedDict, total=False):
    """Filters of routing rules."""

    destination_id: str | None
    enabled: bool | None


class DeliveryFilter(TypedDict, total=False):
    """Filters of deliveries."""

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


class DlqFilter(TypedDict, total=False):
    """Filters of the dead-letter queue."""

    since: Instant | None
    until: Instant | None
    destination_id: str | None
    event_type: str | None
    error_category: ErrorCategory | None


class SchemaFilter(TypedDict, total=False):
    """Filters of event schemas."""

    event_type: str | None
    status: SchemaStatus | None


class ReplayFilter(TypedDict, total=False):
    """Filters of replay jobs."""

    status: ReplayStatus | None
    customer_account_id: str | None


class AuditFilter(TypedDict, total=False):
    """Filters of the audit log."""

    action: str | None
    object_type: str | None
    object_id: str | None
    actor_id: str | None
    since: Instant | None
    until: Instant | None
