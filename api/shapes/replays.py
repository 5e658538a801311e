"""Shapes of answers on sending again: the dead-letter queue, and replay jobs."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from api.shapes import UNSEEN, DeliveryItem, Named, SentRequest
from engine.core.vocabulary import ErrorCategory, ReplayStatus
from engine.drafts import Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import Word
from engine.replay.views import SelectionDocument

Count = Annotated[int, Field(ge=0)]


class _Counts(TypedDict):
    total: Annotated[Count, told("Selected; while PENDING, counted so far.")]
    enqueued: Annotated[
        Count, told("Made into new deliveries; by their kind, cancelled, or made due or attempted.")
    ]
    skipped: Annotated[
        Count,
        told(
            "Cannot be replayed: the event is gone, or the destination was archived. By their kind: have "
            "ended before they were cancelled, or were cancelled before they were retried."
        ),
    ]
    delivered: Annotated[Count, told("Of the new deliveries.")]
    failed: Annotated[Count, told("Of the new deliveries.")]


class ReplayJob(Named, SelectionDocument, _Counts):
    """A replay job: what it selects, and how far it is."""

    status: Word[ReplayStatus]
    createdAt: Timestamp
    startedAt: Timestamp | None
    finishedAt: Timestamp | None
    error: Annotated[str | None, told("Why it is FAILED.")]


class ReplayShare(TypedDict):
    """What one destination has of a job."""

    destinationId: Uuid
    total: Count
    enqueued: Count
    skipped: Count


class ReplayJobDetail(ReplayJob):
    """A replay job with the destinations that have most of it, at most 100."""

    destinations: list[ReplayShare]
    samples: Annotated[
        list[SentRequest] | None,
        told(
            "Of a dry run that replays and is COMPLETED: up to three requests as they would be sent."
        ),
    ]


class ReplayProgress(_Counts):
    """How far a replay job is."""

    id: Uuid
    status: Word[ReplayStatus]
    remaining: Count
    percent: Annotated[float, Field(ge=0, le=100)]
    perSecond: Annotated[float | None, told("Deliveries that come to their end, lately.")]
    startedAt: Timestamp | None
    finishedAt: Timestamp | None
    etaSeconds: Annotated[Count | None, told("Null where it cannot be said.")]


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
