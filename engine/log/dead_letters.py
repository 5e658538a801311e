"""The dead-letter queue as callers read it: entries and groups, the latest death first."""

from typing import Protocol

from msgspec import Struct

from engine.core.vocabulary import ErrorCategory
from engine.log.delivery_log import DeliveryFilter, DeliveryPage


class DeadPosition(Struct, frozen=True):
    """The place of an entry in the order of the queue."""

    at_ms: int  # its death
    id: str


class DeadGroup(Struct, frozen=True, kw_only=True):
    """Entries of one destination that died of the same. `signature` is a digest of what is the same: the
    destination, the category, the status, and the error without its numbers. `sample` is the latest."""

    signature: str
    destination: str
    error_category: ErrorCategory | None
    response_status: int | None
    last_error: str | None
    event_types: list[str]
    count: int
    first_ms: int
    last_ms: int
    sample: str


class DeadGroups(Struct, frozen=True):
    """The groups of the latest dead, the largest first. `whole`: none was left out."""

    items: list[DeadGroup]
    whole: bool


class DeadLetterLog(Protocol):
    """Reads of the queue. Of a filter count the destinations, customers, event types, error
    categories, signatures, instants of death, and `from_ms`."""

    async def page(
        self, environment: int, which: DeliveryFilter, below: DeadPosition | None, limit: int
    ) -> DeliveryPage:
        """Return a page of entries below a place. It may be short, even empty, with a `below`."""

    async def groups(self, environment: int, which: DeliveryFilter) -> DeadGroups:
        """Return the groups of a bounded number of entries."""
