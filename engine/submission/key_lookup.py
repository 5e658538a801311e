"""The look-up of the idempotency keys of refused events.

A client can send an accepted event again, with the same key, after a change such as a new schema that
refuses the event. The look-up finds the accepted event, and the client gets its receipt again.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import trio

from engine.model.errors import Refusal
from engine.ports import Claimed, StoreAwayError, StoreError
from engine.submission.receipts import Accepted

AT_ONCE = 2  # look-ups at once: refused events must leave connections for other readers
MAX_WAITING = 500  # callers that can wait: as many as are answered within about a second


class ClaimReader(Protocol):
    """The reader of idempotency keys. The holder of a key is the event that was accepted with the key."""

    async def holders(
        self, environment: int, keys: Sequence[str], now_ms: int
    ) -> dict[str, Claimed]:
        """Return the holders of `keys` by key. A key that has expired at `now_ms` has no holder. Raises
        StoreError."""


class KeyedRefusal(Refusal):
    """The refusal of an event with an idempotency key. If an earlier event holds the key, the refused
    event is treated as a duplicate, not as refused."""

    def __init__(self, refusal: Refusal, accepted: Accepted) -> None:
        super().__init__(refusal.code, refusal.message, refusal.details)
        self.accepted = accepted  # the event as if accepted: its claim, and no deliveries

    @property
    def key(self) -> str:
        claim = self.accepted.claim
        assert claim is not None
        return claim.key


class KeyLookup:
    """The look-up of idempotency keys in the store. At most MAX_WAITING callers wait for a look-up."""

    def __init__(self, reader: ClaimReader, now: Callable[[], float]) -> None:
        self._reader = reader
        self._now = now
        self._limit = trio.CapacityLimiter(AT_ONCE)
        self._waiting = 0

    async def holders(
        self, environment: int, refusals: Sequence[KeyedRefusal]
    ) -> dict[str, Claimed]:
        """Return the events that hold the idempotency keys of the refused events, by key. Raises Refusal:
        `overloaded` or `internal`."""
        if self._waiting >= MAX_WAITING:
            raise Refusal("overloaded", "too many events are being refused", retry_after_s=1)
        keys = sorted({each.key for each in refusals})
        self._waiting += 1
        try:
            async with self._limit:
                return await self._reader.holders(environment, keys, int(self._now() * 1000))
        except StoreAwayError:
            raise Refusal("overloaded", "the database does not answer", retry_after_s=1) from None
        except StoreError:
            raise Refusal("internal", "an idempotency key could not be looked up") from None
        finally:
            self._waiting -= 1


def duplicates(
    entries: list[Accepted | Refusal], holders: dict[str, Claimed]
) -> dict[str, Claimed]:
    """Find the duplicates among the refused events of a batch. In `entries`, replace the refusal of each
    duplicate by the duplicate itself (`Accepted`). Return the event that holds the key of each duplicate,
    by the duplicate's id.

    A refused event is a duplicate if an earlier event, the holder, has the same idempotency key. The
    holder is in `holders`, or was accepted earlier in the batch.
    """
    known: dict[str, Claimed] = {}
    earlier: dict[str, Claimed] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, KeyedRefusal):
            holder = holders.get(entry.key) or earlier.get(entry.key)
            if holder is not None:
                entries[index] = entry.accepted
                known[entry.accepted.event.id] = holder
        elif isinstance(entry, Accepted) and entry.claim is not None:
            claim = entry.claim
            earlier.setdefault(claim.key, Claimed(claim.event, claim.deliveries, claim.digest))
    return known
