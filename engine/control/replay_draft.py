"""A replay job as a caller writes it."""

from typing import Annotated, Literal

from pydantic import Field

from engine.core.vocabulary import DeliveryStatus
from engine.drafts import (
    MAX_RATE_PER_SECOND,
    RULE_PATTERNS,
    Document,
    NullIs,
    Pattern,
    Uuid,
)
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.instant import Instant
from engine.replay.job import Selection

MAX_DELIVERY_IDS = 1_000  # as an ingestion batch; who has more has a filter that says which
# A tenth of what one delivery in all of retention would be: below it a job is not under way.
MIN_RATE_PER_SECOND = 0.001


class ReplayDraft(Document):
    """Which deliveries are sent again: those for which all that is given holds."""

    destination_id: Uuid | None = Field(None, description="To this destination.")
    customer_account_id: Uuid | None = Field(
        None, description="To destinations that are tied to this customer account."
    )
    event_types: list[Pattern] | None = Field(
        None, min_length=1, max_length=RULE_PATTERNS,
        description="Patterns as in a routing rule. Null: every type.",
    )  # fmt: skip
    statuses: list[Literal["DELIVERED", "FAILED", "DRY_RUN"]] | None = Field(
        None, min_length=1, max_length=3,
        description="Null: all three. What is not settled yet is sent anyway and is not replayed.",
    )  # fmt: skip
    delivery_ids: list[Uuid] | None = Field(
        None, min_length=1, max_length=MAX_DELIVERY_IDS,
        description="These deliveries; the one way to replay what was a replay itself.",
    )  # fmt: skip
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    dry_run: Annotated[bool, NullIs(False)] = Field(
        False, description="Only count what would be replayed."
    )
    rate_per_second: float | None = Field(
        None, ge=MIN_RATE_PER_SECOND, le=MAX_RATE_PER_SECOND,
        description="At most so many a second are enqueued. Null: as quickly as the receivers take them.",
    )  # fmt: skip

    def selection(self) -> Selection:
        """Return it as the engine knows it. Raises Refusal 400 where it is too wide or says nothing."""
        bounds = (self.destination_id, self.customer_account_id, self.delivery_ids, self.from_)
        if all(bound is None for bound in bounds):
            raise Refusal(
                "invalid_request",
                "give at least one of destinationId, customerAccountId, deliveryIds and from",
            )
        if self.from_ is not None and self.to is not None and self.from_ > self.to:
            raise invalid("from", "is after to")
        ids, statuses = self.delivery_ids, self.statuses
        return Selection(
            destination=self.destination_id,
            account=self.customer_account_id,
            event_types=None
            if self.event_types is None
            else tuple(dict.fromkeys(self.event_types)),
            statuses=None
            if statuses is None
            else tuple(sorted({DeliveryStatus[each] for each in statuses})),
            deliveries=None if ids is None else tuple(dict.fromkeys(ids)),
            from_ms=self.from_,
            to_ms=self.to,
        )
