"""The tools for deliveries."""

from typing import Literal

from pydantic import Field

from angarium import AsyncClient
from angarium.shapes import DeliveryStatus, ErrorCategory
from api.mcp.tool import Document, Limit, Tool, ToolArguments, ToolChange, done, would


class ListDeliveries(ToolArguments):
    """The selection of deliveries."""

    destination_id: str | None = Field(None, description="Only deliveries to this destination.")
    event_type: str | None = Field(None, description="Only deliveries of this event type.")
    customer_external_id: str | None = Field(
        None, description="Only deliveries to this customer's destinations."
    )
    status: DeliveryStatus | None = Field(None, description="Only deliveries with this status.")
    error_category: ErrorCategory | None = Field(
        None, description="Only deliveries with this kind of error."
    )
    since: str | None = Field(None, description="Created at or after this instant, ISO 8601.")
    until: str | None = Field(None, description="Created before this instant, ISO 8601.")
    cursor: str | None = Field(None, description="The nextCursor of the previous page.")
    limit: Limit = 20


class SteerDelivery(ToolChange):
    """The delivery, and the action on it."""

    delivery_id: str = Field(description="The delivery's id.")
    action: Literal["RETRY", "CANCEL"] = Field(
        description="RETRY: send it now; a dead letter is retried. CANCEL: never send it."
    )


async def list_deliveries(client: AsyncClient, given: ListDeliveries) -> Document:
    """List deliveries, newest first."""
    chosen = given.model_dump(exclude={"limit", "cursor"})
    page = await client.deliveries.list(limit=given.limit, cursor=given.cursor, **chosen)
    return {**page}


async def steer_delivery(client: AsyncClient, given: SteerDelivery) -> Document:
    """Retry or cancel a delivery."""
    what = f"{given.action.lower()} the delivery"
    if not given.apply:
        explanation = await client.deliveries.explain(given.delivery_id)
        return would(what, **explanation)
    steer = client.deliveries.retry if given.action == "RETRY" else client.deliveries.cancel
    return done(what, delivery=await steer(given.delivery_id))


TOOLS = (
    Tool(
        "list_deliveries",
        "List deliveries",
        "List deliveries, newest first, selected by destination, type, customer, status, error and "
        "time. After a page with a nextCursor there can be more.",
        ListDeliveries,
        list_deliveries,
    ),
    Tool(
        "steer_delivery",
        "Retry or cancel a delivery",
        "Send one delivery now, before its schedule, or cancel it permanently.",
        SteerDelivery,
        steer_delivery,
        destructive=True,
    ),
)
