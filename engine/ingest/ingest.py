"""Ingestion: it reads, checks and routes the events of a request, and submits them to the intake.

A batch is checked in slices, so that no other request waits for a whole large batch.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog
import trio
from msgspec import UNSET

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryKind, DeliveryOrigin
from engine.files.attaching import NOTHING_ATTACHED, Attached, Attaching
from engine.ingest.event_json import EVENT_BYTES, DecodedEvent, check_type, read_batch, read_event
from engine.model.errors import Refusal
from engine.model.idempotency import one_key
from engine.model.identity import MAX_FANOUT, Identity, delivery_id
from engine.model.json_members import MAX_DEPTH
from engine.model.read_models import EnvironmentModel
from engine.model.trace import log_fields, stated_trace
from engine.ports import Claimed
from engine.routing.judge import EventJudge, Unfinished
from engine.routing.router import Choice, Router
from engine.runtime.fair_semaphore import FairSemaphore
from engine.runtime.loop_watch import MARK, TASK_MARK
from engine.runtime.slices import worked_off
from engine.submission.key_lookup import KeyedRefusal, KeyLookup, duplicates
from engine.submission.receipts import (
    Accepted,
    Done,
    Reply,
    failed,
    none_valid,
    receipt,
    refused,
    results,
)
from engine.submission.recent_senders import RecentSenders
from engine.submission.submission import Fate, Submission, claim_of

__all__ = ["Done", "Ingest", "Reply"]

SLICE_S = 0.0005  # how long a batch may hold the loop at a time
# While a batch is checked, the clock is read after every LOOK_BYTES, which take some 150 us. An event
# counts as its size plus EVENT_COST_BYTES, because even a small event takes time.
LOOK_BYTES = 16 * 1024
EVENT_COST_BYTES = 1024
# A batch of more than SMALL_BYTES takes several slices. Such batches are read one at a time, and the
# environments take turns. Eight batches at once would hold the loop for eight slices in a row.
SMALL_BYTES = 64 * 1024
# The limit on one environment's waiting large batches.
LARGE_WAITING = 1_000
BATCH_DELIVERIES = 50_000  # of one request: about half a second of commit
_NORMAL = DeliveryOrigin.NORMAL  # the look-up of an enum's member costs more than a call
_BATCH_DEPTH = MAX_DEPTH - 2  # an event is within the batch's object and array

log = structlog.get_logger("angarium.ingest")


class Spawn(Protocol):
    """A nursery's `start_soon`."""

    def __call__(self, function: Callable[..., Awaitable[object]], /, *args: object) -> None:
        """Run `function(*args)` in the background."""


