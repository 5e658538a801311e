"""Commands on the dead-letter queue: retry one delivery, or retry or discard all that a filter
selects.

A bulk request is written in chunks of deliveries. Each chunk waits in the intake's entry queue. The
intake writes a chunk between two writes of new events.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import trio
from msgspec import Struct

from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.writer import ConfigurationWriter
from engine.core.records import Delivery
from engine.core.vocabulary import DlqStatus
from engine.intake.entries import QueueEntry
from engine.log.delivery_log import DeliveryEntry, DeliveryFilter, DeliveryLog
from engine.model.errors import Refusal
from engine.model.read_models import SessionCustomer
from engine.ports import PoisonError, StoreAwayError
from engine.recording.requeue import (
    CHUNK,
    ChunkAudit,
    Dead,
    DeadLetterStore,
    DiscardEntry,
    RequeueEntry,
    RequeueStore,
)
from engine.runtime.fair_semaphore import FairSemaphore

MOST = 10_000  # deliveries that one request takes out of the queue, within seconds
WITHIN_S = 5.0  # after this time, no further chunk begins
COUNT_WITHIN_S = 10.0  # in this time PostgreSQL counts some millions
PATIENCE_S = 5.0  # the longest wait for a chunk; ingestion waits as long for its group
# After each chunk there is a pause, in which the intake writes new events. The pause lasts as long as the
# chunk took, but no longer than this. Only `per_second` can require a longer pause.
LONGEST_REST_S = 0.1
AT_ONCE = 4  # bulk requests that run, since each keeps the entry queue busy; others wait
EACH = 1  # per environment: a second request would only take the deliveries of the first

_CHANGES = {"retry": "retried", "discard": "discarded"}


class Bulk(Struct, frozen=True):
    """The result of a bulk request, in numbers of deliveries. `matched` can be more than `done` plus
    `remaining`: some deliveries left the queue during the request, or their events were removed."""

    matched: int
    done: int
    remaining: int


class Bound(Struct, frozen=True):
    """The limits of one bulk request. `most` is the largest number of deliveries that the request writes
    (None: `MOST`). `per_second` is the largest number that it writes in a second (None: no limit)."""

    most: int | None = None
    per_second: float | None = None

    @property
    def chunk(self) -> int:
        """The largest number of deliveries in one chunk: as many as `per_second` allows in a second, at
        most CHUNK and at least 1."""
        return CHUNK if self.per_second is None else max(1, min(CHUNK, int(self.per_second)))

    def lasts_s(self, count: int) -> float:
        """Return the least number of seconds in which `per_second` allows `count` deliveries."""
        return 0.0 if self.per_second is None else count / self.per_second


UNBOUND = Bound()


class EntryQueuePort(Protocol):
    """The entry queue of the intake."""

    async def enter(self, entry: QueueEntry, within_s: float) -> list[Delivery]:
        """Write an entry; see `engine.intake.entries.EntryQueue`."""


class DeadLetterCommands:
    """Writes the dead-letter queues of all environments."""

    def __init__(
        self,
        log: DeliveryLog,
        queue: DeadLetterStore,
        store: RequeueStore,
        entries: EntryQueuePort,
        writer: ConfigurationWriter,
        now: Callable[[], float] = trio.current_time,
    ) -> None:
        self._log = log
        self._queue = queue
        self._store = store
        self._entries = entries
        self._writer = writer
        self._now = now
        self._turns = FairSemaphore(AT_ONCE, EACH)
        self._counts = FairSemaphore(AT_ONCE, EACH)

    async def entry(
        self, environment: int, identifier: str, own: SessionCustomer | None
    ) -> DeliveryEntry | None:
        """Return a delivery. Return None if it is not IN_DLQ. Raises Refusal 404 if it is unknown."""
        entry = await self._log.entry(environment, identifier)
        if entry is None or (own is not None and entry.customer != own.external_id):
            raise Refusal("not_found", "no such delivery")
        return entry if entry.dlq_status is DlqStatus.IN_DLQ else None

    async def retry(
        self, principal: Principal, environment: int, identifier: str, own: SessionCustomer | None
    ) -> None:
        """Retry one delivery. Raises Refusal 404 if the delivery is not in the queue, and 409 if its
        event was removed."""
        found = await self.entry(environment, identifier, own)
        if found is None:
            raise Refusal("not_found", "the delivery is not in the dead-letter queue")
        changes = {"dlqStatus": {"from": "IN_DLQ", "to": "RETRIED_FROM_DLQ"}}
        audited = ChunkAudit(self._writer.entry(principal, "dlq.retry", identifier, changes))
        dead = [Dead(identifier, found.destination)]
        entry = RequeueEntry(self._store, environment, dead, audited)

        async def enter() -> None:
            await self._entered(entry)

        await self._writer.commands.run_beside(enter)
        if entry.done:
            return
        if await self.entry(environment, identifier, own) is None:
            raise Refusal("not_found", "the delivery is not in the dead-letter queue")
        raise Refusal("conflict", "the delivery cannot be sent again: its event was removed")

    async def retry_all(
        self,
        principal: Principal,
        environment: int,
        which: DeliveryFilter,
        shown: Mapping[str, Any],
        bound: Bound = UNBOUND,
    ) -> Bulk:
        """Retry all deliveries that a filter selects, the oldest first. `shown` is the filter, in
        the form that the audit log shows."""
        return await self._all(principal, environment, which, shown, bound, "retry", RequeueEntry)

    async def discard_all(
        self,
        principal: Principal,
        environment: int,
        which: DeliveryFilter,
        shown: Mapping[str, Any],
        bound: Bound = UNBOUND,
    ) -> Bulk:
        """Discard all deliveries that a filter selects."""
        return await self._all(principal, environment, which, shown, bound, "discard", DiscardEntry)

    async def count(self, environment: int, which: DeliveryFilter) -> Bulk:
        """Count the deliveries that a filter selects. Raises Refusal 503 if the count takes too long."""
        async with self._counts.held(environment):
            matched, whole = await self._counted(environment, which, None)
        if not whole:
            raise Refusal(
                "overloaded",
                "too many deliveries match to be counted in time: narrow the filter",
                (),
                1,
            )
        return Bulk(matched, 0, matched)

    async def _all(
        self,
        principal: Principal,
        environment: int,
        which: DeliveryFilter,
        shown: Mapping[str, Any],
        bound: Bound,
        verb: str,
        make: type[RequeueEntry] | type[DiscardEntry],
    ) -> Bulk:
        counted = _CHANGES[verb]
        changes = {"filter": {"from": None, "to": dict(shown)}, counted: {"from": 0, "to": 0}}
        audit = self._writer.entry(principal, f"dlq.{verb}", "*", changes)

        async def chunk(dead: Sequence[Dead], before: int) -> tuple[int, list[Dead]]:
            entry = make(self._store, environment, dead, ChunkAudit(audit, counted, before))
            await self._entered(entry)
            left = set(entry.left)
            return len(entry.done), [each for each in dead if each.id in left]

        async def work() -> Bulk:
            async with self._turns.held(environment):
                matched, done, after = 0, 0, None
                start = self._now()
                most = MOST if bound.most is None else min(bound.most, MOST)
                until = start + WITHIN_S
                while done < most and self._now() < until:
                    span = await self._queue.dead(
                        environment, which, after, min(bound.chunk, most - done)
                    )
                    matched += span.matched
                    dead = span.found
                    while dead:
                        began = self._now()
                        try:
                            count, dead = await chunk(dead, done)
                        except (StoreAwayError, PoisonError) as error:
                            raise _partly(error, done, counted) from error
                        done += count
                        now = self._now()
                        await trio.sleep(
                            max(min(now - began, LONGEST_REST_S), start + bound.lasts_s(done) - now)
                        )
                    after = span.through
                    if after is None:
                        return Bulk(matched, done, 0)
                remaining, _ = await self._counted(environment, which, after)
                return Bulk(matched + remaining, done, remaining)

        return await self._writer.commands.run_beside(work)

    async def _counted(
        self, environment: int, which: DeliveryFilter, after: str | None
    ) -> tuple[int, bool]:
        """Return the number of deliveries with ids above `after`, and whether the count is
        complete.
        """
        total = 0
        until = self._now() + COUNT_WITHIN_S
        while self._now() < until:
            span = await self._queue.count(environment, which, after)
            total += span.matched
            if span.through is None:
                return total, True
            after = span.through
        return total, False

    async def _entered(self, entry: RequeueEntry | DiscardEntry) -> None:
        await written(self._entries.enter(entry, PATIENCE_S))


def _partly(error: StoreAwayError | PoisonError, done: int, word: str) -> Exception:
    if not done:
        return error
    return Refusal(
        "internal",
        f"{done} deliveries were {word} before the database failed: repeat the request to go on",
    )
