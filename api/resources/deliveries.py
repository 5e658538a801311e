"""The routes for deliveries."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from api import shapes
from api.call import Call
from api.pages import PAGE_BYTES, cursor_of, fitting, ordinal, page, position, searched_page
from api.queries import DeliveryQuery, ListQuery, PageQuery, all_of, any_of
from api.resources.counts import destinations_in_slices
from api.resources.destinations import required
from api.resources.events import counted, seen_customers
from api.resources.events import detail_view as event_view
from api.resources.sent import request_view
from api.routes import READ, Command, Embed, Method, Route
from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    ErrorCategory,
    Priority,
)
from engine.log.delivery_log import AttemptEntry, DeliveryEntry, DeliveryFilter, DeliveryPage
from engine.log.queues import held_until
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso, iso_or_none
from engine.model.words import word, word_or_none

TAG = "Deliveries"
COLUMNS = (
    ("CREATED", "createdAt"),
    ("ID", "id"),
    ("STATUS", "status"),
    ("TRY", "attemptCount"),
    ("HTTP", "responseStatus"),
    ("ERROR", "errorCategory"),
    ("DLQ", "dlqStatus"),
    ("DESTINATION", "destinationId"),
    ("EVENT TYPE", "eventType"),
)
ATTEMPTS = (
    ("TRY", "number"),
    ("STARTED", "startedAt"),
    ("MS", "durationMs"),
    ("OK", "success"),
    ("HTTP", "responseStatus"),
    ("ERROR", "errorCategory"),
    ("MESSAGE", "errorMessage"),
)
# The limit on one delivery's attempts as JSON. It has room for 32 responses of 16 KiB, or for five if
# JSON must escape every character. The whole answer, with the event and the request, has at most 2 MiB.
ATTEMPT_BYTES = 512 * 1024
MOST_ATTEMPTS = 2**31 - 1
FEW = 64  # destinations that a list reads one by one
UNSETTLED = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


def item_view(call: Call, entry: DeliveryEntry, flying: set[str]) -> shapes.DeliveryItem:
    """Return the view of a delivery in lists. `flying` has the ids of the deliveries in flight, which the
    rows do not show. While a destination is DISABLED, its deliveries that wait for a retry are shown as
    PENDING."""
    created_at = iso(created_at_ms(entry.id))
    status = DeliveryStatus.DELIVERING if entry.id in flying else _shown(call, entry)
    return {
        "id": entry.id,
        "eventId": entry.event,
        "eventType": entry.event_type,
        "destinationId": entry.destination,
        "environment": word(call.environment_name),
        "status": word(status),
        "kind": word(entry.kind),
        "priority": word(entry.priority),
        "originKind": word(entry.origin),
        "isReplay": entry.origin is DeliveryOrigin.REPLAY,
        "skipped": entry.skipped,
        "attemptCount": entry.attempt_count,
        "errorCategory": word_or_none(entry.error_category),
        "responseStatus": entry.response_status,
        "dlqStatus": word_or_none(entry.dlq_status),
        "createdAt": created_at,
        "updatedAt": created_at if entry.updated_at_ms is None else iso(entry.updated_at_ms),
        "nextAttemptAt": _next_attempt(call, entry) if status is DeliveryStatus.RETRYING else None,
        "deliveredAt": iso_or_none(entry.delivered_at_ms),
    }


def _shown(call: Call, entry: DeliveryEntry) -> DeliveryStatus:
    held = entry.status is DeliveryStatus.RETRYING and _is_held(call, entry.destination)
    return DeliveryStatus.PENDING if held else entry.status


def _next_attempt(call: Call, entry: DeliveryEntry) -> str | None:
    """Return the time of the next attempt. It is not before the end of a hold on the destination."""
    due_ms = entry.next_attempt_at_ms
    health = call.services.directory.health(entry.destination).health
    hold = None if health is None else health.hold
    at = held_until(hold, None if due_ms is None else due_ms / 1000)
    return None if at is None else iso(int(at * 1000))


def attempt_view(attempt: AttemptEntry) -> shapes.Attempt:
    """Return the view of an attempt."""
    headers: dict[str, str] = {}
    for name, value in attempt.response_headers:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    category = attempt.error_category
    return {
        "number": attempt.number,
        "startedAt": iso(attempt.started_at_ms),
        "durationMs": attempt.duration_ms,
        "success": attempt.success,
        "responseStatus": attempt.response_status,
        "responseHeaders": headers,
        "responseBody": attempt.response_body.decode("utf-8", "replace"),
        "responseTruncated": attempt.response_truncated,
        "errorCategory": word_or_none(category),
        "errorMessage": attempt.error_message,
        "transformVersion": attempt.transform_version,
        "logs": attempt.logs,
    }


async def listing(call: Call) -> shapes.Page[shapes.DeliveryItem]:
    """List an environment's deliveries."""
    query = call.query_as(DeliveryQuery)
    which = DeliveryFilter(
        events=all_of(query.event_id),
        destinations=all_of(query.destination_id),
        from_ms=query.from_,
        to_ms=query.to,
        is_replay=query.is_replay,
        error_categories=any_of(ErrorCategory, query.error_category),
        priorities=any_of(Priority, query.priority),
        dlq_statuses=any_of(DlqStatus, query.dlq_status),
        kinds=any_of(DeliveryKind, query.kind),
        origins=any_of(DeliveryOrigin, query.origin_kind),
        event_types=all_of(query.event_type),
        customers=seen_customers(call, query.customer_external_id),
        response_statuses=all_of(query.response_status),
        replay_jobs=all_of(query.replay_job_id),
        examine=query.examine,
    )
    statuses = any_of(DeliveryStatus, query.status)
    return await _page(call, "/deliveries", which, query.cursor, query.limit, statuses)


