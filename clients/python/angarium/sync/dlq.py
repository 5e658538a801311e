# Made from angarium/aio by generate_sync.py; do not edit.
"""The dead-letter queue: deliveries whose schedule is used up."""

from collections.abc import Iterator, Sequence
from typing import Unpack

from angarium.calls import PAGE, Call, at, body_of, query_of
from angarium.filters import DlqFilter
from angarium.shapes import BulkDiscard, BulkRetry, DlqEntry, Page, Requeued
from angarium.sync.resource import Resource, follow_pages


class Dlq(Resource):
    """The dead-letter queue."""

    def get(self, delivery_id: str) -> DlqEntry | None:
        """Return an entry, None for a delivery that exists and is not in the queue."""
        return self._send(Call("GET", at("dlq", delivery_id)))

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DlqFilter],
    ) -> Page[DlqEntry]:
        """Return one page of entries."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/dlq", query))

    def iterate(self, **chosen: Unpack[DlqFilter]) -> Iterator[DlqEntry]:
        """Yield all entries that `chosen` allows, newest first."""
        return follow_pages(self._send, "/dlq", {**chosen, "limit": PAGE})

    def retry(self, delivery_id: str) -> Requeued:
        """Send that delivery again, with a fresh schedule."""
        # done twice, the second finds it out of the queue
        path = at("dlq", delivery_id, "retry")
        return self._send(Call("POST", path, body={}, repeatable=False))

    def retry_all(
        self,
        *,
        dry_run: bool | None = None,
        delivery_ids: Sequence[str] | None = None,
        **chosen: Unpack[DlqFilter],
    ) -> BulkRetry:
        """Send again all that `chosen` allows (at least one filter), or say with `dry_run` how many."""
        body = body_of({**chosen, "delivery_ids": _ids(delivery_ids), "dry_run": dry_run})
        return self._send(Call("POST", "/dlq/retry", body=body))

    def discard_all(
        self,
        *,
        dry_run: bool | None = None,
        delivery_ids: Sequence[str] | None = None,
        **chosen: Unpack[DlqFilter],
    ) -> BulkDiscard:
        """Give up for good what `chosen` allows, or say with `dry_run` how many. The record stays."""
        body = body_of({**chosen, "delivery_ids": _ids(delivery_ids), "dry_run": dry_run})
        return self._send(Call("POST", "/dlq/discard", body=body))


def _ids(given: Sequence[str] | None) -> Sequence[str] | None:
    return None if given is None else tuple(given)
