# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.replay_jobs`."""

from collections.abc import Iterator, Sequence
from typing import Literal, Unpack

from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import ReplayJobFilter
from angarium.shapes import Page, ReplayJob, ReplayJobDetail, ReplayPatch, ReplayProgress
from angarium.sync.resource import Resource, follow_pages


class ReplayJobs(Resource):
    """Jobs that send selected past deliveries again. Live traffic goes first."""

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

        Creates new deliveries for deliveries that were delivered, failed or were dry runs. A
        new delivery has the same `webhook-id` and a new `angarium-delivery-id`. Its body is
        the same unless the transform version or the template config has changed. Live
        deliveries go first. A receiver that remembers the `webhook-id` drops the new delivery
        as a duplicate.

        The job selects deliveries that were settled when it was created. It selects replays
        only by `deliveryIds`, and test deliveries never. At least one of `destinationId`,
        `customerAccountId`, `deliveryIds` and `from` is needed. The mode MISSING instead
        sends events for which the destination has no delivery.

        With `dryRun` nothing is sent: the job is COMPLETED once `total` is counted, mostly
        already in this answer. `types` then counts by event type, and `samples` shows up to
        three requests.
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

        Jobs of the kinds REPLAY, CANCEL and RETRY, newest first.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/replay-jobs", query))

    def iterate(self, **chosen: Unpack[ReplayJobFilter]) -> Iterator[ReplayJob]:
        """List replay jobs: all pages.

        Jobs of the kinds REPLAY, CANCEL and RETRY, newest first.
        """
        return follow_pages(self._send, "/replay-jobs", {**chosen, "limit": PAGE})

    def get(self, job_id: str) -> ReplayJobDetail:
        """Show a replay job."""
        return self._send(Call("GET", at("replay-jobs", job_id)))

    def update(self, job_id: str, change: ReplayPatch) -> ReplayJobDetail:
        """Change the rate of a replay job.

        A merge patch (RFC 7396). The new rate applies within a second, whichever machine runs
        the job. Null removes the limit. Deliveries that are already enqueued stay enqueued.
        409 if the job has ended, or is of the kind CANCEL or RETRY.
        """
        return self._send(Call("PATCH", at("replay-jobs", job_id), body=change))

    def progress(self, job_id: str) -> ReplayProgress:
        """Show the progress of a replay job."""
        return self._send(Call("GET", at("replay-jobs", job_id, "progress")))

    def cancel(self, job_id: str) -> ReplayJobDetail:
        """Cancel a replay job.

        After the answer the job enqueues nothing more. Its enqueued deliveries without an
        attempt are cancelled within a second: they become FAILED and DISCARDED, and count as
        failed. An attempt in flight continues, with its retries. A job of the kind CANCEL or
        RETRY leaves the remaining deliveries unchanged. 400 if the job has ended.
        """
        return self._send(
            Call("POST", at("replay-jobs", job_id, "cancel"), body={}, repeatable=False)
        )
