"""The dead-letter queue: list, entry, retry of one, retry and discard in bulk."""

from typing import Annotated, Any

from msgspec import structs
from pydantic import Field

from api import shapes
from api.call import Answer, Call
from api.pages import page, position
from api.queries import PageQuery
from api.resources.deliveries import item_view, own
from api.resources.destinations import must_exist
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes.dlq import BulkDiscard, BulkRetry, DlqEntry, DlqEntryOrNull, Requeued
from engine.control.dlq import Bulk
from engine.core.vocabulary import DlqStatus, ErrorCategory
from engine.drafts import Document, Uuid
from engine.log.delivery_log import DeliveryEntry, DeliveryFilter
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import Instant, iso
from engine.model.words import CategoryName
from engine.model.workspace_settings import Ability

TAG = "Dead-letter queue"
# The table of the command that lists them.
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
MAX_DELIVERY_IDS = 1_000  # as an ingestion batch; who has more has a filter that says which
EXAMPLE = {
    "destinationId": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
    "errorCategory": "TIMEOUT",
    "from": "2026-11-20T00:00:00.000Z",
    "dryRun": True,
}
EventType = Annotated[str, Field(min_length=1, max_length=256)]


class DlqQuery(PageQuery):
    """Filters of the dead-letter queue."""

    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    destination_id: Uuid | None = Field(None, description="Deliveries to this destination.")
    event_type: EventType | None = Field(None, description="Deliveries of this event type.")
    error_category: CategoryName | None = Field(None, description="Of the last attempt.")


class DlqSelection(Document):
    """Which entries are meant: those for which all that is given holds."""

    delivery_ids: list[Uuid] | None = Field(None, min_length=1, max_length=MAX_DELIVERY_IDS)
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    destination_id: Uuid | None = None
    event_type: EventType | None = None
    error_category: CategoryName | None = None
    # No null: who means to count must not discard.
    dry_run: bool = Field(False, description="Only count what is meant.")

    def judged(self) -> DeliveryFilter:
        """Return it as a filter. Raises Refusal 400 where it is empty or runs backwards."""
        ids = self.delivery_ids
        given = (ids, self.from_, self.to, self.destination_id, self.event_type)
        if all(each is None for each in given) and self.error_category is None:
            raise Refusal(
                "invalid_request",
                "give at least one of deliveryIds, from, to, destinationId, eventType and errorCategory",
            )
        if self.from_ is not None and self.to is not None and self.from_ > self.to:
            raise invalid("from", "is after to")
        which = filter_of(self)
        return structs.replace(which, ids=None if ids is None else tuple(dict.fromkeys(ids)))


def filter_of(given: DlqQuery | DlqSelection) -> DeliveryFilter:
    """Return the filter that a query or a selection has."""
    category = given.error_category
    return DeliveryFilter(
        destinations=None if given.destination_id is None else (given.destination_id,),
        from_ms=given.from_,
        to_ms=given.to,
        event_type=given.event_type,
        error_category=None if category is None else ErrorCategory[category],
        dlq_status=DlqStatus.IN_DLQ,
    )


def entry_view(call: Call, entry: DeliveryEntry) -> dict[str, Any]:
    """Return an entry as callers see it."""
    died_at_ms = entry.dead_lettered_at_ms or entry.updated_at_ms or created_at_ms(entry.id)
    return {
        **item_view(call, entry, set()),
        "deliveryId": entry.id,
        "deadLetteredAt": iso(died_at_ms),
        "lastError": entry.last_error,
    }


async def listing(call: Call) -> Answer:
    """List what is in the queue, the latest created first."""
    query = call.query_as(DlqQuery)
    below = position(LISTING, call.number, query.cursor)
    which = await own(call, filter_of(query))
    found = await call.services.delivery_log.deliveries(call.number, which, below, query.limit)
    items = [entry_view(call, entry) for entry in found.items]
    return Answer(200, page(items, LISTING, call.number, found.below))


async def get(call: Call) -> Answer:
    """Show an entry."""
    identifier = call.identifier("deliveryId")
    entry = await call.services.dead_letters.entry(call.number, identifier, call.customer)
    return Answer(200, None if entry is None else entry_view(call, entry))


async def retry(call: Call) -> Answer:
    """Try one anew."""
    identifier = call.identifier("deliveryId")
    await call.services.dead_letters.retry(call.actor, call.number, identifier, call.customer)
    return Answer(200, {"id": identifier})


