"""Tests of a destination: each sends a signed sample at once, beside the destination's actor.

A test is never retried and never counted. The log has its record when the attempt has ended, whether
the caller still waits or not.
"""

from collections.abc import Callable

import trio
from msgspec import Struct

from engine.control.commands import CommandQueue
from engine.control.ports import DestinationStore
from engine.control.writer import refuse_archived
from engine.core.destination import Destination
from engine.core.records import Attempt, Delivery, Event, Outcome
from engine.core.vocabulary import DeliveryClass, DeliveryOrigin, Origin
from engine.log.delivery_log import DeliveryLog
from engine.model.errors import Refusal
from engine.model.identity import Identity, created_at_ms, delivery_id
from engine.model.read_models import Models, SessionCustomer
from engine.ports import Sender, Transmission
from engine.runtime.slots import Slots

SAMPLE_TYPE = "angarium.test"
SAMPLE_PAYLOAD = b'{"message":"This is a test of your destination. Nothing happened."}'
AT_ONCE = 64  # tests under way, of all: each may hold a connection for a minute
AT_ONCE_WORKSPACE = 8


class Inspection(Struct, frozen=True):
    """A test that ended."""

    delivery: str
    outcome: Outcome


class Inspections:
    """The sender of test samples."""

    def __init__(
        self,
        models: Models,
        store: DestinationStore,
        log: DeliveryLog,
        sender: Sender,
        commands: CommandQueue,
        identity: Identity,
    ) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._sender = sender
        self._commands = commands
        self._identity = identity
        self._slots = Slots(AT_ONCE, AT_ONCE_WORKSPACE, "tests", retry_after_s=5)

    async def test(
        self, environment: int, identifier: str, customer: SessionCustomer | None = None
    ) -> Inspection:
        """Send a sample and record it. `customer` is the one whose session asks. Raises Refusal 404,
        409 (archived) or 503 (too many tests)."""
        present = await self._store.get(environment, identifier)
        destination = self._models.destinations.get(identifier)
        if present is None or destination is None:
            raise Refusal("not_found", "no such destination")
        refuse_archived(present)
        return await self._commands.run_beside(lambda: self._test(destination, customer))

    async def _test(self, destination: Destination, customer: SessionCustomer | None) -> Inspection:
        with self._slots.taken(destination.workspace, customer):
            delivery = self._sample(destination)
            outcome = await self._send(Transmission(destination, delivery, 1))
            delivery.attempt_count = 1
            await self._log.record_inspection(delivery, Attempt(1, outcome, destination.version))
            return Inspection(delivery.id, outcome)

    def _sample(self, destination: Destination) -> Delivery:
        identifier = self._identity.event()
        event = Event(
            id=identifier,
            environment=destination.environment,
            type=SAMPLE_TYPE,
            occurred_at_ms=created_at_ms(identifier),
            payload=SAMPLE_PAYLOAD,
            customer=destination.customer,
            origin=Origin.TEST,
        )
        return Delivery(
            id=delivery_id(identifier, 1),
            event=event,
            destination=destination.id,
            queue=DeliveryClass.STANDARD,
            origin=DeliveryOrigin.INSPECTION,
            customer=destination.customer,
        )

    async def _send(self, transmission: Transmission) -> Outcome:
        ended = trio.Event()
        outcomes: list[Outcome] = []

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            ended.set()

        sending: Callable[[Outcome], None] = done
        self._sender.send(transmission, sending)
        await ended.wait()
        return outcomes[0]
