# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.deliveries` that are made."""

from collections.abc import Iterator, Sequence
from typing import Literal, Unpack

from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import DeliveryFilter
from angarium.shapes import (
    Attempt,
    Delivery,
    DeliveryExplanation,
    DeliveryItem,
    Page,
    ReplayJobDetail,
)
from angarium.sync.resource import Resource, follow_pages


class Deliveries(Resource):
    """Each event on its way to each destination, with every attempt."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DeliveryFilter],
    ) -> Page[DeliveryItem]:
        """List deliveries: one page.

        A filter that is repeated passes what has any of its values. A page may hold fewer
        than `limit`, even none, and still have a `nextCursor`: the time to look for what is
        rare is bounded. Such a page says `searchedTo`.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/deliveries", query))

    def iterate(self, **chosen: Unpack[DeliveryFilter]) -> Iterator[DeliveryItem]:
        """List deliveries: all pages.

        A filter that is repeated passes what has any of its values. A page may hold fewer
        than `limit`, even none, and still have a `nextCursor`: the time to look for what is
        rare is bounded. Such a page says `searchedTo`.
        """
        return follow_pages(self._send, "/deliveries", {**chosen, "limit": PAGE})

    def get(self, delivery_id: str) -> Delivery:
        """Show a delivery with its attempts.

        With its newest attempts: at most 100, and where receivers' answers are large as many
        as have room in 512 KiB. `attemptsCursor` is null where these are all; else it is the
        `cursor` with which `GET /deliveries/{id}/attempts` goes on.
        """
        return self._send(Call("GET", at("deliveries", delivery_id)))

    def attempts(
        self, delivery_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Attempt]:
        """List a delivery's attempts: one page.

        Newest first. A page ends early where answers of receivers are large.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return self._send(Call("GET", at("deliveries", delivery_id, "attempts"), query))

    def retry(self, delivery_id: str) -> DeliveryItem:
        """Retry a delivery now.

        A PENDING or RETRYING delivery is due now, ahead of its schedule, which goes on from
        there. It passes an open circuit and a Retry-After of its destination. It still waits
        for the head of its ordered lane, for the destination's concurrency and rate limit,
        and while the destination is DISABLED. One in the dead-letter queue is retried as by
        `POST /dlq/{deliveryId}/retry`. 409 where it was delivered or discarded: a replay
        sends its event again.
        """
        return self._send(
            Call("POST", at("deliveries", delivery_id, "retry"), body={}, repeatable=False)
        )

    def cancel(self, delivery_id: str) -> DeliveryItem:
        """Cancel a delivery.

        A PENDING or RETRYING delivery becomes FAILED and DISCARDED, with `lastError`
        `cancelled`, and its lane moves on. An attempt in flight ends first; if it succeeds,
        the delivery is DELIVERED. An answer that shows DELIVERING means that. 409 where the
        delivery has ended.
        """
        return self._send(Call("POST", at("deliveries", delivery_id, "cancel"), body={}))

    def retry_all(
        self,
        destination_id: str,
        *,
        event_types: Sequence[str] | None = None,
        customer_external_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        status: Literal["PENDING", "RETRYING"] | None = None,
        limit: int | None = None,
        dry_run: bool | None = None,
    ) -> ReplayJobDetail:
        """Retry all deliveries that match.

        Makes a job of the kind RETRY, in the shape of replay jobs: `GET /replay-
        jobs/{id}/progress` tells its progress, `POST /replay-jobs/{id}/cancel` ends it. For
        each delivery the job does the same as `POST /deliveries/{id}/retry`. It is COMPLETED
        when all deliveries are due or attempted, and PAUSED while the destination is
        DISABLED. Deliveries that are accepted after the job are left out. `POST /dlq/retry`
        retries dead letters.
        """
        return self._send(
            Call(
                "POST",
                "/deliveries/retry",
                body=body_of(
                    {
                        "destination_id": destination_id,
                        "event_types": event_types,
                        "customer_external_id": customer_external_id,
                        "since": since,
                        "until": until,
                        "status": status,
                        "limit": limit,
                        "dry_run": dry_run,
                    }
                ),
                repeatable=False,
            )
        )

    def cancel_all(
        self,
        destination_id: str,
        *,
        event_types: Sequence[str] | None = None,
        customer_external_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        status: Literal["PENDING", "RETRYING"] | None = None,
        limit: int | None = None,
        dry_run: bool | None = None,
    ) -> ReplayJobDetail:
        """Cancel all deliveries that match.

        Makes a job of the kind CANCEL, in the shape of replay jobs: `GET /replay-
        jobs/{id}/progress` tells its progress, `POST /replay-jobs/{id}/cancel` ends it. For
        each delivery the job does the same as `POST /deliveries/{id}/cancel`, also while the
        destination is DISABLED. `skipped` counts deliveries that ended before they could be
        cancelled. Deliveries that are accepted after the job are left out.
        """
        return self._send(
            Call(
                "POST",
                "/deliveries/cancel",
                body=body_of(
                    {
                        "destination_id": destination_id,
                        "event_types": event_types,
                        "customer_external_id": customer_external_id,
                        "since": since,
                        "until": until,
                        "status": status,
                        "limit": limit,
                        "dry_run": dry_run,
                    }
                ),
                repeatable=False,
            )
        )

    def explain(self, delivery_id: str) -> DeliveryExplanation:
        """Say why a delivery waits.

        Lists every gate that keeps the delivery from being sent now, with the instant at
        which it opens where that is known, its lane, and its position there.
        """
        return self._send(Call("GET", at("deliveries", delivery_id, "explain")))
