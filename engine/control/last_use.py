"""The last use of each key. The process that saw the use writes the time to the store within a minute.

A process that is killed loses the uses of the last minute at most.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import trio

from engine.ports.outage import Outage

FLUSH_S = 5.0  # how soon another process, or the command line, sees that a key is used
AT_ONCE = 1_000  # keys of one statement: about a millisecond
AGAIN_S = 60.0  # a key in constant use is written once in this time


class LastUseStore(Protocol):
    """The store of last uses."""

    async def used(self, keys: Mapping[str, int]) -> None:
        """Write the last uses of keys (ms by key id), except where the row has a later one."""


class LastUse:
    """The uses of keys that this process saw. Only the trio thread uses this object."""

    def __init__(self, store: LastUseStore, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self.seen: dict[
            str, float
        ] = {}  # by key, in seconds since the epoch; admission control writes it
        self._written: dict[
            str, tuple[float, float]
        ] = {}  # by key: the last use that is in the key's row, and the time of this write

    def latest_ms(self, key: str, recorded_ms: int | None) -> int | None:
        """Return the last use of a key. `recorded_ms`: the last use that is in the key's row."""
        seen = self.seen.get(key)
        if seen is None:
            return recorded_ms
        return max(int(seen * 1000), recorded_ms or 0)

    async def run(self) -> None:
        """Write until cancelled."""
        await Outage("the last use of keys").every(FLUSH_S, self.flush)

    async def flush(self) -> None:
        """Write the uses that are due. Raises StoreError. Uses that were not written stay due."""
        now, keys = self._now(), list(self.seen)
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            due = {key: at for key in part if self._is_due(key, at := self.seen[key], now)}
            if due:
                await self._store.used({key: int(at * 1000) for key, at in due.items()})
                self._written |= {key: (at, now) for key, at in due.items()}
            for key in part:
                at, since = self._written[key]
                if self.seen[key] == at and now - since >= AGAIN_S:
                    del self.seen[key], self._written[key]  # the row has the latest use
            await trio.lowlevel.checkpoint()

    def _is_due(self, key: str, at: float, now: float) -> bool:
        written = self._written.get(key)
        return written is None or (written[0] != at and now - written[1] >= AGAIN_S)
