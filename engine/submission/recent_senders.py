"""The record of recent senders. It tells if other environments than a given one sent events lately.
If none did, the process skips work that only protects tenants from each other.
"""

from collections.abc import Callable

import trio

# An environment counts as a recent sender until this many seconds after its last event. A tenant who
# sends an event every few seconds thus counts all the time.
LATELY_S = 60.0


class RecentSenders:
    """Owner of three values: the id of the environment that sent the last event, the time of this event,
    and the time of the last event of any other environment. Used on the trio thread."""

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
