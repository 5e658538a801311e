"""What callers do with a delivery that waits: have it sent now, or cancel it."""

from collections.abc import Awaitable, Callable

from api import shapes
from api.call import Call
from api.resources.deliveries import TAG, flying, item_view
from api.routes import MANAGE, Command, Embed, Method, Repeat, Route
from engine.control.audit import Principal
from engine.log.delivery_log import DeliveryEntry
from engine.model.read_models import SessionCustomer
from engine.model.workspace_settings import Ability

Order = Callable[[Principal, int, str, SessionCustomer | None], Awaitable[DeliveryEntry]]


async def retry(call: Call) -> shapes.DeliveryItem:
    """Have one sent now."""
    return await _ordered(call, call.services.deliveries.retry)


async def cancel(call: Call) -> shapes.DeliveryItem:
    """Have one sent no more."""
    return await _ordered(call, call.services.deliveries.cancel)


async def _ordered(call: Call, order: Order) -> shapes.DeliveryItem:
    entry = await order(call.actor, call.number, call.identifier(), call.customer)
    return item_view(call, entry, flying(call, [entry]))


ROUTES = (
    Route(
        method="POST",
        path="/deliveries/{id}/retry",
        name="retryDelivery",
        command=Command("deliveries retry"),
        client=Method("deliveries.retry"),
        repeat=Repeat.NEVER,
        summary="Retry a delivery now",
        description="A PENDING or RETRYING delivery is due now, ahead of its schedule, which goes on "
        "from there. It passes an open circuit and a Retry-After of its destination. It still waits for "
        "the head of its ordered lane, for the destination's concurrency and rate limit, and while the "
        "destination is DISABLED. One in the dead-letter queue is retried as by "
        "`POST /dlq/{deliveryId}/retry`. 409 where it was delivered or discarded: a replay sends its "
        "event again.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.RETRY_DELIVERIES,
        handler=retry,
        action=True,
        status=202,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/deliveries/{id}/cancel",
        name="cancelDelivery",
        command=Command("deliveries cancel", confirm="Cancel delivery {}?"),
        client=Method("deliveries.cancel"),
        summary="Cancel a delivery",
        description="A PENDING or RETRYING delivery becomes FAILED and DISCARDED, with `lastError` "
        "`cancelled`, and its lane moves on. An attempt in flight ends first; if it succeeds, the "
        "delivery is DELIVERED. An answer that shows DELIVERING means that. 409 where the delivery has "
        "ended.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.DISCARD_DELIVERIES,
        handler=cancel,
        action=True,
        status=202,
        refusals=(404, 409),
    ),
)
