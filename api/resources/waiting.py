"""The routes for commands on waiting deliveries."""

from collections.abc import Awaitable, Callable

from api import shapes
from api.call import Call
from api.resources.deliveries import TAG, flying, item_view
from api.resources.replays import detail
from api.routes import MANAGE, Command, Embed, Method, Repeat, Route
from api.shapes.replays import ReplayJobDetail
from engine.control.audit import Principal
from engine.control.replay_drafts import OrderDraft
from engine.core.vocabulary import JobKind
from engine.log.delivery_log import DeliveryEntry
from engine.model.quotas import Ability
from engine.model.read_models import SessionCustomer

EXAMPLE = {
    "destinationId": "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01",
    "eventTypes": ["order.*"],
    "status": "RETRYING",
    "dryRun": True,
}
Order = Callable[[Principal, int, str, SessionCustomer | None], Awaitable[DeliveryEntry]]


async def retry(call: Call) -> shapes.DeliveryItem:
    """Send one delivery now."""
    return await _ordered(call, call.services.deliveries.retry)


async def cancel(call: Call) -> shapes.DeliveryItem:
    """Cancel one delivery."""
    return await _ordered(call, call.services.deliveries.cancel)


async def retry_all(call: Call) -> ReplayJobDetail:
    """Send all matching deliveries now."""
    return await _job(call, JobKind.RETRY)


async def cancel_all(call: Call) -> ReplayJobDetail:
    """Cancel all matching deliveries."""
    return await _job(call, JobKind.CANCEL)


async def _job(call: Call, kind: JobKind) -> ReplayJobDetail:
    draft = call.body_as(OrderDraft)
    job = await call.services.replays.order(call.principal, call.number, draft, call.customer, kind)
    return await detail(call, job)


async def _ordered(call: Call, order: Order) -> shapes.DeliveryItem:
    entry = await order(call.principal, call.number, call.identifier(), call.customer)
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
        description="A PENDING or RETRYING delivery becomes due now. If the attempt fails, its "
        "schedule continues. An open circuit or a Retry-After of the destination does not hold "
        "it. It still waits for earlier deliveries of its ordered lane, for the destination's "
        "concurrency and rate limit, and while the destination is DISABLED. A dead letter is "
        "retried as by `POST /dlq/{deliveryId}/retry`. 409 if the delivery was delivered or "
        "discarded: replay its event instead.",
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
        description="A PENDING or RETRYING delivery becomes FAILED and DISCARDED, with the "
        "`lastError` `cancelled`. Its lane continues. An attempt in flight ends first; until then "
        "the delivery is DELIVERING. If that attempt succeeds, the delivery becomes DELIVERED. "
        "409 if the delivery has ended.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.DISCARD_DELIVERIES,
        handler=cancel,
        action=True,
        status=202,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/deliveries/retry",
        name="retryDeliveries",
        client=Method("deliveries.retry_all"),
        repeat=Repeat.NEVER,
        summary="Retry all deliveries that match",
        description="Creates a job of the kind RETRY, in the shape of replay jobs: `GET "
        "/replay-jobs/{id}/progress` shows its progress, `POST /replay-jobs/{id}/cancel` ends it. "
        "For each delivery the job does the same as `POST /deliveries/{id}/retry`. It is "
        "COMPLETED when all deliveries are due or attempted, and PAUSED while the destination is "
        "DISABLED. Deliveries accepted after the job was created are left out. For dead letters "
        "use `POST /dlq/retry`.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.RETRY_DELIVERIES,
        handler=retry_all,
        body=OrderDraft,
        status=201,
        refusals=(404, 409),
        withheld=("samples.body",),
        example=EXAMPLE,
    ),
    Route(
        method="POST",
        path="/deliveries/cancel",
        name="cancelDeliveries",
        client=Method("deliveries.cancel_all"),
        summary="Cancel all deliveries that match",
        description="Creates a job of the kind CANCEL, in the shape of replay jobs: `GET "
        "/replay-jobs/{id}/progress` shows its progress, `POST /replay-jobs/{id}/cancel` ends it. "
        "For each delivery the job does the same as `POST /deliveries/{id}/cancel`, even while "
        "the destination is DISABLED. `skipped` counts deliveries that ended before they could be "
        "cancelled. Deliveries accepted after the job was created are left out.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.DISCARD_DELIVERIES,
        handler=cancel_all,
        body=OrderDraft,
        status=201,
        refusals=(404, 409),
        withheld=("samples.body",),
        example=EXAMPLE,
    ),
)
