# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.deliveries`."""

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
    """The deliveries of events to destinations, with every attempt."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DeliveryFilter],
    ) -> Page[DeliveryItem]:
        """List deliveries: one page.

        A search for rare values stops after a limited time. A page can then hold fewer than
        `limit` deliveries, even none, and still have a `nextCursor`. Such a page has
        `searchedTo`: the search has examined all deliveries after this time.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/deliveries", query))

    def iterate(self, **chosen: Unpack[DeliveryFilter]) -> Iterator[DeliveryItem]:
        """List deliveries: all pages.

        A search for rare values stops after a limited time. A page can then hold fewer than
        `limit` deliveries, even none, and still have a `nextCursor`. Such a page has
        `searchedTo`: the search has examined all deliveries after this time.
        """
        return follow_pages(self._send, "/deliveries", {**chosen, "limit": PAGE})

    def get(self, delivery_id: str) -> Delivery:
        """Show a delivery with its attempts.

        Shows the newest attempts: at most 100, and fewer if receivers' answers are large (512
        KiB in all). If `attemptsCursor` is null, there are no earlier attempts. Otherwise
        give it as `cursor` to `GET /deliveries/{id}/attempts`.
        """
        return self._send(Call("GET", at("deliveries", delivery_id)))

    def attempts(
        self, delivery_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Attempt]:
        """List a delivery's attempts: one page.

        Newest first. A page ends early if receivers' answers are large.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return self._send(Call("GET", at("deliveries", delivery_id, "attempts"), query))

    def retry(self, delivery_id: str) -> DeliveryItem:
        """Retry a delivery now.

        A PENDING or RETRYING delivery becomes due now. If the attempt fails, its schedule
        continues. An open circuit or a Retry-After of the destination does not hold it. It
        still waits for earlier deliveries of its ordered lane, for the destination's
        concurrency and rate limit, and while the destination is DISABLED. A dead letter is
        retried as by `POST /dlq/{deliveryId}/retry`. 409 if the delivery was delivered or
        discarded: replay its event instead.
        """
        return self._send(
            Call("POST", at("deliveries", delivery_id, "retry"), body={}, repeatable=False)
        )

    def cancel(self, delivery_id: str) -> DeliveryItem:
        """Cancel a delivery.

        A PENDING or RETRYING delivery becomes FAILED and DISCARDED, with the `lastError`
        `cancelled`. Its lane continues. An attempt in flight ends first; until then the
        delivery is DELIVERING. If that attempt succeeds, the delivery becomes DELIVERED. 409
        if the delivery has ended.
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

        Creates a job of the kind RETRY, in the shape of replay jobs: `GET /replay-
        jobs/{id}/progress` shows its progress, `POST /replay-jobs/{id}/cancel` ends it. For
        each delivery the job does the same as `POST /deliveries/{id}/retry`. It is COMPLETED
        when all deliveries are due or attempted, and PAUSED while the destination is
        DISABLED. Deliveries accepted after the job was created are left out. For dead letters
        use `POST /dlq/retry`.
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

        Creates a job of the kind CANCEL, in the shape of replay jobs: `GET /replay-
        jobs/{id}/progress` shows its progress, `POST /replay-jobs/{id}/cancel` ends it. For
        each delivery the job does the same as `POST /deliveries/{id}/cancel`, even while the
        destination is DISABLED. `skipped` counts deliveries that ended before they could be
        cancelled. Deliveries accepted after the job was created are left out.
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
        """Show the reasons why a delivery waits.

        Lists every reason why the delivery is not sent now, and until when, if that is known.
        Also shows the delivery's lane and its position there.
        """
        return self._send(Call("GET", at("deliveries", delivery_id, "explain")))