async def of_destination(call: Call) -> shapes.Page[shapes.DeliveryItem]:
    """List a destination's deliveries."""
    query = call.query_as(PageQuery)
    listing_name = f"/destinations/{call.path['id'].lower()}/deliveries"
    position(listing_name, call.number, query.cursor)  # a bad cursor is refused before a bad id
    record = await required(call)
    which = DeliveryFilter(destinations=(record.id,))
    return await _page(call, listing_name, which, query.cursor, query.limit)


async def of_event(call: Call) -> shapes.Page[shapes.DeliveryItem]:
    """List an event's deliveries."""
    query = call.query_as(ListQuery)
    listing_name = f"/events/{call.path['id'].lower()}/deliveries"
    position(listing_name, call.number, query.cursor)
    identifier = call.identifier()
    event = await call.services.event_log.event(call.number, identifier)
    if event is None or not call.sees_customer(event.entry.customer):
        raise Refusal("not_found", "no such event")
    which = DeliveryFilter(events=(identifier,))
    return await _page(call, listing_name, which, query.cursor, query.limit)


async def _page(
    call: Call,
    listing_name: str,
    which: DeliveryFilter,
    cursor: str | None,
    limit: int,
    statuses: tuple[DeliveryStatus, ...] | None = None,
) -> shapes.Page[shapes.DeliveryItem]:
    """Return a page. It shows deliveries in flight as DELIVERING. Their rows say PENDING or RETRYING."""
    below = position(listing_name, call.number, cursor)
    which = await own(call, which)
    found = DeliveryPage([], None)
    for each in await _stored(call, which, statuses):
        rows = await call.services.delivery_log.deliveries(call.number, each, below, limit)
        found = found.merged(rows, limit)
    sent = flying(call, found.items)
    shown = [
        entry
        for entry in found.items
        if statuses is None
        or (DeliveryStatus.DELIVERING if entry.id in sent else _shown(call, entry)) in statuses
    ]
    items = [item_view(call, entry, sent) for entry in shown]
    return searched_page(items, listing_name, call.number, found.below, limit)


async def _stored(
    call: Call, which: DeliveryFilter, statuses: tuple[DeliveryStatus, ...] | None
) -> list[DeliveryFilter]:
    """Return filters that together select the deliveries with these statuses. Rows do not show which
    deliveries are in flight, so the filter for DELIVERING has the ids of all deliveries in flight."""
    if statuses is None:
        return [which]
    filters = []
    rest = tuple(each for each in statuses if each is not DeliveryStatus.DELIVERING)
    if rest:
        held = await _held(call, which) if any(each in UNSETTLED for each in rest) else ()
        filters.append(msgspec.structs.replace(which, statuses=rest, held=held))
    if len(rest) < len(statuses):
        flying_now = tuple(call.services.directory.in_flight(call.number))
        filters.append(msgspec.structs.replace(which, ids=flying_now))
    return filters


async def own(call: Call, which: DeliveryFilter) -> DeliveryFilter:
    """Limit a filter to what the caller can see. An embed session sees only deliveries to its customer's
    destinations. If the customer has at most FEW destinations, the filter names these destinations, so
    PostgreSQL reads no index entries of other destinations."""
    customer = call.customer
    if customer is None or which.customers == ():
        return which
    which = msgspec.structs.replace(which, customers=(customer.external_id,))
    if which.events is not None or which.destinations is not None:
        return which
    records = await call.services.destination_store.page(
        call.number, tuple(DestinationStatus), customer.account, None, FEW + 1
    )
    if len(records) > FEW:
        return which
    return msgspec.structs.replace(which, destinations=tuple(record.id for record in records))


def _is_held(call: Call, destination: str) -> bool:
    config = call.services.models.destinations.get(destination)
    return config is not None and config.status is DestinationStatus.DISABLED


