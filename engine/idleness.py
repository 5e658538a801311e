"""How long the loop had nothing to do: what tells a process that is busy from one that waits for others.

How late a task is woken does not tell: a turn of the loop that never rests may take a millisecond.
"""

from types import TracebackType
from typing import Self

import trio


class Idleness(trio.abc.Instrument):
    """A stopwatch, which runs while it is entered and the loop waits. Costs two looks at the clock for
    each turn of the loop. Where others take the processor, waiting for that counts as well."""

    def __init__(self) -> None:
        self._waited = self._waited_before = self._looked = 0.0  # seconds, and when they were read
        self._since: float | None = None

    def __enter__(self) -> Self:
        self._looked, self._waited_before, self._since = trio.current_time(), self._waited, None
        trio.lowlevel.add_instrument(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        trio.lowlevel.remove_instrument(self)

    def part(self) -> float:
        """Return for which part of the time the loop waited, since the last call."""
        now, waited = trio.current_time(), self._waited - self._waited_before
        took = now - self._looked
        self._looked, self._waited_before = now, self._waited
        return waited / took if took > 0 else 0.0

    def before_io_wait(self, timeout: float) -> None:
        """See `trio.abc.Instrument`."""
        self._since = trio.current_time() if timeout > 0 else None

    def after_io_wait(self, timeout: float) -> None:
        """See `trio.abc.Instrument`."""
        if self._since is not None:
            self._waited += trio.current_time() - self._since
