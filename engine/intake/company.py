"""Whether a tenant is alone: what only matters beside others costs nothing where nobody is.

Nothing here awaits.
"""

from collections.abc import Callable

import trio

# Who has sent within this is one of several: of a tenant who sends now and then all events but the first
# of a minute are as quick as ever.
LATELY_S = 60.0


class Company:
    """The last two environments that sent. Owner: the trio thread."""

    __slots__ = ("_before", "_before_at", "_last", "_last_at", "_now")

    def __init__(self, now: Callable[[], float] = trio.current_time) -> None:
        self._now = now
        self._last = self._before = -1
        self._last_at = self._before_at = -LATELY_S

    def sent(self, environment: int) -> None:
        """Note that an environment sends."""
        if environment != self._last:
            self._before, self._before_at = self._last, self._last_at
            self._last = environment
        self._last_at = self._now()

    def beside(self, environment: int) -> bool:
        """Whether another environment has sent lately."""
        at = self._before_at if environment == self._last else self._last_at
        return self._now() - at < LATELY_S
