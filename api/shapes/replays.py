"""The shapes of answers about the dead-letter queue and replay jobs."""

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
    total: Annotated[Count, told("Selected deliveries; while PENDING, those counted so far.")]
    enqueued: Annotated[
        Count,
        told(
            "Replays: new deliveries. Other kinds: deliveries cancelled, or made due or attempted."
        ),
    ]
    skipped: Annotated[
        Count,
        told(
            "Replays: the event was removed, or the destination was archived. Other kinds:"
            " deliveries that ended before the job reached them."
        ),
    ]
    delivered: Annotated[Count, told("New deliveries that were delivered.")]
    failed: Annotated[Count, told("New deliveries that failed.")]


class ReplayJob(Named, SelectionDocument, _Counts):
    """A replay job: its selection and its progress."""

    status: Word[ReplayStatus]
    createdAt: Timestamp
    startedAt: Timestamp | None
    finishedAt: Timestamp | None
    error: Annotated[str | None, told("Why it is FAILED.")]


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
    """A replay job with the destinations of most of its deliveries, at most 100."""

    destinations: list[ReplayShare]
    types: Annotated[
        list[TypeShare] | None,
        told("For a COMPLETED dry run of a replay: the 20 event types of most of its deliveries."),
    ]
    samples: Annotated[
        list[SentRequest] | None,
        told("For a COMPLETED dry run of a replay: up to three requests that would be sent."),
    ]


class ReplayProgress(_Counts):
    """The progress of a replay job."""

    id: Uuid
    status: Word[ReplayStatus]
    remaining: Count
    percent: Annotated[float, Field(ge=0, le=100)]
    perSecond: Annotated[float | None, told("Deliveries that recently ended a second.")]
    startedAt: Timestamp | None
    finishedAt: Timestamp | None
    etaSeconds: Annotated[Count | None, told("Null if it cannot be estimated.")]


class DlqEntry(DeliveryItem):
    """A dead letter, and its cause."""

    deliveryId: Annotated[Uuid, told("The same as `id`.")]
    deadLetteredAt: Timestamp
    lastError: Annotated[str | None, told(UNSEEN)]


class DlqGroup(TypedDict):
    """Entries of the dead-letter queue with the same cause."""

    signature: Annotated[str, told("The argument `signature` of retry and discard in bulk.")]
    destinationId: Uuid
    errorCategory: Word[ErrorCategory] | None
    responseStatus: int | None
    lastError: Annotated[str | None, told("The error of the latest entry. " + UNSEEN)]
    eventTypes: Annotated[list[str], told("At most ten.")]
    count: Count
    atLeast: Annotated[bool, told("True if `count` can be higher than counted.")]
    firstAt: Annotated[Timestamp, told("When the first entry became a dead letter.")]
    lastAt: Timestamp
    sampleId: Annotated[Uuid, told("The latest entry.")]


DlqEntryOrNull = TypeAliasType(
    "DlqEntryOrNull",
    Annotated[
        DlqEntry | None,
        told("The entry; null for a delivery that is not in the dead-letter queue."),
    ],
)


class Requeued(TypedDict):
    """A delivery that left the dead-letter queue to be retried."""

    id: Uuid


class BulkAnswer(TypedDict):
    """The common part of the answers to requests in bulk."""

    matched: Annotated[Count, told("Deliveries in the queue that the filter selects.")]
    remaining: Annotated[
        Count,
        told("Deliveries left for the next request. Some millions or more are a lower bound."),
    ]
    dryRun: bool


class BulkRetry(BulkAnswer):
    """The result of a retry in bulk. A delivery that is neither retried nor remaining has left the
    queue meanwhile, or its event was removed."""

    retried: Count


class BulkDiscard(BulkAnswer):
    """The result of a discard in bulk."""

    discarded: Count
