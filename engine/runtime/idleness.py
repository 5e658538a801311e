"""The idle time of the loop: it distinguishes a busy process from one that waits.

The lateness of a timer does not show this: a loop that never waits can still serve every timer within a
millisecond.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Idleness(trio.abc.Instrument):
    """A stopwatch that runs while the loop waits. If other processes hold the processor when a wait ends,
    the stopwatch runs on until the loop has the processor again."""

    def __init__(self) -> None:
        self._waited = self._looked = 0.0  # waited since the last call of `part`; that call's time
        self._since: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure until the block ends."""
        self._waited, self._looked, self._since = 0.0, trio.current_time(), None
        trio.lowlevel.add_instrument(self)
        try:
            yield
        finally:
            trio.lowlevel.remove_instrument(self)

    def part(self) -> float:
        """Return how much of the time since the last call of `part` the loop has waited: 0 to 1."""
        now, waited = trio.current_time(), self._waited
        took = now - self._looked
        self._looked, self._waited = now, 0.0
        return waited / took if took > 0 else 0.0

    def before_io_wait(self, timeout: float) -> None:
        self._since = trio.current_time() if timeout > 0 else None

    def after_io_wait(self, timeout: float) -> None:
        if self._since is not None:
            self._waited += trio.current_time() - self._since
