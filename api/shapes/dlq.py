"""The shapes of answers about the dead-letter queue."""

from typing import Annotated

from pydantic import Field, RootModel

from api.shapes import UNSEEN, DeliveryItem, Timestamp
from engine.drafts import Document, Uuid

Count = Annotated[int, Field(ge=0)]


class DlqEntry(DeliveryItem):
    """A delivery that died, and why."""

    delivery_id: Uuid = Field(description="The same as `id`.")
    dead_lettered_at: Timestamp
    last_error: str | None = Field(description=UNSEEN)


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