class Ingest:
    """Checks, routes and submits events. Owner of the batches under way."""

    def __init__(
        self,
        router: Router,
        submit: Callable[[Submission], None],
        identity: Identity,
        spawn: Spawn,
        keys: KeyLookup | None = None,
        attaching: Attaching | None = None,
        senders: RecentSenders | None = None,
    ) -> None:
        """`keys` looks up whether a refused event was accepted before; None: no look-up. `attaching`
        stores attachments as files; None: they stay in the events."""
        self.judge = EventJudge(router, senders)
        self._router = router
        self._submit = submit
        self._identity = identity
        self._spawn = spawn
        self._keys = keys
        self._attaching = attaching
        self._large = FairSemaphore(1, 1, LARGE_WAITING)

    def submit(
        self,
        environment: EnvironmentModel,
        body: bytes,
        batch: bool,
        done: Done,
        hops: int = 0,
        key: str | None = None,
        trace: str | None = None,
    ) -> None:
        """Take one request's body; `done` is called exactly once, now or later. `hops`, `trace` and the
        `key` of a single event come from the request's head."""
        MARK.whom = environment.number
        if batch:
            given = (body, hops, trace)
            self._spawn(self._guard, self._batch, done, environment.number, trace, given)
            return
        entry: Accepted | Unfinished
        try:
            entry = self._accept(environment.number, body, MAX_DEPTH, hops, trace, key)
        except KeyedRefusal as refusal:
            self._spawn(self._guard, self._refused, done, environment.number, trace, refusal)
            return
        except Refusal as refusal:
            done(refused(refusal))
            return
        except Unfinished as unfinished:
            entry = unfinished
        else:
            if self._attaching is None or entry.event.attachments is None:
                self._submit_single(entry, len(body), done, NOTHING_ATTACHED)
                return
        given_entry = (entry, len(body))
        self._spawn(self._guard, self._finish, done, environment.number, trace, given_entry)

    async def _finish(
        self, environment: int, given: tuple[Accepted | Unfinished, int], done: Done
    ) -> None:
        del environment
        entry, size = given
        if isinstance(entry, Unfinished):
            entry = _accepted(entry.event, await self.judge.finish(entry))
        attached = NOTHING_ATTACHED
        if self._attaching is not None and entry.event.attachments is not None:
            attached = await self._attaching.attach(entry)
        self._submit_single(entry, size, done, attached)

    def _submit_single(self, accepted: Accepted, size: int, done: Done, attached: Attached) -> None:
        def tell(fate: Fate) -> None:
            done(receipt(accepted, fate))

        self._submit(
            Submission(
                [accepted.event],
                accepted.deliveries,
                [accepted.claim] if accepted.claim is not None else [],
                size,
                self._then_release(attached, tell) if attached.held else tell,
                attached.files,
            )
        )

    def _then_release(
        self, attached: Attached, tell: Callable[[Fate], None]
    ) -> Callable[[Fate], None]:
        attaching = self._attaching
        if attaching is None or not attached.held:
            return tell

        def tell_and_release(fate: Fate) -> None:
            tell(fate)
            if fate.refusal != "internal":  # after `internal`, the event's rows can still appear
                self._spawn(attaching.let_go, attached)

        return tell_and_release

    async def _guard(
        self,
        work: Callable[..., Awaitable[None]],
        done: Done,
        environment: int,
        trace: str | None,
        given: object,
    ) -> None:
        TASK_MARK.set((work.__name__, environment))
        try:
            try:
                await work(environment, given, done)
            except KeyedRefusal as keyed:
                await self._refused(environment, keyed, done)
        except Refusal as refusal:
            done(refused(refusal))
        except trio.Cancelled:
            done(failed("overloaded"))
            raise
        except Exception:  # a barrier: only this request fails, and it gets an answer
            log.exception("request.failed", **log_fields(trace))
            done(failed("internal"))

    async def _refused(self, environment: int, refusal: KeyedRefusal, done: Done) -> None:
        """Answer a refused event. If its key was accepted before, the answer says that the event is a
        duplicate."""
        known = await self._known(environment, [refusal])
        fate = Fate(lost=known)
        done(receipt(refusal.accepted, fate) if known else refused(refusal))

    async def _batch(
        self, environment: int, given: tuple[bytes, int, str | None], done: Done
    ) -> None:
        body, hops, trace = given
        entries = await self._read(environment, body, hops, trace)
        if self._attaching is None or not any(map(_brings_files, entries)):
            await self._submit_batch(environment, entries, len(body), done, NOTHING_ATTACHED)
            return
        attached = await self._attaching.attach_all(entries)
        async with self._attaching.let_go_unless_done(attached):
            await self._submit_batch(environment, entries, len(body), done, attached)

    async def _known(
        self, environment: int, entries: list[Accepted | Refusal]
    ) -> dict[str, Claimed]:
        keyed = [entry for entry in entries if isinstance(entry, KeyedRefusal)]
        if not keyed or self._keys is None:
            return {}
        return duplicates(entries, await self._keys.holders(environment, keyed))

    async def _read(
        self, environment: int, body: bytes, hops: int, trace: str | None
    ) -> list[Accepted | Refusal]:
        if len(body) <= SMALL_BYTES:
            return await self._entries(environment, read_batch(body), hops, trace)
        async with self._large.held(environment):
            parts = await worked_off(lambda pause: read_batch(body, pause))
            return await self._entries(environment, parts, hops, trace)

    async def _entries(
        self, environment: int, parts: list[bytes], hops: int, trace: str | None
    ) -> list[Accepted | Refusal]:
        entries: list[Accepted | Refusal] = []
        until = trio.current_time() + SLICE_S
        judge = self.judge
        checks, worked = judge.checks, LOOK_BYTES
        for part in parts:
            if worked >= LOOK_BYTES or judge.checks != checks:
                checks, worked = judge.checks, 0
                if trio.current_time() >= until:
                    await trio.lowlevel.checkpoint()
                    until = trio.current_time() + SLICE_S
            worked += EVENT_COST_BYTES + len(part)
            try:
                try:
                    entries.append(self._accept(environment, part, _BATCH_DEPTH, hops, trace))
                except Unfinished as unfinished:
                    choices = await judge.finish(unfinished)
                    entries.append(_accepted(unfinished.event, choices))
            except Refusal as refusal:
                entries.append(refusal)
        return entries

    async def _submit_batch(
        self,
        environment: int,
        entries: list[Accepted | Refusal],
        size: int,
        done: Done,
        attached: Attached,
    ) -> None:
        known = await self._known(environment, entries)
        accepted = [
            entry
            for entry in entries
            if isinstance(entry, Accepted) and entry.event.id not in known
        ]
        if not accepted:
            refusals = [entry for entry in entries if isinstance(entry, Refusal)]
            done(results(entries, Fate(lost=known)) if known else none_valid(refusals))
            return
        deliveries = [delivery for entry in accepted for delivery in entry.deliveries]
        if len(deliveries) > BATCH_DELIVERIES:
            raise Refusal(
                "payload_too_large",
                f"the batch makes {len(deliveries)} deliveries: at most {BATCH_DELIVERIES} are allowed",
            )
        self._submit(
            Submission(
                [entry.event for entry in accepted],
                deliveries,
                [entry.claim for entry in accepted if entry.claim is not None],
                size,
                self._then_release(
                    attached, lambda fate: done(results(entries, _with(fate, known)))
                ),
                attached.files,
            )
        )

    def _accept(
        self,
        environment: int,
        body: bytes,
        max_depth: int,
        hops: int,
        trace: str | None,
        key: str | None = None,
    ) -> Accepted:
        """Raises Refusal, or Unfinished if the checks take longer."""
        if len(body) > EVENT_BYTES:
            raise Refusal("payload_too_large", f"an event is at most {EVENT_BYTES} bytes")
        given, payload = read_event(body, max_depth)
        event = self._event(environment, given, payload)
        event.hops = hops
        if given.traceparent:  # the event's own trace wins
            trace = stated_trace(given.traceparent, given.tracestate or None) or trace
        event.trace = trace
        if key is not None:
            event.idempotency_key = one_key(event.idempotency_key, key)
        return _accepted(event, self._choices(event))

    def _choices(self, event: Event) -> tuple[Choice, ...]:
        """Raises Refusal, or Unfinished if the checks take longer."""
        route = self._router.known(event.environment, event.type, event.customer)
        if route is None:
            check_type(event.type)
        elif route.check is None and route.filters is None:
            return route.plain
        return self.judge.choices(route, event)

    async def routed(self, event: Event, kind: DeliveryKind, digest: bytes) -> Accepted:
        """Check and route the event of an upload. Raises Refusal.

        A later event with the same idempotency key is a duplicate only if its digest equals `digest`.
        """
        try:
            try:
                choices = self._choices(event)
            except Unfinished as unfinished:
                choices = await self.judge.finish(unfinished)
        except KeyedRefusal as refusal:
            if refusal.accepted.claim is not None:
                refusal.accepted.claim.digest = digest
            raise
        accepted = _accepted(event, choices, kind)
        if accepted.claim is not None:
            accepted.claim.digest = digest
        return accepted

    def _event(self, environment: int, given: DecodedEvent, payload: bytes) -> Event:
        identifier = self._identity.event()
        return Event(  # in the order of its fields: keywords would double the cost
            identifier,
            environment,
            given.eventType,
            given.occurred_at_ms(self._identity.wall_ms),
            payload,
            bytes(given.metadata) if given.metadata is not UNSET else None,
            given.source or None,
            given.customerExternalId or None,
            given.correlationId or None,
            given.requestId or None,
            given.idempotencyKey or None,
            bytes(given.attachments) if given.attachments is not UNSET else None,
        )


