"""A submission: the events of one request on their way to a commit, and the result of that commit."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from engine.core.records import Delivery, Event
from engine.model.file_records import FileRecord
from engine.ports import Claimed, KeyClaim

KEY_HELD_MS = 24 * 3600 * 1000  # how long an idempotency key is held, as the API says


class Fate(Struct, frozen=True):
    """The result of a submission.

    `refusal` is None when its events are durable; `lost` then has, by event id, who held the
    idempotency keys of those that were not written. Otherwise it is the code of an error:
    `overloaded` (surely not accepted) or `internal` (it may have been).
    """

    refusal: str | None = None
    lost: dict[str, Claimed] | None = None


class Submission:
    """The rows that one request commits together. The intake owns it until it calls `settle`."""

    __slots__ = (
        "claims",
        "deliveries",
        "environment",
        "events",
        "files",
        "settle",
        "size",
        "weight",
    )

    def __init__(
        self,
        events: list[Event],
        deliveries: list[Delivery],
        claims: list[KeyClaim],
        size: int,
        settle: Callable[[Fate], None],
        files: Sequence[FileRecord] = (),
    ) -> None:
        self.environment = events[0].environment  # of all of them
        self.events = events
        self.deliveries = deliveries
        self.claims = claims
        self.size = size  # bytes of its events, for the bounds
        self.settle = settle  # called exactly once
        self.files = files  # of its events, whose content is held until it is settled
        # Rows that it will write: what the bounds on counts are about.
        self.weight = len(events) + len(deliveries)


DURABLE = Fate()
OVERLOADED = Fate("overloaded")
UNKNOWN = Fate("internal")
