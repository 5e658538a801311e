"""The age of the configuration in memory, without the time in which the loop did not run.

While a long step holds the loop, no task can confirm the configuration. If the time of the step counted,
the configuration would be stale after the step, and the server would refuse the requests of all tenants.
"""

from collections import deque
from collections.abc import Callable

import trio

STALE_S = 5.0  # admission refuses requests if the read models were not confirmed for so long
LOOK_S = STALE_S / 10
# The time in which the loop did not run is subtracted from the configuration's age. At most this many
# seconds are subtracted. If the loop did not run for much longer, for example because the computer slept,
# permissions can have changed in the meantime. Requests are then refused until the configuration is
# confirmed.
FORGIVEN_S = 30.0
STILLS = 32  # pauses remembered: each lasts 0.5 s or more; a confirmation comes each second


class Freshness:
    """The judge of the configuration's age. `stale` is True if the configuration is too old.
    `confirmed_at` returns the instant on trio's clock at which the configuration was last confirmed, or
    None if it was never confirmed."""

    def __init__(self, confirmed_at: Callable[[], float | None]) -> None:
        self._confirmed_at = confirmed_at
        self._looked_at: float | None = None
        self._stills: deque[tuple[float, float]] = deque(maxlen=STILLS)
        self.stale = False

    async def run(self) -> None:
        """Judge the age until cancelled."""
        while True:
            self.look()
            await trio.sleep(LOOK_S)

    def look(self) -> None:
        """Judge the age now."""
        now, looked_at = trio.current_time(), self._looked_at
        self._looked_at = now
        if looked_at is not None and now - looked_at > 2 * LOOK_S:
            self._stills.append((looked_at + LOOK_S, now))
        confirmed_at = self._confirmed_at()
        self.stale = confirmed_at is None or self._age(now, confirmed_at) > STALE_S

    def _age(self, now: float, confirmed_at: float) -> float:
        stood_s = sum(max(0.0, end - max(begin, confirmed_at)) for begin, end in self._stills)
        return now - confirmed_at - min(stood_s, FORGIVEN_S)
