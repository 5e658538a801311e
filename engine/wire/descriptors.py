"""The outbound share of the process's descriptors: who may open a socket, and who waits for one.

Idle connections are evicted, oldest first, before anybody waits. Those who wait are served in order.
"""

import errno
from collections.abc import Callable
from typing import Protocol

from engine.timers import Timer, Timers

REST_S = 0.1  # after the system refused a descriptor: others of this process may give some back

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Waiting(Protocol):
    """Somebody who waits for a descriptor."""

    def granted(self) -> None:
        """A descriptor was taken for you: use it or give it back."""


class Descriptors:
    """Owner of the count. `evict` closes one idle connection (which gives its descriptor back)."""

    def __init__(self, limit: int, timers: Timers, evict: Callable[[], bool]) -> None:
        self.limit = limit
        self.used = 0
        self._timers = timers
        self._evict = evict
        self.queue: dict[Waiting, None] = {}  # in the order of their coming
        self._rest: Timer | None = None

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self.queue)

    def take(self) -> bool:
        """Take a descriptor if one is free, or can be freed, and nobody waits for it."""
        if self.queue or self._rest is not None:
            return False
        return self._take()

    def wait(self, waiting: Waiting) -> None:
        """Queue for a descriptor."""
        self.queue[waiting] = None

    def leave(self, waiting: Waiting) -> None:
        """Leave the queue; harmless when not in it."""
        self.queue.pop(waiting, None)

    def give(self) -> None:
        """Give a descriptor back."""
        self.used -= 1
        if self.queue:
            self._serve()

    def refused(self) -> None:
        """The system had none, although our share was not used up: give it back and rest."""
        self.used -= 1
        self._evict()
        if self._rest is None:
            self._rest = self._timers.call_later(REST_S, self._rested)

    def _take(self) -> bool:
        if self.used >= self.limit and not (self._evict() and self.used < self.limit):
            return False
        self.used += 1
        return True

    def _rested(self) -> None:
        self._rest = None
        self._serve()

    def _serve(self) -> None:
        while self.queue and self._rest is None and self._take():
            waiting = next(iter(self.queue))
            del self.queue[waiting]
            waiting.granted()
