"""The shapes of answers about the dead-letter queue and replay jobs."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from api.shapes import UNSEEN, DeliveryItem, Named, SentRequest
from engine.core.vocabulary import ErrorCategory, ReplayStatus
from engine.drafts import Uuid, doc
from engine.model.instants import Timestamp
from engine.model.words import Word
from engine.replay.views import SelectionDocument

Count = Annotated[int, Field(ge=0)]


class _Counts(TypedDict):
    total: Annotated[
        Count, doc("Selected deliveries. While the job is PENDING: the number so far.")
    ]
    enqueued: Annotated[
        Count,
        doc(
            "REPLAY: new deliveries. CANCEL: cancelled deliveries. RETRY: deliveries that became due"
            " or were attempted."
        ),
    ]
    skipped: Annotated[
        Count,
        doc(
            "REPLAY: the event was removed, or the destination was archived. CANCEL and RETRY:"
            " the delivery ended before the job reached it."
        ),
    ]
    delivered: Annotated[Count, doc("New deliveries that were delivered.")]
    failed: Annotated[Count, doc("New deliveries that failed.")]


class ReplayJob(Named, SelectionDocument, _Counts):
    """A replay job: its selection and its progress."""

    status: Word[ReplayStatus]
    createdAt: Timestamp
    startedAt: Timestamp | None
    finishedAt: Timestamp | None
    error: Annotated[str | None, doc("The reason why it is FAILED.")]


class ReplayShare(TypedDict):
    """One destination's part of a job."""

    destinationId: Uuid
    total: Count
    enqueued: Count
    skipped: Count


class TypeShare(TypedDict):
    """One event type's part of a job."""

    eventType: str
    total: Count


class ReplayJobDetail(ReplayJob):
    """A replay job with its destinations: the 100 with the most deliveries."""

    destinations: list[ReplayShare]
    types: Annotated[
        list[TypeShare] | None,
        doc("For a COMPLETED dry run of a replay: the 20 most frequent event types."),
    ]
    samples: Annotated[
        list[SentRequest] | None,
        doc("For a COMPLETED dry run of a replay: up to three requests that would be sent."),
    ]


class ReplayProgress(_Counts):
    """The progress of a replay job."""

    id: Uuid
    status: Word[ReplayStatus]
    remaining: Count
    percent: Annotated[float, Field(ge=0, le=100)]
    perSecond: Annotated[float | None, doc("Deliveries that ended per second, recently.")]
    startedAt: Timestamp | None
    finishedAt: Timestamp | None
    etaSeconds: Annotated[Count | None, doc("The estimated time to the end. Null: unknown.")]


class DlqEntry(DeliveryItem):
    """A dead letter, and its cause."""

    deliveryId: Annotated[Uuid, doc("The same as `id`.")]
    deadLetteredAt: Timestamp
    lastError: Annotated[str | None, doc(UNSEEN)]


class DlqGroup(TypedDict):
    """Entries of the dead-letter queue with the same cause."""

    signature: Annotated[str, doc("The `signature` for retry and discard in bulk.")]
    destinationId: Uuid
    errorCategory: Word[ErrorCategory] | None
    responseStatus: int | None
    lastError: Annotated[str | None, doc("The error of the latest entry. " + UNSEEN)]
    eventTypes: Annotated[list[str], doc("At most ten.")]
    count: Count
    atLeast: Annotated[bool, doc("True if `count` can be higher than counted.")]
    firstAt: Annotated[Timestamp, doc("The time when the first entry became a dead letter.")]
    lastAt: Timestamp
    sampleId: Annotated[Uuid, doc("The id of the latest entry.")]


DlqEntryOrNull = TypeAliasType(
    "DlqEntryOrNull",
    Annotated[
        DlqEntry | None,
        doc("The entry; null for a delivery that is not in the dead-letter queue."),
    ],
)


class Requeued(TypedDict):
    """A delivery that is retried from the dead-letter queue."""

    id: Uuid


class BulkAnswer(TypedDict):
    """The common part of the answers to requests in bulk."""

    matched: Annotated[Count, doc("Deliveries in the queue that match the filter.")]
    remaining: Annotated[
        Count,
        doc(
            "Deliveries that remain for the next request. The count stops after 10 seconds: a"
            " number in the millions can be too low."
        ),
    ]
    dryRun: bool


class BulkRetry(BulkAnswer):
    """The result of a retry in bulk."""

    retried: Annotated[
        Count,
        doc(
            "Retried deliveries. Others that matched and do not remain have left the queue"
            " meanwhile, or their event was removed."
        ),
    ]


class BulkDiscard(BulkAnswer):
    """The result of a discard in bulk."""

    discarded: Count
