# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.replay_jobs` that are made."""

from collections.abc import Iterator, Sequence
from typing import Literal, Unpack

from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import ReplayJobFilter
from angarium.shapes import Page, ReplayJob, ReplayJobDetail, ReplayProgress
from angarium.sync.resource import Resource, follow_pages


class ReplayJobs(Resource):
    """Past deliveries, sent again by selection, behind live traffic."""

    def create(
        self,
        *,
        destination_id: str | None = None,
        customer_account_id: str | None = None,
        event_types: Sequence[str] | None = None,
        statuses: Sequence[Literal["DELIVERED", "FAILED", "DRY_RUN"]] | None = None,
        delivery_ids: Sequence[str] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        dry_run: bool | None = None,
        mode: Literal["AGAIN", "MISSING"] | None = None,
        rate_per_second: float | None = None,
    ) -> ReplayJobDetail:
        """Replay deliveries.

        Makes new deliveries of events that were delivered, failed or were dry runs: the same
        `webhook-id`, an `angarium-delivery-id` of their own, and the same body unless another
        transform version or template config is in force, behind whatever is live. A receiver
        that still keeps the `webhook-id` as handled drops them. Selected is what was settled
        when the job was created; replays themselves only by `deliveryIds`, test deliveries
        never. At least one of `destinationId`, `customerAccountId`, `deliveryIds` and `from`
        is needed. The mode MISSING delivers events for which the destination has no delivery
        instead. With `dryRun` nothing is sent: the job is COMPLETED as soon as `total` is
        counted, mostly in this answer, and `samples` shows up to three requests as they would
        be sent.
        """
        return self._send(
            Call(
                "POST",
                "/replay-jobs",
                body=body_of(
                    {
                        "destination_id": destination_id,
                        "customer_account_id": customer_account_id,
                        "event_types": event_types,
                        "statuses": statuses,
                        "delivery_ids": delivery_ids,
                        "since": since,
                        "until": until,
                        "dry_run": dry_run,
                        "mode": mode,
                        "rate_per_second": rate_per_second,
                    }
                ),
                repeatable=False,
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[ReplayJobFilter],
    ) -> Page[ReplayJob]:
        """List replay jobs: one page.

        Jobs that replay, cancel or retry, the newest first.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/replay-jobs", query))

    def iterate(self, **chosen: Unpack[ReplayJobFilter]) -> Iterator[ReplayJob]:
        """List replay jobs: all pages.

        Jobs that replay, cancel or retry, the newest first.
        """
        return follow_pages(self._send, "/replay-jobs", {**chosen, "limit": PAGE})

    def get(self, job_id: str) -> ReplayJobDetail:
        """Show a replay job."""
        return self._send(Call("GET", at("replay-jobs", job_id)))

    def progress(self, job_id: str) -> ReplayProgress:
        """Show the progress of a replay job."""
        return self._send(Call("GET", at("replay-jobs", job_id, "progress")))

    def cancel(self, job_id: str) -> ReplayJobDetail:
        """Cancel a replay job.

        After the answer nothing more is enqueued. Deliveries that were enqueued and not
        attempted are cancelled within a second: they become FAILED and DISCARDED, and count
        as failed. An attempt in flight, and its retries, continue. A job of the kind CANCEL
        or RETRY stops at its present place. 400 if the job has ended.
        """
        return self._send(
            Call("POST", at("replay-jobs", job_id, "cancel"), body={}, repeatable=False)
        )
