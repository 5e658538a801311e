"""Ingestion: a request's bytes become checked, routed events on their way to a commit.

One door for both lanes: the front door and the Quart routes call `submit` and write what it replies.
A single event is worked through at once; a batch in slices, so that nobody waits for a large one.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog
import trio
from msgspec import UNSET

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryKind, DeliveryOrigin
from engine.errors import Refusal
from engine.event_json import EVENT_BYTES, EventInput, read_batch, read_event
from engine.identity import MAX_FANOUT, Identity, created_at_ms, delivery_id
from engine.json_members import MAX_DEPTH
from engine.models import EnvironmentModel
from engine.ports import KeyClaim
from engine.receipts import Accepted, Done, Reply, failed, none_valid, receipt, refused, results
from engine.router import Choice, Router
from engine.submission import Submission

__all__ = ["Done", "Ingest", "Reply"]

IDEMPOTENCY_MS = 24 * 3600 * 1000
SLICE_S = 0.002  # how long a batch may hold the loop at a time
SLICE_EVENTS = 16  # events between two looks at the clock
BATCH_DELIVERIES = 50_000  # of one request: about half a second of commit
_BATCH_DEPTH = MAX_DEPTH - 2  # left for an event within the batch's object and array

log = structlog.get_logger("angarium.ingest")


class Spawn(Protocol):
    """A nursery's `start_soon`."""

    def __call__(self, function: Callable[..., Awaitable[object]], /, *args: object) -> None:
        """Run `function(*args)` in the background."""


class Ingest:
    """Checks, routes and submits. It owns nothing but the batches under way."""

    def __init__(
        self,
        router: Router,
        submit: Callable[[Submission], None],
        identity: Identity,
        spawn: Spawn,
    ) -> None:
        self._router = router
        self._submit = submit
        self._identity = identity
        self._spawn = spawn

    def submit(self, environment: EnvironmentModel, body: bytes, batch: bool, done: Done) -> None:
        """Take one request's body; `done` is called exactly once, now or later."""
        if batch:
            self._spawn(self._batch, environment.number, body, done)
            return
        try:
            self._single(environment.number, body, done)
        except Refusal as refusal:
            done(refused(refusal))

    def _single(self, environment: int, body: bytes, done: Done) -> None:
        accepted = self._accept(environment, body, MAX_DEPTH)
        self._submit(
            Submission(
                [accepted.event],
                accepted.deliveries,
                [accepted.claim] if accepted.claim is not None else [],
                len(body),
                lambda fate: done(receipt(accepted, fate)),
            )
        )

    async def _batch(self, environment: int, body: bytes, done: Done) -> None:
        try:
            entries = await self._entries(environment, read_batch(body))
            self._submit_batch(entries, len(body), done)
        except Refusal as refusal:
            done(refused(refusal))
        except trio.Cancelled:
            done(failed("overloaded"))
            raise
        except Exception:  # a barrier: one request, which is answered and costs nobody else
            log.exception("batch failed")
            done(failed("internal"))

    async def _entries(self, environment: int, parts: list[bytes]) -> list[Accepted | Refusal]:
        entries: list[Accepted | Refusal] = []
        until = trio.current_time() + SLICE_S
        for index, part in enumerate(parts):
            if index % SLICE_EVENTS == 0 and trio.current_time() >= until:
                await trio.lowlevel.checkpoint()
                until = trio.current_time() + SLICE_S
            try:
                entries.append(self._accept(environment, part, _BATCH_DEPTH))
            except Refusal as refusal:
                entries.append(refusal)
        return entries

    def _submit_batch(self, entries: list[Accepted | Refusal], size: int, done: Done) -> None:
        accepted = [entry for entry in entries if isinstance(entry, Accepted)]
        if not accepted:
            done(none_valid([entry for entry in entries if isinstance(entry, Refusal)]))
            return
        deliveries = [delivery for entry in accepted for delivery in entry.deliveries]
        if len(deliveries) > BATCH_DELIVERIES:
            raise Refusal(
                "payload_too_large",
                f"the batch makes {len(deliveries)} deliveries, {BATCH_DELIVERIES} are the most",
            )
        self._submit(
            Submission(
                [entry.event for entry in accepted],
                deliveries,
                [entry.claim for entry in accepted if entry.claim is not None],
                size,
                lambda fate: done(results(entries, fate)),
            )
        )

    def _accept(self, environment: int, body: bytes, max_depth: int) -> Accepted:
        """Read, check and route one event. Raises Refusal."""
        if len(body) > EVENT_BYTES:
            raise Refusal("payload_too_large", f"an event is at most {EVENT_BYTES} bytes")
        given, payload = read_event(body, max_depth)
        route = self._router.route(environment, given.eventType)
        if route.check is not None:
            route.check.check(payload)
        event = self._event(environment, given, payload)
        deliveries = deliveries_of(event, route.choices(event))
        if event.idempotency_key is None:
            return Accepted(event, deliveries, None)
        return Accepted(event, deliveries, claim_of(event, event.idempotency_key, len(deliveries)))

    def _event(self, environment: int, given: EventInput, payload: bytes) -> Event:
        identifier = self._identity.event()
        return Event(  # in the order of its fields: names cost as much again
            identifier,
            environment,
            given.eventType,
            given.occurred_at_ms(self._identity.last_ms),
            payload,
            bytes(given.metadata) if given.metadata is not UNSET else None,
            given.source or None,
            given.customerExternalId or None,
            given.correlationId or None,
            given.requestId or None,
            given.idempotencyKey or None,
            bytes(given.attachments) if given.attachments is not UNSET else None,
        )


def deliveries_of(event: Event, choices: tuple[Choice, ...]) -> list[Delivery]:
    """Return an event's deliveries, one for each choice. Raises Refusal past the most of them."""
    if not choices:
        return []
    if len(choices) > MAX_FANOUT:
        raise Refusal("invalid_request", f"more than {MAX_FANOUT} destinations match")
    deliveries: list[Delivery] = []
    lane = event.lane
    for ordinal, choice in enumerate(choices, 1):
        destination = choice.destination
        deliveries.append(
            Delivery(  # in the order of its fields: names cost as much again
                delivery_id(event.id, ordinal),
                event,
                destination.id,
                choice.queue,
                lane,
                0,  # the seq, which the commit gives
                choice.priority,
                DeliveryKind.EVENT,
                DeliveryOrigin.NORMAL,
                destination.customer,
            )
        )
    return deliveries


def claim_of(event: Event, key: str, deliveries: int) -> KeyClaim:
    """Return an event's claim of an idempotency key."""
    digest = hashlib.sha256()
    for part in (event.type.encode(), (event.customer or "").encode(), event.payload):
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return KeyClaim(
        environment=event.environment,
        key=key,
        event=event.id,
        deliveries=deliveries,
        digest=digest.digest(),
        expires_at_ms=created_at_ms(event.id) + IDEMPOTENCY_MS,
    )
