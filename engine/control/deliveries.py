"""Commands on single deliveries that wait: retry a delivery ahead of its schedule, or cancel it.

Both commands send an *order* to the actor of the delivery's destination. An actor that restarts can lose
an order. Therefore, `cancel` repeats the order until the store shows that the delivery is cancelled.
`retry` sends the order once, and waits at most a second for the attempt's result.
"""

from collections.abc import Iterable
from typing import Protocol

import trio

from engine.actors.awaited import Awaited
from engine.actors.mailbox import Ordered, Resumed
from engine.control.audit import Principal
from engine.control.dlq import DeadLetterCommands
from engine.control.writer import ConfigurationWriter
from engine.core.orders import Order
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus
from engine.log.delivery_log import DeliveryEntry
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.read_models import SessionCustomer

PATIENCE_S = 5.0  # the longest wait for the change; ingestion waits as long for its group
AGAIN_S = 1.0  # if the store shows no change by then, the order is given again

_WAITING = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


class Actors(Protocol):
    """The actors of destinations, which take orders for their deliveries."""

    awaited: Awaited

    def tell(self, destination: str, message: Ordered | Resumed) -> None:
        """Send a message to a destination's actor. If the message names a delivery that has ended, the
        actor skips this delivery."""

    def delivering(self, deliveries: Iterable[str]) -> set[str]:
        """Return which of these deliveries are in flight."""


class Entries(Protocol):
    """The reader of single rows of the delivery log."""

    async def entry(self, environment: int, delivery: str) -> DeliveryEntry | None:
        """Return a delivery."""


class AuditTrail(Protocol):
    """The writer of audit entries for actions that change no row of configuration."""

    async def write(self, entry: AuditEntry) -> None:
        """Add an entry. Writing the same entry again adds nothing."""


class DeliveryCommands:
    """Gives orders for deliveries."""

    def __init__(
        self,
        log: Entries,
        actors: Actors,
        dead_letters: DeadLetterCommands,
        trail: AuditTrail,
        writer: ConfigurationWriter,
    ) -> None:
        self._log = log
        self._actors = actors
        self._dead_letters = dead_letters
        self._trail = trail
        self._writer = writer

    async def retry(
        self, principal: Principal, environment: int, identifier: str, own: SessionCustomer | None
    ) -> DeliveryEntry:
        """Order that a delivery is sent now, and return the delivery. `own` is None if the caller uses a
        key. If the caller uses a customer's session, `own` is that customer.

        Raises Refusal 404, and 409 if the delivery was delivered, discarded or simulated.
        """
        found = await self._entry(environment, identifier, own)
        if found.dlq_status is DlqStatus.IN_DLQ:
            await self._dead_letters.retry(principal, environment, identifier, own)
            return await self._entry(environment, identifier, own)
        if found.status not in _WAITING:
            raise Refusal(
                "conflict",
                f"The delivery has ended ({_end_of(found)}). Send its event again with a replay: "
                "POST /replay-jobs with deliveryIds.",
            )
        due = None if found.next_attempt_at_ms is None else iso(found.next_attempt_at_ms)
        changes = {"nextAttemptAt": {"from": due, "to": iso(self._writer.now_ms())}}
        audit = self._writer.entry(principal, "delivery.retry", identifier, changes)
        return await self._carried_out(found, Order.RETRY, audit, own)

    async def cancel(
        self, principal: Principal, environment: int, identifier: str, own: SessionCustomer | None
    ) -> DeliveryEntry:
        """Cancel a delivery, so that no further attempt begins, and return it.

        Raises Refusal 404, 409 if the delivery is IN_DLQ or has ended in another way, and 503 if the
        delivery was not cancelled in time.
        """
        found = await self._entry(environment, identifier, own)
        if found.dlq_status is DlqStatus.DISCARDED:
            return found
        if found.dlq_status is DlqStatus.IN_DLQ:
            raise Refusal(
                "conflict",
                "The delivery is in the dead-letter queue. Discard it there: POST /dlq/discard.",
            )
        if found.status not in _WAITING:
            raise Refusal("conflict", f"The delivery has ended ({_end_of(found)}).")
        changes = {"dlqStatus": {"from": None, "to": "DISCARDED"}}
        audit = self._writer.entry(principal, "delivery.cancel", identifier, changes)
        return await self._carried_out(found, Order.CANCEL, audit, own)

    async def resume(self, principal: Principal, record: DestinationRecord) -> None:
        """Resume a destination: end its wait for a Retry-After, or the pause of its open circuit.

        Raises Refusal 409 if the destination is archived or disabled.
        """
        if record.status is not DestinationStatus.ACTIVE:
            raise Refusal(
                "conflict",
                f"The destination is {record.status.name}. Only an ACTIVE one can be resumed; enable a "
                "disabled one.",
            )
        changes = {"hold": {"from": None, "to": "RESUMED"}}
        audit = self._writer.entry(principal, "destination.resume", record.id, changes)

        async def work() -> None:
            await self._trail.write(audit)
            self._actors.tell(record.id, Resumed())

        await self._writer.commands.run_beside(work)

    async def _entry(
        self, environment: int, identifier: str, own: SessionCustomer | None
    ) -> DeliveryEntry:
        entry = await self._log.entry(environment, identifier)
        if entry is None or (own is not None and entry.customer != own.external_id):
            raise Refusal("not_found", "no such delivery")
        return entry

    async def _carried_out(
        self, found: DeliveryEntry, order: Order, audit: AuditEntry, own: SessionCustomer | None
    ) -> DeliveryEntry:
        async def work() -> DeliveryEntry:
            await self._trail.write(audit)
            return await self._ordered(found, order, own)

        return await self._writer.commands.run_beside(work)

    async def _ordered(
        self, found: DeliveryEntry, order: Order, own: SessionCustomer | None
    ) -> DeliveryEntry:
        until = trio.current_time() + PATIENCE_S
        while found.status in _WAITING:
            pending = found.status is DeliveryStatus.PENDING
            with self._actors.awaited.of([found.id]) as (changed,):
                self._actors.tell(found.destination, Ordered(order, (found.id,)))
                if order is Order.RETRY and pending:
                    return found  # its row does not change before its attempt ends
                with trio.move_on_after(AGAIN_S):
                    await changed.wait()
            found = await self._entry(found.environment, found.id, own)
            late = trio.current_time() >= until
            if order is Order.RETRY or (late and self._flies(found)):
                return found  # a delivery in flight is cancelled when its attempt ends
            if late and found.status in _WAITING:
                raise Refusal(
                    "overloaded",
                    "The delivery was not cancelled in time. Repeat the request.",
                    (),
                    1,
                )
        return found

    def _flies(self, found: DeliveryEntry) -> bool:
        return bool(self._actors.delivering([found.id]))


def _end_of(found: DeliveryEntry) -> str:
    return "DISCARDED" if found.dlq_status is DlqStatus.DISCARDED else found.status.name