async def _held(call: Call, which: DeliveryFilter) -> tuple[str, ...]:
    if which.destinations is not None:
        return tuple(each for each in which.destinations if _is_held(call, each))
    found = destinations_in_slices(call)
    return tuple([each.id async for each in found if each.status is DestinationStatus.DISABLED])


def flying(call: Call, entries: Sequence[DeliveryEntry]) -> set[str]:
    """Return the ids of the given deliveries that are in flight."""
    waiting = [entry.id for entry in entries if entry.status in UNSETTLED]
    return call.services.directory.delivering(waiting) if waiting else set()


async def attempts(call: Call) -> shapes.Page[shapes.Attempt]:
    """List a delivery's attempts."""
    query = call.query_as(PageQuery)
    listing_name = _attempts_of(call.path["id"])
    given = position(listing_name, call.number, query.cursor)
    log, identifier = call.services.delivery_log, call.identifier()
    entry = await log.entry(call.number, identifier)
    if entry is None or not call.sees_customer(entry.customer):
        raise Refusal("not_found", "no such delivery")
    # A cursor's number can exceed the column's range.
    below = None if given is None else min(UUID(given).int, MOST_ATTEMPTS)
    found = await log.attempts(call.number, identifier, below, query.limit, PAGE_BYTES)
    items = [attempt_view(attempt) for attempt in found.items]
    following = ordinal(found.items[-1].number) if found.more else None
    return page(
        items,
        listing_name,
        call.number,
        following,
        lambda index: ordinal(found.items[index].number),
    )


def _attempts_of(delivery: str) -> str:
    return f"/deliveries/{delivery.lower()}/attempts"


async def get(call: Call) -> shapes.Delivery:
    """Show one delivery."""
    detail = await call.services.delivery_log.delivery(call.number, call.identifier())
    if detail is None or not call.sees_customer(detail.entry.customer):
        raise Refusal("not_found", "no such delivery")
    entry = detail.entry
    counts = await counted(call, [entry.event])
    newest = [attempt_view(attempt) for attempt in reversed(detail.attempts)]
    shown = newest[: fitting(newest, ATTEMPT_BYTES)]
    cursor = None
    if detail.older or len(shown) < len(newest):
        oldest = ordinal(shown[-1]["number"])
        cursor = cursor_of(_attempts_of(entry.id), call.number, oldest)
    return {
        **item_view(call, entry, flying(call, [entry])),
        "event": None if detail.event is None else event_view(call, detail.event, counts),
        "request": await request_view(call, detail),
        "lastError": entry.last_error,
        "replayOf": entry.replay_of,
        "replayJobId": entry.replay_job,
        "attempts": shown[::-1],
        "attemptsCursor": cursor,
    }


ROUTES = (
    Route(
        method="GET",
        path="/deliveries",
        name="listDeliveries",
        command=Command(
            "deliveries list",
            COLUMNS,
            options={"isReplay": "--replays/--no-replays", "originKind": "--origin"},
        ),
        client=Method("deliveries.list"),
        summary="List deliveries",
        description="A search for rare values stops after a limited time. A page can then hold "
        "fewer than `limit` deliveries, even none, and still have a `nextCursor`. Such a page has "
        "`searchedTo`: the search has examined all deliveries after this time.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=DeliveryQuery,
    ),
    Route(
        method="GET",
        path="/deliveries/{id}",
        name="getDelivery",
        command=Command("deliveries get"),
        client=Method("deliveries.get"),
        summary="Show a delivery with its attempts",
        description="Shows the newest attempts: at most 100, and fewer if receivers' answers are "
        "large (512 KiB in all). If `attemptsCursor` is null, there are no earlier attempts. "
        "Otherwise give it as `cursor` to `GET /deliveries/{id}/attempts`.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=(
            "event.payload",
            "event.metadata",
            "event.attachments",
            "request.body",
            "lastError",
            "attempts.responseBody",
            "attempts.errorMessage",
            "attempts.logs",
        ),
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/deliveries/{id}/attempts",
        name="listAttemptsOfDelivery",
        command=Command("deliveries attempts", ATTEMPTS),
        client=Method("deliveries.attempts", by_page=True),
        summary="List a delivery's attempts",
        description="Newest first. A page ends early if receivers' answers are large.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("items.responseBody", "items.errorMessage", "items.logs"),
        handler=attempts,
        query=PageQuery,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/events/{id}/deliveries",
        name="listDeliveriesOfEvent",
        command=Command("events deliveries", COLUMNS),
        client=Method("events.deliveries"),
        summary="List an event's deliveries",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=of_event,
        query=ListQuery,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/destinations/{id}/deliveries",
        name="listDeliveriesOfDestination",
        client=Method("destinations.deliveries"),
        summary="List a destination's deliveries",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=of_destination,
        query=PageQuery,
        refusals=(404,),
    ),
)