def _accepted(
    event: Event, choices: tuple[Choice, ...], kind: DeliveryKind = DeliveryKind.EVENT
) -> Accepted:
    deliveries = deliveries_of(event, choices, kind)
    if event.idempotency_key is None:
        return Accepted(event, deliveries, None)
    return Accepted(event, deliveries, claim_of(event, event.idempotency_key, len(deliveries)))


def _brings_files(entry: Accepted | Refusal) -> bool:
    return isinstance(entry, Accepted) and entry.event.attachments is not None


def deliveries_of(
    event: Event, choices: tuple[Choice, ...], kind: DeliveryKind = DeliveryKind.EVENT
) -> list[Delivery]:
    """Return an event's deliveries, one for each chosen destination. Raises Refusal for too many."""
    if not choices:
        return []
    if len(choices) > MAX_FANOUT:
        raise Refusal("invalid_request", f"more than {MAX_FANOUT} destinations match")
    deliveries: list[Delivery] = []
    lane = event.lane
    for ordinal, choice in enumerate(choices, 1):
        destination = choice.destination
        deliveries.append(
            Delivery(  # in the order of its fields: keywords would double the cost
                delivery_id(event.id, ordinal),
                event,
                destination.id,
                choice.queue,
                lane,
                0,  # the seq, which the commit sets
                choice.priority,
                kind,
                _NORMAL,
                destination.customer,
            )
        )
    return deliveries


def _with(fate: Fate, known: dict[str, Claimed]) -> Fate:
    return Fate(fate.refusal, {**(fate.lost or {}), **known}) if known else fate
