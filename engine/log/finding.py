"""Finding of events by what people have at hand: an idempotency key, or the beginning of a type."""

from typing import Protocol


class EventFinder(Protocol):
    """Look-ups of a bounded cost; every method may raise StoreAwayError."""

    async def event_of_key(self, environment: int, key: str) -> str | None:
        """Return the event that holds an idempotency key, None if there is none."""

    async def recent_types(
        self, environment: int, prefix: str, customer: str | None, limit: int
    ) -> list[str]:
        """Return types that begin so, among the latest events (of a customer, if one is given)."""
