"""The shapes of answers about replay jobs."""

from typing import Annotated

from pydantic import Field

from engine.drafts import Document, Uuid
from engine.model.words import EnvironmentName, ReplayStatusName, SettledStatusName

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
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
    status: ReplayStatusName
    destination_id: Uuid | None
    customer_account_id: Uuid | None = Field(
        description="The account that all its destinations are tied to, named or not."
    )
    event_types: list[str] | None
    statuses: list[SettledStatusName] | None
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
    status: ReplayStatusName
    remaining: Count
    percent: Annotated[float, Field(ge=0, le=100)]
    per_second: float | None = Field(description="Deliveries that come to their end, lately.")
    started_at: Timestamp | None
    finished_at: Timestamp | None
    eta_seconds: Count | None = Field(description="Null where it cannot be said.")
