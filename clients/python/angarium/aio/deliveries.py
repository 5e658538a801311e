"""Deliveries: what became of events."""

from collections.abc import AsyncIterator
from typing import Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import DeliveryFilter
from angarium.shapes import Attempt, Delivery, DeliveryDetail, Page


class AsyncDeliveries(AsyncResource):
    """Deliveries."""

    async def get(self, delivery_id: str) -> DeliveryDetail:
        """Return a delivery with its event, its request and its attempts."""
        return await self._send(Call("GET", at("deliveries", delivery_id)))

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DeliveryFilter],
    ) -> Page[Delivery]:
        """Return one page; it may be short and still have a `nextCursor`."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/deliveries", query))

    async def attempts(
        self, delivery_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Attempt]:
        """Return one page of a delivery's attempts, newest first; it ends early where answers are large.

        `attemptsCursor` of a delivery is the `cursor` of what is before its own `attempts`.
        """
        path = at("deliveries", delivery_id, "attempts")
        return await self._send(Call("GET", path, query_of({"limit": limit, "cursor": cursor})))

    def iterate(self, **chosen: Unpack[DeliveryFilter]) -> AsyncIterator[Delivery]:
        """Yield all deliveries that `chosen` allows, newest first."""
        return follow_pages(self._send, "/deliveries", {**chosen, "limit": PAGE})