async def retry_all(call: Call) -> Answer:
    """Try anew what is selected."""
    return await _bulk(call, "retried")


async def discard_all(call: Call) -> Answer:
    """Give up what is selected."""
    return await _bulk(call, "discarded")


async def _bulk(call: Call, word: str) -> Answer:
    selection = call.body_as(DlqSelection)
    which = selection.judged()
    if selection.destination_id is not None:
        await must_exist(call, selection.destination_id)
    if which.ids is not None:
        await _require(call, which.ids)
    which = await own(call, which)
    floor_ms = call.services.visibility.floor_ms(call.number)
    which = structs.replace(which, from_ms=max(which.from_ms or 0, floor_ms))
    dead_letters = call.services.dead_letters
    shown = {name: value for name, value in call.document.items() if name != "dryRun"}
    if selection.dry_run:
        bulk = await dead_letters.count(call.number, which)
    elif word == "retried":
        bulk = await dead_letters.retry_all(call.actor, call.number, which, shown)
    else:
        bulk = await dead_letters.discard_all(call.actor, call.number, which, shown)
    return Answer(200, bulk_view(bulk, word, dry_run=selection.dry_run))


async def _require(call: Call, deliveries: tuple[str, ...]) -> None:
    """Raise Refusal 404 where one of them does not exist for the caller."""
    named = await own(call, DeliveryFilter(ids=deliveries))
    most = len(deliveries)
    found = await call.services.delivery_log.deliveries(call.number, named, None, most)
    if len(found.items) < most:
        raise Refusal("not_found", "deliveryIds: no such delivery")


def bulk_view(bulk: Bulk, word: str, *, dry_run: bool) -> dict[str, Any]:
    """Return what a request in bulk came to."""
    return {
        "matched": bulk.matched,
        word: bulk.done,
        "remaining": bulk.remaining,
        "dryRun": dry_run,
    }


ROUTES = (
    Route(
        method="GET",
        path="/dlq",
        name="listDlq",
        command=Command("dlq list", COLUMNS, options={"eventType": "--event-type"}),
        client=Method("dlq.list"),
        summary="List the dead-letter queue",
        description="Deliveries whose schedule is used up, or that met a 410; the latest created first. "
        "A page may hold fewer than `limit`, even none, and still have a `nextCursor`.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("items.lastError",),
        handler=listing,
        query=DlqQuery,
        responses={200: shapes.Page[DlqEntry]},
    ),
    Route(
        method="GET",
        path="/dlq/{deliveryId}",
        name="getDlqEntry",
        client=Method("dlq.get"),
        summary="Show an entry of the dead-letter queue",
        description="Null for a delivery that exists and is not in the queue.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("lastError",),
        handler=get,
        responses={200: DlqEntryOrNull},
        refusals=(404,),
    ),
    Route(
        method="POST",
        path="/dlq/{deliveryId}/retry",
        name="retryDlqEntry",
        client=Method("dlq.retry"),
        repeat=Repeat.NEVER,
        summary="Retry an entry of the dead-letter queue",
        description="The same delivery is PENDING again, with a fresh schedule and dlqStatus "
        "RETRIED_FROM_DLQ; attempt numbers go on, and in its lane it is the last. While its destination "
        "is DISABLED it waits. 409 where retention has removed its event.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.RETRY_DELIVERIES,
        handler=retry,
        action=True,
        responses={200: Requeued},
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/dlq/retry",
        name="retryDlq",
        client=Method("dlq.retry_all"),
        summary="Retry entries of the dead-letter queue in bulk",
        description="At least one filter is needed. The oldest go first. One request retries 10,000 and "
        "works for some seconds at most: `remaining` says how many it left, and the same request once "
        "more goes on with them; nothing is retried twice. With `dryRun` it only counts.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.RETRY_DELIVERIES,
        handler=retry_all,
        body=DlqSelection,
        responses={200: BulkRetry},
        refusals=(404,),
        example=EXAMPLE,
    ),
    Route(
        method="POST",
        path="/dlq/discard",
        name="discardDlq",
        client=Method("dlq.discard_all"),
        summary="Discard entries of the dead-letter queue in bulk",
        description="They become DISCARDED for good: FAILED, listed, and never sent again (but by a "
        "replay job). Otherwise as the retry in bulk.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.DISCARD_DELIVERIES,
        handler=discard_all,
        body=DlqSelection,
        responses={200: BulkDiscard},
        refusals=(404,),
        example={"eventType": "cart.updated", "to": "2026-11-01T00:00:00.000Z"},
    ),
)
