"""The deadlines of exchanges. For each length of timeout there is a line, a queue in order of deadlines.

A line has one timer, for its first deadline. Most exchanges end long before their deadline. Entering and
leaving a line costs a third of setting and cancelling a timer.
"""

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

import trio

from engine.runtime.timers import Timers

if TYPE_CHECKING:
    from engine.wire.exchange import OutboundExchange

Line = OrderedDict["OutboundExchange", None]


class Deadlines:
    """All lines. An exchange removes itself from its line when it ends."""

    __slots__ = ("_lines", "_timers")

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._lines: dict[int, Line] = {}  # by timeout, in milliseconds

    def watch(self, exchange: "OutboundExchange") -> None:
        """Let an exchange expire at its `due`, unless it has ended before."""
        timeout_ms = exchange.timeout_ms
        line = self._lines.get(timeout_ms)
        if line is None:
            line = self._lines[timeout_ms] = OrderedDict()
            self._set(exchange.due, timeout_ms)
        line[exchange] = None
        exchange.line = line

    def _set(self, due: float, timeout_ms: int) -> None:
        self._timers.call_at(due, partial(self._come, timeout_ms))

    def _come(self, timeout_ms: int) -> None:
        """Only one exchange expires in each call, so that `Timers` can let other tasks run between
        them.
        """
        line = self._lines[timeout_ms]
        if not line:
            del self._lines[timeout_ms]
            return
        first = next(iter(line))
        self._set(first.due, timeout_ms)
        if first.due <= trio.current_time():
            del line[first]
            first.expire()
