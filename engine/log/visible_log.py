"""The visible log: the entries of the delivery log that are not older than the plan's retention.

Requests of API callers read the delivery log through this module.
"""

from collections.abc import Sequence

from msgspec import structs

from engine.core.records import Attempt, Delivery
from engine.log.delivery_log import (
    AttemptPage,
    DeliveryDetail,
    DeliveryEntry,
    DeliveryFilter,
    DeliveryLog,
    DeliveryPage,
    EventDetail,
    EventFilter,
    EventLog,
    EventPage,
)
from engine.model.identity import created_at_ms
from engine.plans.plans import Visibility


class VisibleDeliveries:
    """A `DeliveryLog` (`engine.log.delivery_log`) that hides deliveries older than the plan's
    retention."""

    def __init__(self, log: DeliveryLog, visibility: Visibility) -> None:
        self._log = log
        self._visibility = visibility

    async def deliveries(
        self, environment: int, which: DeliveryFilter, below: str | None, limit: int
    ) -> DeliveryPage:
        from_ms = max(which.from_ms or 0, self._visibility.floor_ms(environment))
        shown = structs.replace(which, from_ms=from_ms)
        return await self._log.deliveries(environment, shown, below, limit)

    async def delivery(self, environment: int, delivery: str) -> DeliveryDetail | None:
        if created_at_ms(delivery) < self._visibility.floor_ms(environment):
            return None
        return await self._log.delivery(environment, delivery)

    async def attempts(
        self, environment: int, delivery: str, below: int | None, limit: int, max_bytes: int
    ) -> AttemptPage:
        if created_at_ms(delivery) < self._visibility.floor_ms(environment):
            return AttemptPage([], more=False)
        return await self._log.attempts(environment, delivery, below, limit, max_bytes)

    async def entry(self, environment: int, delivery: str) -> DeliveryEntry | None:
        if created_at_ms(delivery) < self._visibility.floor_ms(environment):
            return None
        return await self._log.entry(environment, delivery)

    async def record_inspection(self, delivery: Delivery, attempt: Attempt) -> None:
        await self._log.record_inspection(delivery, attempt)


class VisibleEvents:
    """An `EventLog` (`engine.log.delivery_log`) that hides events older than the plan's retention."""

    def __init__(self, log: EventLog, visibility: Visibility) -> None:
        self._log = log
        self._visibility = visibility

    async def events(
        self, environment: int, which: EventFilter, below: str | None, limit: int
    ) -> EventPage:
        from_ms = max(which.from_ms or 0, self._visibility.floor_ms(environment))
        return await self._log.events(
            environment, structs.replace(which, from_ms=from_ms), below, limit
        )

    async def event(self, environment: int, event: str) -> EventDetail | None:
        if created_at_ms(event) < self._visibility.floor_ms(environment):
            return None
        return await self._log.event(environment, event)

    async def deliveries_to(
        self, environment: int, events: Sequence[str], customer: str
    ) -> dict[str, int]:
        return await self._log.deliveries_to(environment, events, customer)
