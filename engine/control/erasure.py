"""The erasure of event contents on request: of one event, or of all events of a customer."""

from collections.abc import Sequence
from typing import Protocol

import structlog
import trio
from msgspec import structs

from engine.actors.mailbox import Ordered
from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.deliveries import Actors
from engine.control.destinations import DestinationCommands
from engine.control.dlq import DeadLetterCommands
from engine.control.ports import DestinationPages, Erasing, ErasureRows
from engine.control.writer import ConfigurationWriter
from engine.core.orders import Order
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus
from engine.log.delivery_log import (
    DeliveryEntry,
    DeliveryFilter,
    DeliveryLog,
    EventDetail,
    EventLog,
)
from engine.model.configuration import AuditEntry
from engine.model.errors import Refusal
from engine.model.read_models import Models
from engine.ports.outage import Outage
from engine.runtime.wake import Wake

PATIENCE_S = 5.0  # for attempts in flight to end, and for cancellations to be committed
AGAIN_S = 0.5  # if the store does not show all changes by then, the order is given again
PAGE = 1_000  # deliveries that are read at a time

_WAITING = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


class ErasureStore(Protocol):
    """The writes of an erasure."""

    async def erase(self, environment: int, event: str, at_ms: int, audit: AuditEntry) -> bool:
        """In one transaction, erase an event's payload, metadata, attachments and files, and the answers,
        errors and script logs of its deliveries. If one of its deliveries waits or is in the dead-letter
        queue, or if the event was erased before, erase nothing and return False."""

    async def erase_many(self, environment: int, events: Sequence[str], at_ms: int) -> list[str]:
        """Erase many events as `erase` does, but without an audit entry. Return the ids of the erased
        events."""


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

    async def erase(self, principal: Principal, environment: int, event: str) -> EventDetail:
        """Erase an event's content and return the event.

        First the event's waiting deliveries are cancelled, and its dead letters are discarded. Raises
        Refusal 404. If an attempt in flight does not end in time, erases nothing and raises Refusal 503.
        """
        found = await self._required(environment, event)
        audit = self._writer.entry(
            principal, "event.erase", event, {"payload": {"from": "PRESENT", "to": "ERASED"}}
        )
        until = trio.current_time() + PATIENCE_S
        while found.entry.erased_at_ms is None:
            entries = await self._entries(environment, event)
            waiting = [each for each in entries if each.status in _WAITING]
            dead = [each.id for each in entries if each.dlq_status is DlqStatus.IN_DLQ]
            if dead:
                which = DeliveryFilter(ids=tuple(dead), dlq_statuses=(DlqStatus.IN_DLQ,))
                await self._dead_letters.discard_all(
                    principal, environment, which, {"eventId": event}
                )
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
        by_destination: dict[str, list[str]] = {}
        for each in waiting:
            by_destination.setdefault(each.destination, []).append(each.id)
        with self._actors.awaited.of([each.id for each in waiting]) as changed:
            for destination, ids in by_destination.items():
                self._actors.tell(destination, Ordered(Order.CANCEL, tuple(ids)))
            with trio.move_on_after(AGAIN_S):
                for settled in changed:
                    await settled.wait()


AT_ONCE = 50  # events in one statement: some 10 ms
REST = 1.0  # the pause after a step, as a multiple of the step's duration
STEP_AGAIN_S = 2.0  # after a step that failed: a delivery was in flight, or the database away
LOOK_S = 60.0  # between two looks for requests that another process accepted
ARCHIVED = 100  # destinations that are read at a time
_OPEN = (DestinationStatus.ACTIVE, DestinationStatus.DISABLED)

log = structlog.get_logger("angarium.control")


class CustomerErasures:
    """Accepts and carries out requests to erase a customer's contents. The store keeps the requests."""

    def __init__(
        self,
        rows: ErasureRows,
        contents: ErasureStore,
        erasure: ErasureCommands,
        destinations: DestinationCommands,
        pages: DestinationPages,
        models: Models,
        writer: ConfigurationWriter,
    ) -> None:
        self._rows = rows
        self._contents = contents
        self._erasure = erasure
        self._destinations = destinations
        self._pages = pages
        self._models = models
        self._writer = writer
        self._wake = Wake()

    async def request(self, principal: Principal, environment: int, customer: str) -> None:
        """Request the erasure of all events that were accepted for a customer so far. The customer's
        destinations are archived, too. Raises Refusal 404."""
        account = await self._rows.account(environment, customer)
        if account is None:
            raise Refusal("not_found", "no such customer")
        changes = {"contents": {"from": "PRESENT", "to": "ERASED"}}
        entry = self._writer.entry(principal, "customer.erase", account, changes)
        request = Erasing(
            environment, account, customer, self._writer.new_id(), "", self._writer.now_ms()
        )
        await self._writer.commands.run_beside(lambda: written(self._rows.request(request, entry)))
        self._wake.set()

    async def run(self) -> None:
        """Carry out requests until cancelled."""
        outage = Outage("erasures of customers")
        while True:
            waits = False
            try:
                with outage.survived():
                    for request in await self._rows.unfinished():
                        waits |= not await self._work_off(request)
            except Exception:  # a bug must not end the loop; the next look reads the store again
                log.exception("customer.erasure_broke")
            with trio.move_on_after(STEP_AGAIN_S if waits or outage.under_way else LOOK_S):
                await self._wake.wait()

    async def _work_off(self, request: Erasing) -> bool:
        """Erase the events of a request. Return False if a delivery in flight must end first."""
        environment = self._models.environments.get(request.environment)
        if environment is None:
            return True
        principal = Principal(
            kind="SYSTEM",
            id="customer-erasure",
            workspace=environment.workspace,
            environment=request.environment,
        )
        await self._archive(principal, request)
        while True:
            began = trio.current_time()
            found = await self._rows.events(request)
            count = found.erased
            for first in range(0, len(found.ids), AT_ONCE):
                some = found.ids[first : first + AT_ONCE]
                done, whole = await self._erase(principal, request.environment, some)
                count += done
                if not whole:
                    return False  # the next look begins at the same cursor
            at_ms = self._writer.now_ms() if found.end else None
            await self._rows.erased(request, found.through, count, at_ms)
            if found.end:
                log.info("customer.erased", account=request.account, customer=request.customer)
                return True
            request = structs.replace(request, cursor=found.through)
            await trio.sleep(REST * (trio.current_time() - began))

    async def _archive(self, principal: Principal, request: Erasing) -> None:
        while True:
            page = await self._pages.page(
                request.environment, _OPEN, request.account, None, ARCHIVED
            )
            for each in page:
                await self._destinations.archive(principal, request.environment, each.id)
            if len(page) < ARCHIVED:
                return

    async def _erase(
        self, principal: Principal, environment: int, events: Sequence[str]
    ) -> tuple[int, bool]:
        """Return how many events were erased, and True if no event is left to erase."""
        erased = await self._contents.erase_many(environment, events, self._writer.now_ms())
        done = len(erased)
        for event in set(events).difference(erased):
            try:
                await self._erasure.erase(principal, environment, event)
            except Refusal as refusal:
                if refusal.code != "not_found":  # retention will remove an event that it hides
                    return done, False
            else:
                done += 1
        return done, True
