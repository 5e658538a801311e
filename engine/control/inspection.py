"""Tests of a destination: each sends a signed sample directly, without the destination's actor.

A test is never retried and never counted. The log records it even if the caller no longer waits.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any

import trio
from msgspec import Struct
from pydantic import Field

from engine.control.commands import CommandQueue
from engine.control.ports import DestinationStore
from engine.control.writer import refuse_archived
from engine.core.destination import Destination, MutualTls
from engine.core.records import Attempt, Delivery, Event, Outcome
from engine.core.vocabulary import DeliveryClass, DeliveryOrigin, DeliveryStatus, Origin
from engine.drafts import Document
from engine.ingest.event_json import check_type
from engine.log.delivery_log import (
    AttemptEntry,
    DeliveryDetail,
    DeliveryEntry,
    DeliveryLog,
    EventDetail,
    EventEntry,
    SentVersion,
)
from engine.model.configuration import DestinationRecord
from engine.model.errors import Refusal
from engine.model.headers import is_secret
from engine.model.identity import Identity, delivery_id
from engine.model.read_models import Models, SessionCustomer
from engine.ports import Sender, Transmission
from engine.runtime.slots import Slots
from engine.schemas.records import SchemaStore

SAMPLE_TYPE = "angarium.test"
PAYLOAD_BYTES = 256 * 1024  # as for an event
SAMPLE_PAYLOAD = b'{"message":"This is a test of your destination. Nothing happened."}'
AT_ONCE = 64  # tests under way, of all workspaces: each can hold a connection for a minute
AT_ONCE_WORKSPACE = 8


class SampleDraft(Document):
    """The sample event of a test. Every field can be left out."""

    event_type: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        None, description="Null: `angarium.test`."
    )
    payload: dict[str, Any] | None = Field(
        None,
        description="Null: the example of the type's active schema, otherwise a short message.",
    )
    # `dryRun: null` is refused. If null counted as false, the test would send a request, although the
    # caller might mean a dry run.
    dry_run: bool = Field(False, description="Show the request and send nothing.")


class Sample(Struct, frozen=True):
    """The sample that a test sends. `payload` is JSON."""

    type: str
    payload: bytes


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
        schemas: SchemaStore,
    ) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._sender = sender
        self._commands = commands
        self._identity = identity
        self._schemas = schemas
        self._slots = Slots(AT_ONCE, AT_ONCE_WORKSPACE, "tests", retry_after_s=5)

    async def test(
        self,
        environment: int,
        identifier: str,
        draft: SampleDraft,
        customer: SessionCustomer | None = None,
    ) -> Inspection:
        """Send a sample and record it. Raises Refusal 400, 404, 409 (archived), 413 or 503 (too many
        tests).
        """
        destination, _ = await self._required(environment, identifier)
        sample = await self._sample(environment, draft)
        return await self._commands.run_beside(lambda: self._test(destination, sample, customer))

    async def rehearse(
        self, environment: int, identifier: str, draft: SampleDraft
    ) -> DeliveryDetail:
        """Return the delivery that the log would show after a successful test. Nothing is sent, and
        nothing is recorded. Raises Refusal 400, 404, 409 (archived) or 413."""
        destination, record = await self._required(environment, identifier)
        sample = await self._sample(environment, draft)
        return rehearsed(record, self._delivery(destination, sample))

    async def _required(
        self, environment: int, identifier: str
    ) -> tuple[Destination, DestinationRecord]:
        present = await self._store.get(environment, identifier)
        destination = self._models.destinations.get(identifier)
        if present is None or destination is None:
            raise Refusal("not_found", "no such destination")
        refuse_archived(present)
        return destination, present

    async def _sample(self, environment: int, draft: SampleDraft) -> Sample:
        event_type = draft.event_type
        if event_type is not None and event_type != SAMPLE_TYPE:
            check_type(event_type)
        if draft.payload is not None:
            payload = json.dumps(draft.payload, ensure_ascii=False).encode()
            if len(payload) > PAYLOAD_BYTES:
                message = f"payload: a sample has at most {PAYLOAD_BYTES} bytes"
                raise Refusal("payload_too_large", message)
            return Sample(event_type or SAMPLE_TYPE, payload)
        if event_type is not None:
            schema = await self._schemas.active(environment, event_type)
            if schema is not None and schema.example is not None:
                return Sample(event_type, schema.example)
        return Sample(event_type or SAMPLE_TYPE, SAMPLE_PAYLOAD)

    async def _test(
        self, destination: Destination, sample: Sample, customer: SessionCustomer | None
    ) -> Inspection:
        with self._slots.taken(destination.workspace, customer):
            delivery = self._delivery(destination, sample)
            outcome = await self._send(Transmission(destination, delivery, 1))
            delivery.attempt_count = 1
            await self._log.record_inspection(delivery, Attempt(1, outcome, destination.version))
            return Inspection(delivery.id, outcome)

    def _delivery(self, destination: Destination, sample: Sample) -> Delivery:
        identifier = self._identity.event()
        event = Event(
            id=identifier,
            environment=destination.environment,
            type=sample.type,
            occurred_at_ms=self._identity.wall_ms,
            payload=sample.payload,
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


def rehearsed(destination: DestinationRecord, delivery: Delivery) -> DeliveryDetail:
    """Return the record that the log would show if the test had been sent and had succeeded."""
    event, template = delivery.event, destination.template
    transform = destination.transform
    headers = [[name, None if is_secret(name) else value] for name, value in destination.headers]
    return DeliveryDetail(
        entry=DeliveryEntry(
            id=delivery.id,
            environment=event.environment,
            event=event.id,
            event_type=event.type,
            destination=destination.id,
            status=DeliveryStatus.DELIVERED,
            kind=delivery.kind,
            origin=delivery.origin,
            priority=delivery.priority,
            attempt_count=1,
            skipped=False,
            response_status=None,
            error_category=None,
            dlq_status=None,
            next_attempt_at_ms=None,
            delivered_at_ms=event.occurred_at_ms,
            dead_lettered_at_ms=None,
            updated_at_ms=event.occurred_at_ms,
            last_error=None,
            customer=delivery.customer,
            replay_of=None,
            replay_job=None,
        ),
        attempts=(
            AttemptEntry(
                number=1,
                started_at_ms=event.occurred_at_ms,
                duration_ms=0,
                success=True,
                destination_version=destination.version,
                transform_version=None if transform is None else transform.version,
                response_status=200,
                response_headers=(),
                response_body=b"",
                response_truncated=False,
                error_category=None,
                error_message=None,
                logs=None,
            ),
        ),
        event=EventDetail(
            entry=EventEntry(
                id=event.id,
                environment=event.environment,
                origin=event.origin,
                type=event.type,
                occurred_at_ms=event.occurred_at_ms,
                deliveries=1,
                customer=event.customer,
                source=None,
                correlation_id=None,
                request_id=None,
                idempotency_key=None,
                file=None,
            ),
            payload=event.payload,
            metadata=None,
            attachments=None,
        ),
        sent=SentVersion(
            version=destination.version,
            url=destination.url,
            headers=json.dumps(headers).encode(),
            algorithm=destination.algorithm,
            template=None if template is None else template.id,
            config=None if template is None else template.shown,
            method=destination.method,
            authorizes=not isinstance(destination.authentication, MutualTls | None),
        ),
    )
