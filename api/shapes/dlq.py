"""The shapes of answers about the dead-letter queue."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from api.shapes import UNSEEN, DeliveryItem
from engine.core.vocabulary import ErrorCategory
from engine.drafts import Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import Word

Count = Annotated[int, Field(ge=0)]


class DlqEntry(DeliveryItem):
    """A delivery that died, and why."""

    deliveryId: Annotated[Uuid, told("The same as `id`.")]
    deadLetteredAt: Timestamp
    lastError: Annotated[str | None, told(UNSEEN)]


class DlqGroup(TypedDict):
    """Entries of the dead-letter queue that died of the same."""

    signature: Annotated[str, told("What the retry and the discard in bulk take.")]
    destinationId: Uuid
    errorCategory: Word[ErrorCategory] | None
    responseStatus: int | None
    lastError: Annotated[str | None, told("Of the latest entry. " + UNSEEN)]
    eventTypes: Annotated[list[str], told("At most ten.")]
    count: Count
    atLeast: Annotated[bool, told("There may be more than were counted.")]
    firstAt: Annotated[Timestamp, told("The first death.")]
    lastAt: Timestamp
    sampleId: Annotated[Uuid, told("The latest entry.")]


DlqEntryOrNull = TypeAliasType(
    "DlqEntryOrNull",
    Annotated[
        DlqEntry | None, told("An entry, null for a delivery that is not in the dead-letter queue.")
    ],
)


class Requeued(TypedDict):
    """A delivery that was taken out of the dead-letter queue."""

    id: Uuid


class BulkAnswer(TypedDict):
    """The common part of the answers to requests in bulk."""

    matched: Annotated[Count, told("In the queue, and what the filter selects.")]
    remaining: Annotated[
        Count, told("Left for the next request. Above some millions it is at least so many.")
    ]
    dryRun: bool


class BulkRetry(BulkAnswer):
    """What a retry in bulk did. What is neither retried nor remaining has left the queue meanwhile, or
    its event is gone."""

    retried: Count


class BulkDiscard(BulkAnswer):
    """What a discard in bulk did."""

    discarded: Count
