# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.dlq`."""

from collections.abc import Iterator, Sequence
from typing import Unpack

from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import DlqFilter
from angarium.shapes import (
    BulkDiscard,
    BulkRetry,
    DlqEntry,
    DlqGroup,
    ErrorCategory,
    Page,
    Requeued,
)
from angarium.sync.resource import Resource, follow_pages


class Dlq(Resource):
    """Deliveries without attempts left: inspect, retry or discard them."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, **chosen: Unpack[DlqFilter]
    ) -> Page[DlqEntry]:
        """List the dead-letter queue: one page.

        Lists deliveries that have no attempts left, or got a 410 from their receiver. The
        latest dead letter comes first. A search for rare values stops after a limited time. A
        page can then hold fewer than `limit` dead letters, even none, and still have a
        `nextCursor`. Such a page has `searchedTo`: the search has examined all dead letters
        after this time.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/dlq", query))

    def iterate(self, **chosen: Unpack[DlqFilter]) -> Iterator[DlqEntry]:
        """List the dead-letter queue: all pages.

        Lists deliveries that have no attempts left, or got a 410 from their receiver. The
        latest dead letter comes first. A search for rare values stops after a limited time. A
        page can then hold fewer than `limit` dead letters, even none, and still have a
        `nextCursor`. Such a page has `searchedTo`: the search has examined all dead letters
        after this time.
        """
        return follow_pages(self._send, "/dlq", {**chosen, "limit": PAGE})

    def groups(
        self,
        *,
        since: Instant | None = None,
        until: Instant | None = None,
        destination_id: str | Sequence[str] | None = None,
        event_type: str | Sequence[str] | None = None,
        error_category: ErrorCategory | Sequence[ErrorCategory] | None = None,
        signature: str | Sequence[str] | None = None,
        replay_job_id: str | Sequence[str] | None = None,
    ) -> Iterator[DlqGroup]:
        """Group the dead-letter queue by cause: all pages.

        The entries of a group have the same destination, error category, response status, and
        error text apart from numbers. The largest group comes first. The server examines the
        latest 20,000 entries: if there are more, `atLeast` is true, and `searchedTo` is the
        time of the earliest examined entry. Give a group's `signature` to the retry or
        discard in bulk.
        """
        return follow_pages(
            self._send,
            "/dlq/groups",
            {
                "since": since,
                "until": until,
                "destination_id": destination_id,
                "event_type": event_type,
                "error_category": error_category,
                "signature": signature,
                "replay_job_id": replay_job_id,
                "limit": PAGE,
            },
        )

    def get(self, delivery_id: str) -> DlqEntry | None:
        """Show an entry of the dead-letter queue.

        The answer is null if the delivery exists and is not in the queue.
        """
        return self._send(Call("GET", at("dlq", delivery_id)))

    def retry(self, delivery_id: str) -> Requeued:
        """Retry an entry of the dead-letter queue.

        The delivery becomes PENDING again, with a new schedule and the `dlqStatus`
        RETRIED_FROM_DLQ. Its attempt numbers continue, and it becomes the last of its lane.
        It waits while its destination is DISABLED. 409 if retention has removed its event.
        """
        return self._send(Call("POST", at("dlq", delivery_id, "retry"), body={}, repeatable=False))

    def retry_all(
        self,
        *,
        delivery_ids: Sequence[str] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        destination_id: str | None = None,
        event_type: str | None = None,
        error_category: ErrorCategory | None = None,
        signature: str | None = None,
        replay_job_id: str | None = None,
        limit: int | None = None,
        rate_per_second: float | None = None,
        dry_run: bool | None = None,
    ) -> BulkRetry:
        """Retry entries of the dead-letter queue in bulk.

        At least one filter is needed. The oldest go first. One request retries up to 10,000
        deliveries and takes at most some seconds. `remaining` counts the rest: repeat the
        same request to retry them. No delivery is retried twice. With `dryRun` the request
        only counts.
        """
        return self._send(
            Call(
                "POST",
                "/dlq/retry",
                body=body_of(
                    {
                        "delivery_ids": delivery_ids,
                        "since": since,
                        "until": until,
                        "destination_id": destination_id,
                        "event_type": event_type,
                        "error_category": error_category,
                        "signature": signature,
                        "replay_job_id": replay_job_id,
                        "limit": limit,
                        "rate_per_second": rate_per_second,
                        "dry_run": dry_run,
                    }
                ),
            )
        )

    def discard_all(
        self,
        *,
        delivery_ids: Sequence[str] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        destination_id: str | None = None,
        event_type: str | None = None,
        error_category: ErrorCategory | None = None,
        signature: str | None = None,
        replay_job_id: str | None = None,
        limit: int | None = None,
        rate_per_second: float | None = None,
        dry_run: bool | None = None,
    ) -> BulkDiscard:
        """Discard entries of the dead-letter queue in bulk.

        The deliveries become FAILED and DISCARDED. They stay listed, and only a replay job
        can send them again. Selection and limits are the same as for the retry in bulk.
        """
        return self._send(
            Call(
                "POST",
                "/dlq/discard",
                body=body_of(
                    {
                        "delivery_ids": delivery_ids,
                        "since": since,
                        "until": until,
                        "destination_id": destination_id,
                        "event_type": event_type,
                        "error_category": error_category,
                        "signature": signature,
                        "replay_job_id": replay_job_id,
                        "limit": limit,
                        "rate_per_second": rate_per_second,
                        "dry_run": dry_run,
                    }
                ),
            )
        )
