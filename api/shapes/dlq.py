"""The shapes of answers about the dead-letter queue."""

from typing import Annotated

from pydantic import Field, RootModel

from api.shapes import UNSEEN, DeliveryItem, Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import CategoryName

Count = Annotated[int, Field(ge=0)]


class DlqEntry(DeliveryItem):
    """A delivery that died, and why."""

    delivery_id: Uuid = Field(description="The same as `id`.")
    dead_lettered_at: Timestamp
    last_error: str | None = Field(description=UNSEEN)


class DlqGroup(Document):
    """Entries of the dead-letter queue that died of the same."""

    signature: str = Field(description="What the retry and the discard in bulk take.")
    destination_id: Uuid
    error_category: CategoryName | None
    response_status: int | None
    last_error: str | None = Field(description="Of the latest entry. " + UNSEEN)
    event_types: list[str] = Field(description="At most ten.")
    count: Count
    at_least: bool = Field(description="There may be more than were counted.")
    first_at: Timestamp = Field(description="The first death.")
    last_at: Timestamp
    sample_id: Uuid = Field(description="The latest entry.")


class DlqEntryOrNull(RootModel[DlqEntry | None]):
    """An entry, null for a delivery that is not in the dead-letter queue."""


class Requeued(Document):
    """A delivery that was taken out of the dead-letter queue."""

    id: Uuid


class _Bulk(Document):
    matched: Count = Field(description="In the queue, and what the filter selects.")
    remaining: Count = Field(
        description="Left for the next request. Above some millions it is at least so many."
    )
    dry_run: bool


class BulkRetry(_Bulk):
    """What a retry in bulk did. What is neither retried nor remaining has left the queue meanwhile, or
    its event is gone."""

    retried: Count


class BulkDiscard(_Bulk):
    """What a discard in bulk did."""

    discarded: Count
