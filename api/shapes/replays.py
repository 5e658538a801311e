"""The shapes of answers about replay jobs."""

from typing import Annotated, Literal

from pydantic import Field

from api.queries import EnvironmentName
from engine.drafts import Document, Uuid

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
JobStatus = Literal["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"]
Count = Annotated[int, Field(ge=0)]


class _Counts(Document):
    total: Count = Field(description="Selected; while PENDING, counted so far.")
    enqueued: Count = Field(description="Made into new deliveries.")
    skipped: Count = Field(
        description="Cannot be replayed: the event is gone, or the destination was archived."
    )
    delivered: Count
    failed: Count


class ReplayJob(_Counts):
    """A replay job: what it selects, and how far it is."""

    id: Uuid
    environment: EnvironmentName
    status: JobStatus
    destination_id: Uuid | None
    customer_account_id: Uuid | None = Field(
        description="The account that all its destinations are tied to, named or not."
    )
    event_types: list[str] | None
    statuses: list[Literal["DELIVERED", "FAILED", "DRY_RUN"]] | None
    delivery_ids: list[Uuid] | None
    from_: Timestamp | None = Field(alias="from")
    to: Timestamp | None
    dry_run: bool
    rate_per_second: float | None
    created_at: Timestamp
    started_at: Timestamp | None
    finished_at: Timestamp | None
    error: str | None = Field(description="Why it is FAILED.")


class ReplayShare(Document):
    """What one destination has of a job."""

    destination_id: Uuid
    total: Count
    enqueued: Count
    skipped: Count


class ReplayJobDetail(ReplayJob):
    """A replay job with the destinations that have most of it, at most 100."""

    destinations: list[ReplayShare]


class ReplayProgress(_Counts):
    """How far a replay job is."""

    id: Uuid
    status: JobStatus
    remaining: Count
    percent: Annotated[float, Field(ge=0, le=100)]
    per_second: float | None = Field(description="Deliveries that come to their end, lately.")
    started_at: Timestamp | None
    finished_at: Timestamp | None
    eta_seconds: Count | None = Field(description="Null where it cannot be said.")
