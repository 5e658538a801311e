# Made from angarium/aio by generate_sync.py; do not edit.
"""Deliveries: what became of events."""

from collections.abc import Iterator
from typing import Unpack

from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import DeliveryFilter
from angarium.shapes import Attempt, Delivery, DeliveryDetail, Page
from angarium.sync.resource import Resource, follow_pages


class Deliveries(Resource):
    """Deliveries."""

    def get(self, delivery_id: str) -> DeliveryDetail:
        """Return a delivery with its event, its request and its attempts."""
        return self._send(Call("GET", at("deliveries", delivery_id)))

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DeliveryFilter],
    ) -> Page[Delivery]:
        """Return one page; it may be short and still have a `nextCursor`."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/deliveries", query))

    def attempts(
        self, delivery_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Attempt]:
        """Return one page of a delivery's attempts, newest first; it ends early where answers are large.

        `attemptsCursor` of a delivery is the `cursor` of what is before its own `attempts`.
        """
        path = at("deliveries", delivery_id, "attempts")
        return self._send(Call("GET", path, query_of({"limit": limit, "cursor": cursor})))

    def iterate(self, **chosen: Unpack[DeliveryFilter]) -> Iterator[Delivery]:
        """Yield all deliveries that `chosen` allows, newest first."""
        return follow_pages(self._send, "/deliveries", {**chosen, "limit": PAGE})
