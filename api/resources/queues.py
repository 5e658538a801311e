"""The routes that show waiting deliveries."""

from collections.abc import Sequence
from uuid import UUID

from api import shapes
from api.call import Call
from api.pages import ordinal, page, position
from api.queries import PageQuery
from api.resources import deliveries, destinations
from api.resources.health import instant
from api.routes import READ, Command, Embed, Method, Route
from api.shapes.observability import DeliveryExplanation, DeliveryLane, Lane
from engine.core.health import Hold
from engine.core.vocabulary import Ordering
from engine.log.delivery_log import DeliveryEntry, DeliveryFilter
from engine.log.queues import LaneEntry, QueuePlace, held_until, waits_of
from engine.model.configuration import DestinationRecord
from engine.model.errors import Refusal
from engine.model.words import word

COLUMNS = (
    ("KIND", "kind"),
    ("KEY", "key"),
    ("DEPTH", "depth"),
    ("HEAD", "head.id"),
    ("STATUS", "head.status"),
    ("ERROR", "head.errorCategory"),
    ("UNTIL", "until"),
)


async def lanes(call: Call) -> shapes.Page[Lane]:
    """List the lanes of a destination that have waiting deliveries."""
    query = call.query_as(PageQuery)
    listing = f"/destinations/{call.path['id'].lower()}/lanes"
    given = position(listing, call.number, query.cursor)
    record = await destinations.required(call)
    if record.ordering is Ordering.NONE:
        return page([], listing, call.number, None)
    found = await call.services.queues.lanes(
        call.number,
        record.id,
        strict=record.ordering is Ordering.STRICT,
        after=0 if given is None else UUID(given).int,
        limit=query.limit + 1,
    )
    shown = found.items[: query.limit]
    heads = await _heads(call, [lane.head for lane in shown])
    items = [_view(call, lane, heads, record, whole=found.whole) for lane in shown]
    more = len(found.items) > len(shown)
    return page(
        items,
        listing,
        call.number,
        ordinal(shown[-1].head_seq) if more else None,
        lambda index: ordinal(shown[index].head_seq),
    )


async def _heads(call: Call, ids: Sequence[str]) -> dict[str, DeliveryEntry]:
    which = DeliveryFilter(ids=tuple(ids))
    found = await call.services.delivery_log.deliveries(call.number, which, None, len(ids))
    return {entry.id: entry for entry in found.items}


def _view(
    call: Call,
    lane: LaneEntry,
    heads: dict[str, DeliveryEntry],
    record: DestinationRecord,
    *,
    whole: bool,
) -> Lane:
    head = heads.get(lane.head)
    sent = set() if head is None else deliveries.flying(call, [head])
    due_ms = None if head is None or sent else head.next_attempt_at_ms
    hold = None if sent else _hold(call, record.id)
    return {
        "key": lane.key,
        "kind": word(lane.kind),
        "depth": lane.depth,
        "atLeast": not whole,
        "head": None if head is None else deliveries.item_view(call, head, sent),
        "until": instant(held_until(hold, None if due_ms is None else due_ms / 1000)),
    }


def _hold(call: Call, destination: str) -> Hold | None:
    health = call.services.directory.health(destination).health
    return None if health is None else health.hold


async def explain(call: Call) -> DeliveryExplanation:
    """Show the reasons why a delivery waits."""
    services = call.services
    entry = await services.delivery_log.entry(call.number, call.identifier())
    if entry is None or not call.sees_customer(entry.customer):
        raise Refusal("not_found", "no such delivery")
    sent = deliveries.flying(call, [entry])
    shown = deliveries.item_view(call, entry, sent)
    if entry.status not in deliveries.UNSETTLED:
        return _explanation(shown, QueuePlace())
    record = await services.destination_store.get(call.number, entry.destination)
    ordering = Ordering.NONE if record is None else record.ordering
    place = await services.queues.place(
        call.number,
        entry.id,
        ordered=ordering is not Ordering.NONE,
        strict=ordering is Ordering.STRICT,
    )
    found = _explanation(shown, place)
    if not sent:
        health = services.directory.health(entry.destination).health
        found["waits"] = [
            {
                "gate": word(wait.gate),
                "until": instant(wait.until_s),
                "detail": wait.detail,
                "blockedBy": wait.blocked_by,
            }
            for wait in waits_of(entry, place, health, services.now())
        ]
    return found


def _explanation(shown: shapes.DeliveryItem, place: QueuePlace) -> DeliveryExplanation:
    lane: DeliveryLane | None = None
    if place.kind is not None:
        lane = {"key": place.key, "kind": word(place.kind)}
    return {
        "deliveryId": shown["id"],
        "status": shown["status"],
        "waits": [],
        "lane": lane,
        "position": place.ahead,
    }


ROUTES = (
    Route(
        method="GET",
        path="/destinations/{id}/lanes",
        name="listLanes",
        command=Command("destinations lanes", COLUMNS),
        client=Method("destinations.lanes", by_page=True),
        summary="List a destination's lanes",
        description="Lists the ordered lanes with waiting deliveries. The lane whose head, its "
        "first delivery, is the oldest comes first. A destination with ordering NONE has no "
        "lanes. The server examines the destination's 5,000 oldest unsettled deliveries; if there "
        "are more, `atLeast` is true.",
        tag=destinations.TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=lanes,
        query=PageQuery,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/deliveries/{id}/explain",
        name="explainDelivery",
        command=Command("deliveries explain"),
        client=Method("deliveries.explain"),
        summary="Show the reasons why a delivery waits",
        description="Lists every reason why the delivery is not sent now, and until when, if that "
        "is known. Also shows the delivery's lane and its position there.",
        tag=deliveries.TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=explain,
        refusals=(404,),
    ),
)
