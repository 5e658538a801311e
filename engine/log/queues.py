"""The queues of waiting deliveries as callers see them: lanes, and the place of one delivery.

The store reads them: also a destination that is disabled, or has no actor, has a queue.
"""

from enum import Enum
from typing import Protocol

from msgspec import Struct


class LaneKind(Enum):
    """What the deliveries of a lane have in common."""

    CUSTOMER = "c"
    CORRELATION = "k"
    SOURCE = "s"
    DESTINATION = ""  # ordering STRICT: all of them


class LaneEntry(Struct, frozen=True, kw_only=True):
    """A lane in which something waits. `depth` counts its waiting deliveries, the head too."""

    kind: LaneKind
    key: str | None  # None for the only lane of a STRICT destination
    head: str
    head_seq: int
    depth: int


class LaneList(Struct, frozen=True):
    """Lanes in the order of their heads. `whole`: all that waits was examined."""

    items: list[LaneEntry]
    whole: bool


class QueuePlace(Struct, frozen=True, kw_only=True):
    """The place of a waiting delivery. `lane` is None if its destination has no lanes, or the event has
    no key. `ahead`: how many go before it in its lane, else in its class; None if it is further back
    than what was examined. `head`: of its lane."""

    kind: LaneKind | None = None
    key: str | None = None
    ahead: int | None = None
    head: str | None = None


class QueueLog(Protocol):
    """Reads of what waits; every method may raise StoreAwayError."""

    async def lanes(
        self, environment: int, destination: str, *, strict: bool, after: int, limit: int
    ) -> LaneList:
        """Return lanes of an ordered destination whose heads have a seq above `after`."""

    async def place(
        self, environment: int, delivery: str, *, ordered: bool, strict: bool
    ) -> QueuePlace:
        """Return the place of a waiting delivery; an empty one if it does not wait."""


def lane_of(stored: str | None, *, strict: bool) -> tuple[LaneKind | None, str | None]:
    """Return kind and key of a delivery's lane, as its row has it (`engine.core.records.Event.lane`)."""
    if strict:
        return LaneKind.DESTINATION, None
    if stored is None:
        return None, None
    return LaneKind(stored[0]), stored[2:]
