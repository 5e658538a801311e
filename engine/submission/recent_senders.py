"""The last two environments that sent events. They show if several tenants use the process now.

While only one tenant sends, the process skips work that only protects tenants from each other.
"""

from collections.abc import Callable

import trio

# An environment counts for this long after an event, for tenants who send only now and then.
LATELY_S = 60.0


class RecentSenders:
    """Owner of the last sender, and of the times of its last event and of another sender's last event
    before it. Used on the trio thread."""

    __slots__ = ("_before_at", "_last", "_last_at", "_now")

    def __init__(self, now: Callable[[], float] = trio.current_time) -> None:
        self._now = now
        self._last = -1
        self._last_at = self._before_at = -LATELY_S

    def sent(self, environment: int) -> None:
        if environment != self._last:
            self._before_at = self._last_at
            self._last = environment
        self._last_at = self._now()

    def others_than(self, environment: int) -> bool:
        """Return True if an environment other than this one has sent within `LATELY_S`."""
        at = self._before_at if environment == self._last else self._last_at
        return self._now() - at < LATELY_S
