"""The erasure of an event's content, on request: what waits is cancelled first, then all of it goes."""

from collections.abc import Sequence
from typing import Protocol

import trio

from engine.actors.mailbox import Ordered
from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.deliveries import Actors
from engine.control.dlq import DeadLetterCommands
from engine.control.writer import ConfigurationWriter
from engine.core.orders import Order
from engine.core.vocabulary import DeliveryStatus, DlqStatus
from engine.log.delivery_log import (
    DeliveryEntry,
    DeliveryFilter,
    DeliveryLog,
    EventDetail,
    EventLog,
)
from engine.model.configuration import AuditEntry
from engine.model.errors import Refusal

PATIENCE_S = 5.0  # for attempts in flight and for the commits of what was cancelled
AGAIN_S = 0.5  # without a change in the store the order is given again
PAGE = 1_000  # deliveries that are read at a time

_WAITING = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


class ErasureStore(Protocol):
    """The writes of an erasure."""

    async def erase(self, environment: int, event: str, at_ms: int, audit: AuditEntry) -> bool:
        """Erase payload, metadata, attachments and files of an event, and what receivers and scripts said
        of its deliveries, in one transaction. False, and nothing is erased, if a delivery waits or is in
        the dead-letter queue, or if it was erased before."""

    async def erase_many(self, environment: int, events: Sequence[str], at_ms: int) -> list[str]:
        """Erase the same of many events, without an audit entry; return those that were erased."""


class ErasureCommands:
    """Erases contents of events."""

    def __init__(
        self,
        deliveries: DeliveryLog,
        events: EventLog,
        store: ErasureStore,
        actors: Actors,
        dead_letters: DeadLetterCommands,
        writer: ConfigurationWriter,
    ) -> None:
        self._deliveries = deliveries
        self._events = events
        self._store = store
        self._actors = actors
        self._dead_letters = dead_letters
        self._writer = writer

    async def erase(self, actor: Principal, environment: int, event: str) -> EventDetail:
        """Erase an event's content and return the event; one that was erased before stays so.

        Its waiting deliveries are cancelled, its dead letters discarded. Raises Refusal 404, and 503
        while an attempt is in flight that does not end in time: then nothing is erased yet.
        """
        found = await self._required(environment, event)
        audit = self._writer.entry(
            actor, "event.erase", event, {"payload": {"from": "PRESENT", "to": "ERASED"}}
        )
        until = trio.current_time() + PATIENCE_S
        while found.entry.erased_at_ms is None:
            entries = await self._entries(environment, event)
            waiting = [each for each in entries if each.status in _WAITING]
            dead = [each.id for each in entries if each.dlq_status is DlqStatus.IN_DLQ]
            if dead:
                which = DeliveryFilter(ids=tuple(dead), dlq_statuses=(DlqStatus.IN_DLQ,))
                await self._dead_letters.discard_all(actor, environment, which, {"eventId": event})
            elif not waiting:
                await written(self._store.erase(environment, event, self._writer.now_ms(), audit))
                found = await self._required(environment, event)
            if trio.current_time() >= until and found.entry.erased_at_ms is None:
                raise Refusal(
                    "overloaded",
                    "A delivery of the event is still in flight. Nothing was erased. Repeat the request.",
                    (),
                    1,
                )
            if waiting:
                await self._cancel(waiting)
        return found

    async def _required(self, environment: int, event: str) -> EventDetail:
        found = await self._events.event(environment, event)
        if found is None:
            raise Refusal("not_found", "no such event")
        return found

    async def _entries(self, environment: int, event: str) -> list[DeliveryEntry]:
        entries: list[DeliveryEntry] = []
        below: str | None = None
        while True:
            page = await self._deliveries.deliveries(
                environment, DeliveryFilter(events=(event,)), below, PAGE
            )
            entries += page.items
            below = page.below
            if below is None:
                return entries

    async def _cancel(self, waiting: list[DeliveryEntry]) -> None:
        """Have deliveries cancelled, and wait until one of them has changed, not for long."""
        by_destination: dict[str, list[str]] = {}
        for each in waiting:
            by_destination.setdefault(each.destination, []).append(each.id)
        with self._actors.awaited.of([each.id for each in waiting]) as changed:
            for destination, ids in by_destination.items():
                self._actors.tell(destination, Ordered(Order.CANCEL, tuple(ids)))
            with trio.move_on_after(AGAIN_S):
                for settled in changed:
                    await settled.wait()
