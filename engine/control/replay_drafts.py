"""The documents in which callers describe replay jobs and bulk orders."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from engine.core.vocabulary import DeliveryStatus, ReplayMode
from engine.drafts import (
    MAX_RATE_PER_SECOND,
    RULE_PATTERNS,
    Document,
    Name,
    NullIs,
    Pattern,
    Uuid,
)
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.instants import Instant
from engine.model.words import SettledStatusName, WaitingStatusName, Word, word
from engine.replay.job import ReplaySelection

MAX_ORDERS = 1_000_000_000  # more than any destination has waiting
MAX_DELIVERY_IDS = 1_000  # as many as an ingestion batch has events; a filter can select more
# One delivery in 17 minutes: a slower job would hardly move.
MIN_RATE_PER_SECOND = 0.001
RATE: Any = Field(
    None, ge=MIN_RATE_PER_SECOND, le=MAX_RATE_PER_SECOND,
    description="The most deliveries that are enqueued a second. Null: as many as the receivers take.",
)  # fmt: skip


class ReplayDraft(Document):
    """The deliveries to send again: those that match all given fields."""

    destination_id: Uuid | None = Field(None, description="Deliveries to this destination.")
    customer_account_id: Uuid | None = Field(
        None, description="Deliveries to the destinations of this customer account."
    )
    event_types: list[Pattern] | None = Field(
        None, min_length=1, max_length=RULE_PATTERNS,
        description="Patterns as in a routing rule. Null: every type.",
    )  # fmt: skip
    statuses: list[SettledStatusName] | None = Field(
        None, min_length=1, max_length=3,
        description="Only deliveries with these statuses. Null: all three. Unsettled ones are "
        "never replayed.",
    )  # fmt: skip
    delivery_ids: list[Uuid] | None = Field(
        None, min_length=1, max_length=MAX_DELIVERY_IDS,
        description="Only these deliveries. A delivery that is itself a replay must be named here.",
    )  # fmt: skip
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    dry_run: Annotated[bool, NullIs(False)] = Field(
        False, description="Only count the deliveries that would be replayed."
    )
    mode: Annotated[Word[ReplayMode], NullIs("AGAIN")] = Field(
        word(ReplayMode.AGAIN),
        description="AGAIN: send settled deliveries again. MISSING: send the events that match the "
        "destination's present rules and have no delivery to it. MISSING needs `destinationId`, and "
        "allows no `statuses` and no `deliveryIds`.",
    )
    rate_per_second: float | None = RATE

    def selection(self) -> ReplaySelection:
        """Return the selection of the draft. Raises Refusal 400 if it is unbounded, empty or
        contradictory."""
        bounds = (self.destination_id, self.customer_account_id, self.delivery_ids, self.from_)
        if all(bound is None for bound in bounds):
            raise Refusal(
                "invalid_request",
                "give at least one of destinationId, customerAccountId, deliveryIds and from",
            )
        _check_range(self.from_, self.to)
        statuses = self.statuses
        if self.mode == ReplayMode.MISSING.name:
            if self.destination_id is None:
                raise invalid("destinationId", "is required with the mode MISSING")
            for path, given in (("statuses", statuses), ("deliveryIds", self.delivery_ids)):
                if given is not None:
                    raise invalid(path, "is not for the mode MISSING: its events have no delivery")
        return ReplaySelection(
            destination=self.destination_id,
            account=self.customer_account_id,
            event_types=_distinct(self.event_types),
            statuses=None
            if statuses is None
            else tuple(sorted({DeliveryStatus[each] for each in statuses})),
            deliveries=_distinct(self.delivery_ids),
            from_ms=self.from_,
            to_ms=self.to,
        )


class ReplayPatch(Document):
    """The part of a job that a caller can change until the job ends."""

    rate_per_second: float | None = RATE


class OrderDraft(Document):
    """The waiting deliveries to cancel or retry: those that match all given fields."""

    destination_id: Uuid = Field(description="Deliveries to this destination.")
    event_types: list[Pattern] | None = Field(
        None, min_length=1, max_length=RULE_PATTERNS,
        description="Patterns as in a routing rule. Null: every type.",
    )  # fmt: skip
    customer_external_id: Name | None = Field(
        None, description="Deliveries of this customer's events."
    )
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    status: WaitingStatusName | None = Field(
        None, description="PENDING: not attempted yet; RETRYING: failed before. Null: both."
    )
    limit: int | None = Field(
        None, ge=1, le=MAX_ORDERS, description="The most deliveries. Null: all."
    )
    # `dryRun: null` is refused. If null counted as false, the request would change deliveries, although
    # the caller might mean a dry run.
    dry_run: bool = Field(False, description="Only count the deliveries that match.")

    def selection(self) -> ReplaySelection:
        """Return the selection of the draft. Raises Refusal 400 for an empty time range."""
        _check_range(self.from_, self.to)
        return ReplaySelection(
            destination=self.destination_id,
            event_types=_distinct(self.event_types),
            statuses=None if self.status is None else (DeliveryStatus[self.status],),
            from_ms=self.from_,
            to_ms=self.to,
            customer=self.customer_external_id,
            limit=self.limit,
        )


def _check_range(from_ms: int | None, to_ms: int | None) -> None:
    if from_ms is not None and to_ms is not None and from_ms > to_ms:
        raise invalid("from", "is after to")


def _distinct(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(dict.fromkeys(given))
