"""The routes for accepted events. Payloads keep their exact bytes."""

from collections.abc import Mapping, Sequence

import orjson

from api import shapes
from api.call import Call
from api.pages import position, searched_page
from api.queries import EventQuery, all_of
from api.routes import MANAGE, READ, Command, Embed, Method, Route
from engine.log.delivery_log import EventDetail, EventEntry, EventFilter
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso, iso_or_none
from engine.model.trace import traceparent
from engine.model.words import word

TAG = "Events"
COLUMNS = (
    ("RECEIVED", "receivedAt"),
    ("ID", "id"),
    ("DELIVERIES", "deliveries"),
    ("CUSTOMER", "customerExternalId"),
    ("SOURCE", "source"),
    ("EVENT TYPE", "eventType"),
)
LISTING = "/events"


def seen_customers(call: Call, given: list[str] | None) -> tuple[str, ...] | None:
    """Return those of the given customers that the caller can see. If `given` is None, return None,
    which means no filter."""
    return None if given is None else tuple(each for each in given if call.sees_customer(each))


async def counted(call: Call, events: Sequence[str]) -> Mapping[str, int] | None:
    """Return, for each event, the number of its deliveries to destinations of the session's customer.
    Return None for a caller with a key, who sees all deliveries."""
    if call.customer is None:
        return None
    customer = call.customer.external_id
    return await call.services.event_log.deliveries_to(call.number, events, customer)


def item_view(
    call: Call, entry: EventEntry, counts: Mapping[str, int] | None = None
) -> shapes.EventItem:
    """Return the view of an event in lists. `counts` is the result of `counted`."""
    return {
        "id": entry.id,
        "environment": word(call.environment_name),
        "eventType": entry.type,
        "occurredAt": iso(entry.occurred_at_ms),
        "receivedAt": iso(created_at_ms(entry.id)),
        "source": entry.source,
        "customerExternalId": entry.customer,
        "correlationId": entry.correlation_id,
        "requestId": entry.request_id,
        "idempotencyKey": entry.idempotency_key,
        "deliveries": entry.deliveries if counts is None else counts.get(entry.id, 0),
        "origin": word(entry.origin),
        "erasedAt": iso_or_none(entry.erased_at_ms),
        "traceparent": None if entry.trace is None else traceparent(entry.trace),
    }


def detail_view(
    call: Call, event: EventDetail, counts: Mapping[str, int] | None = None
) -> shapes.Event:
    """Return the view of a whole event, with exact bytes."""
    return {
        **item_view(call, event.entry, counts),
        "payload": orjson.Fragment(event.payload),
        "metadata": _spliced(event.metadata),
        "attachments": _spliced(event.attachments),
    }


def _spliced(raw: bytes | None) -> orjson.Fragment | None:
    return None if raw is None else orjson.Fragment(raw)


async def listing(call: Call) -> shapes.Page[shapes.EventItem]:
    """List events, newest first."""
    query = call.query_as(EventQuery)
    customers = seen_customers(call, query.customer_external_id)
    if call.customer is not None and customers != ():
        customers = (call.customer.external_id,)
    which = EventFilter(
        from_ms=query.from_,
        to_ms=query.to,
        types=all_of(query.event_type),
        customers=customers,
        correlation_ids=all_of(query.correlation_id),
        request_ids=all_of(query.request_id),
        idempotency_keys=all_of(query.idempotency_key),
        undelivered=query.undelivered,
        examine=query.examine,
    )
    below = position(LISTING, call.number, query.cursor)
    found = await call.services.event_log.events(call.number, which, below, query.limit)
    counts = await counted(call, [entry.id for entry in found.items])
    items = [item_view(call, entry, counts) for entry in found.items]
    return searched_page(items, LISTING, call.number, found.below, query.limit)


async def get(call: Call) -> shapes.Event:
    """Show one event."""
    event = await call.services.event_log.event(call.number, call.identifier())
    if event is None or not call.sees_customer(event.entry.customer):
        raise Refusal("not_found", "no such event")
    return detail_view(call, event, await counted(call, [event.entry.id]))


async def erase(call: Call) -> shapes.Event:
    """Erase the content of an event."""
    event = await call.services.erasure.erase(call.principal, call.number, call.identifier())
    return detail_view(call, event, await counted(call, [event.entry.id]))


ROUTES = (
    Route(
        method="GET",
        path="/events",
        name="listEvents",
        command=Command(
            "events list", COLUMNS, options={"undelivered": "--undelivered/--no-undelivered"}
        ),
        client=Method("events.list"),
        summary="List events",
        description="The list includes events that no rule matched. If the search stopped early, "
        "the page has `searchedTo`: the search has examined all events after this time. An embed "
        "session sees its customer's events, with only the deliveries to its customer's "
        "destinations.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=EventQuery,
    ),
    Route(
        method="GET",
        path="/events/{id}",
        name="getEvent",
        command=Command("events get"),
        client=Method("events.get"),
        summary="Show an event",
        description="`payload` and `metadata` have the same bytes as in the request. Each of the "
        "`attachments` has the `source` FILE with the id of a file, whatever source the request "
        "gave.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("payload", "metadata", "attachments"),
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="DELETE",
        path="/events/{id}/payload",
        name="eraseEvent",
        command=Command(
            "events erase", confirm="Erase the content of event {}? This cannot be undone."
        ),
        client=Method("events.erase"),
        summary="Erase an event's content",
        description="Erases payload, metadata, attachments and files of the event, and the "
        "receivers' answers and script output of its deliveries. The event, its deliveries and "
        "all counters stay: `payload` is null, and `erasedAt` is the time of erasure. Before "
        "that, waiting deliveries are cancelled and dead letters discarded. The event can never "
        "be replayed again. 503 while an attempt is in flight; then nothing is erased. Backups "
        "keep the content.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=erase,
        refusals=(404,),
    ),
)
