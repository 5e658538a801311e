"""The routes for the dead-letter queue."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

from msgspec import structs
from pydantic import Field

from api import shapes
from api.call import Call
from api.pages import ordinal, page, position, searched_page
from api.queries import AnyOf, PageQuery, all_of, any_of
from api.resources.deliveries import item_view, own
from api.resources.destinations import must_exist
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes.replays import (
    BulkAnswer,
    BulkDiscard,
    BulkRetry,
    DlqEntry,
    DlqEntryOrNull,
    DlqGroup,
    Requeued,
)
from engine.control.audit import Principal
from engine.control.dlq import MOST, Bound, Bulk
from engine.core.vocabulary import DlqStatus, ErrorCategory
from engine.drafts import Document, Uuid
from engine.log.delivery_log import DeadGroup, DeadPosition, DeliveryEntry, DeliveryFilter
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import Instant, iso
from engine.model.quotas import Ability
from engine.model.words import Word, word_or_none

TAG = "Dead-letter queue"
COLUMNS = (
    ("DEAD SINCE", "deadLetteredAt"),
    ("DELIVERY", "deliveryId"),
    ("TRIES", "attemptCount"),
    ("ERROR", "errorCategory"),
    ("HTTP", "responseStatus"),
    ("DESTINATION", "destinationId"),
    ("EVENT TYPE", "eventType"),
    ("LAST ERROR", "lastError"),
)
LISTING = "/dlq"
MAX_DELIVERY_IDS = 1_000  # as in an ingestion batch
EXAMPLE = {
    "destinationId": "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01",
    "errorCategory": "TIMEOUT",
    "from": "2026-11-20T00:00:00.000Z",
    "dryRun": True,
}
GROUPS = "/dlq/groups"
GROUP_COLUMNS = (
    ("COUNT", "count"),
    ("ERROR", "errorCategory"),
    ("HTTP", "responseStatus"),
    ("LAST", "lastAt"),
    ("DESTINATION", "destinationId"),
    ("SIGNATURE", "signature"),
    ("LAST ERROR", "lastError"),
)
Signature = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
EventType = Annotated[str, Field(min_length=1, max_length=256)]


class DlqQuery(PageQuery):
    """Filters of the dead-letter queue."""

    from_: Instant | None = Field(
        None, alias="from", description="Dead letters since this instant."
    )
    to: Instant | None = Field(None, description="Dead letters before this instant.")
    destination_id: AnyOf[Uuid] | None = Field(None, description="Deliveries to this destination.")
    event_type: AnyOf[EventType] | None = Field(None, description="Deliveries of this event type.")
    error_category: AnyOf[Word[ErrorCategory]] | None = Field(
        None, description="Deliveries whose last attempt had this error."
    )
    signature: AnyOf[Signature] | None = Field(None, description="Deliveries of this group.")
    replay_job_id: AnyOf[Uuid] | None = Field(None, description="Deliveries of this replay job.")

    def which(self) -> DeliveryFilter:
        return DeliveryFilter(
            destinations=all_of(self.destination_id),
            dead_from_ms=self.from_,
            dead_to_ms=self.to,
            signatures=all_of(self.signature),
            replay_jobs=all_of(self.replay_job_id),
            event_types=all_of(self.event_type),
            error_categories=any_of(ErrorCategory, self.error_category),
            dlq_statuses=(DlqStatus.IN_DLQ,),
        )


class DlqSelection(Document):
    """The selected entries: those that match all given filters."""

    delivery_ids: list[Uuid] | None = Field(None, min_length=1, max_length=MAX_DELIVERY_IDS)
    from_: Instant | None = Field(
        None, alias="from", description="Dead letters since this instant."
    )
    to: Instant | None = Field(None, description="Dead letters before this instant.")
    destination_id: Uuid | None = None
    event_type: EventType | None = None
    error_category: Word[ErrorCategory] | None = None
    signature: Signature | None = Field(None, description="Deliveries of this group.")
    replay_job_id: Uuid | None = Field(None, description="Deliveries of this replay job.")
    limit: int | None = Field(
        None, ge=1, le=MOST, description="The most deliveries of this request. Null: 10,000."
    )
    rate_per_second: float | None = Field(
        None, gt=0, le=MOST, description="The most deliveries a second. Null: no limit."
    )
    # Null is refused: a request that intends to count must never discard.
    dry_run: bool = Field(False, description="Only count the selected deliveries.")

    def judged(self) -> DeliveryFilter:
        """Raises Refusal 400 if the selection is empty, or if `from` is after `to`."""
        ids = self.delivery_ids
        given = (ids, self.from_, self.to, self.destination_id, self.event_type, self.signature)
        if all(each is None for each in (*given, self.error_category, self.replay_job_id)):
            raise Refusal(
                "invalid_request",
                "give at least one of deliveryIds, from, to, destinationId, eventType, "
                "errorCategory, signature and replayJobId",
            )
        if self.from_ is not None and self.to is not None and self.from_ > self.to:
            raise invalid("from", "is after to")
        category = self.error_category
        return DeliveryFilter(
            ids=None if ids is None else tuple(dict.fromkeys(ids)),
            destinations=None if self.destination_id is None else (self.destination_id,),
            dead_from_ms=self.from_,
            dead_to_ms=self.to,
            signatures=None if self.signature is None else (self.signature,),
            replay_jobs=None if self.replay_job_id is None else (self.replay_job_id,),
            event_types=None if self.event_type is None else (self.event_type,),
            error_categories=None if category is None else (ErrorCategory[category],),
            dlq_statuses=(DlqStatus.IN_DLQ,),
        )


def entry_view(call: Call, entry: DeliveryEntry) -> DlqEntry:
    """Return the view of an entry."""
    died_at_ms = entry.dead_lettered_at_ms or entry.updated_at_ms or created_at_ms(entry.id)
    return {
        **item_view(call, entry, set()),
        "deliveryId": entry.id,
        "deadLetteredAt": iso(died_at_ms),
        "lastError": entry.last_error,
    }


async def listing(call: Call) -> shapes.Page[DlqEntry]:
    """List the entries of the queue, the latest dead letter first."""
    query = call.query_as(DlqQuery)
    below = await _place(call, position(LISTING, call.number, query.cursor))
    which = _visible(call, await own(call, query.which()))
    found = await call.services.dead_letter_log.page(call.number, which, below, query.limit)
    items = [entry_view(call, entry) for entry in found.items]
    below_id, at_ms = (None, None) if found.below is None else (found.below.id, found.below.at_ms)
    return searched_page(items, LISTING, call.number, below_id, query.limit, at_ms)


def _visible(call: Call, which: DeliveryFilter) -> DeliveryFilter:
    floor_ms = call.services.visibility.floor_ms(call.number)
    return structs.replace(which, from_ms=max(which.from_ms or 0, floor_ms))


async def _place(call: Call, delivery: str | None) -> DeadPosition | None:
    """Return the place at which a page begins: the position that `delivery` has, or had, in the
    dead-letter queue. Return None for the first page."""
    if delivery is None:
        return None
    entry = await call.services.delivery_log.entry(call.number, delivery)
    if entry is None or entry.dead_lettered_at_ms is None:
        raise invalid("cursor", "names a delivery that no longer exists: begin with the first page")
    return DeadPosition(entry.dead_lettered_at_ms, entry.id)


async def groups(call: Call) -> shapes.Page[DlqGroup]:
    """Group the entries of the queue by cause."""
    query = call.query_as(DlqQuery)
    after = position(GROUPS, call.number, query.cursor)
    which = _visible(call, await own(call, query.which()))
    found = await call.services.dead_letter_log.groups(call.number, which)
    start = 0 if after is None else UUID(after).int
    shown = found.items[start : start + query.limit]
    more = len(found.items) > start + len(shown)
    following = ordinal(start + len(shown)) if more else None
    to_ms = found.searched_to_ms
    items = [group_view(each, whole=to_ms is None) for each in shown]
    groups = page(items, GROUPS, call.number, following, lambda index: ordinal(start + index + 1))
    if to_ms is not None:
        groups["searchedTo"] = iso(to_ms)
    return groups


def group_view(group: DeadGroup, *, whole: bool) -> DlqGroup:
    """Return the view of a group."""
    return {
        "signature": group.signature,
        "destinationId": group.destination,
        "errorCategory": word_or_none(group.error_category),
        "responseStatus": group.response_status,
        "lastError": group.last_error,
        "eventTypes": group.event_types,
        "count": group.count,
        "atLeast": not whole,
        "firstAt": iso(group.first_ms),
        "lastAt": iso(group.last_ms),
        "sampleId": group.sample,
    }


async def get(call: Call) -> DlqEntryOrNull:
    """Show one entry, or null if the delivery is not in the queue."""
    identifier = call.identifier("deliveryId")
    entry = await call.services.dead_letters.entry(call.number, identifier, call.customer)
    return None if entry is None else entry_view(call, entry)


async def retry(call: Call) -> Requeued:
    """Retry one entry."""
    identifier = call.identifier("deliveryId")
    await call.services.dead_letters.retry(call.principal, call.number, identifier, call.customer)
    return {"id": identifier}


async def retry_all(call: Call) -> BulkRetry:
    """Retry the selected entries."""
    answer, done = await _bulk(call, call.services.dead_letters.retry_all)
    return {**answer, "retried": done}


async def discard_all(call: Call) -> BulkDiscard:
    """Discard the selected entries."""
    answer, done = await _bulk(call, call.services.dead_letters.discard_all)
    return {**answer, "discarded": done}


async def _bulk(
    call: Call,
    act: Callable[[Principal, int, DeliveryFilter, dict[str, Any], Bound], Awaitable[Bulk]],
) -> tuple[BulkAnswer, int]:
    """Return the answer, and the number of deliveries."""
    selection = call.body_as(DlqSelection)
    which = selection.judged()
    if selection.destination_id is not None:
        await must_exist(call, selection.destination_id)
    if which.ids is not None:
        await _require(call, which.ids)
    which = _visible(call, await own(call, which))
    if selection.dry_run:
        bulk = await call.services.dead_letters.count(call.number, which)
    else:
        bound = Bound(selection.limit, selection.rate_per_second)
        shown = {name: value for name, value in call.document.items() if name != "dryRun"}
        bulk = await act(call.principal, call.number, which, shown, bound)
    answer: BulkAnswer = {
        "matched": bulk.matched,
        "remaining": bulk.remaining,
        "dryRun": selection.dry_run,
    }
    return answer, bulk.done


async def _require(call: Call, deliveries: tuple[str, ...]) -> None:
    """Raises Refusal 404 if the caller cannot see all of the deliveries."""
    named = await own(call, DeliveryFilter(ids=deliveries))
    most = len(deliveries)
    found = await call.services.delivery_log.deliveries(call.number, named, None, most)
    if len(found.items) < most:
        raise Refusal("not_found", "deliveryIds: no such delivery")


ROUTES = (
    Route(
        method="GET",
        path="/dlq",
        name="listDlq",
        command=Command("dlq list", COLUMNS, options={"eventType": "--event-type"}),
        client=Method("dlq.list"),
        summary="List the dead-letter queue",
        description="Lists deliveries that have no attempts left, or got a 410 from their "
        "receiver. The latest dead letter comes first. A search for rare values stops after a "
        "limited time. A page can then hold fewer than `limit` dead letters, even none, and still "
        "have a `nextCursor`. Such a page has `searchedTo`: the search has examined all dead "
        "letters after this time.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("items.lastError",),
        handler=listing,
        query=DlqQuery,
    ),
    Route(
        method="GET",
        path="/dlq/groups",
        name="listDlqGroups",
        command=Command("dlq groups", GROUP_COLUMNS),
        client=Method("dlq.groups"),
        summary="Group the dead-letter queue by cause",
        description="The entries of a group have the same destination, error category, response "
        "status, and error text apart from numbers. The largest group comes first. The server "
        "examines the latest 20,000 entries: if there are more, `atLeast` is true, and "
        "`searchedTo` is the time of the earliest examined entry. Give a group's `signature` to "
        "the retry or discard in bulk.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("items.lastError",),
        handler=groups,
        query=DlqQuery,
    ),
    Route(
        method="GET",
        path="/dlq/{deliveryId}",
        name="getDlqEntry",
        client=Method("dlq.get"),
        summary="Show an entry of the dead-letter queue",
        description="The answer is null if the delivery exists and is not in the queue.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("lastError",),
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="POST",
        path="/dlq/{deliveryId}/retry",
        name="retryDlqEntry",
        client=Method("dlq.retry"),
        repeat=Repeat.NEVER,
        summary="Retry an entry of the dead-letter queue",
        description="The delivery becomes PENDING again, with a new schedule and the `dlqStatus` "
        "RETRIED_FROM_DLQ. Its attempt numbers continue, and it becomes the last of its lane. It "
        "waits while its destination is DISABLED. 409 if retention has removed its event.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.RETRY_DELIVERIES,
        handler=retry,
        action=True,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/dlq/retry",
        name="retryDlq",
        client=Method("dlq.retry_all"),
        summary="Retry entries of the dead-letter queue in bulk",
        description="At least one filter is needed. The oldest go first. One request retries up "
        "to 10,000 deliveries and takes at most some seconds. `remaining` counts the rest: repeat "
        "the same request to retry them. No delivery is retried twice. With `dryRun` the request "
        "only counts.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.RETRY_DELIVERIES,
        handler=retry_all,
        body=DlqSelection,
        refusals=(404,),
        example=EXAMPLE,
    ),
    Route(
        method="POST",
        path="/dlq/discard",
        name="discardDlq",
        client=Method("dlq.discard_all"),
        summary="Discard entries of the dead-letter queue in bulk",
        description="The deliveries become FAILED and DISCARDED. They stay listed, and only a "
        "replay job can send them again. Selection and limits are the same as for the retry in "
        "bulk.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.DISCARD_DELIVERIES,
        handler=discard_all,
        body=DlqSelection,
        refusals=(404,),
        example={"eventType": "cart.updated", "to": "2026-11-01T00:00:00.000Z"},
    ),
)
