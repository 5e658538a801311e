"""The deadlines of exchanges. Exchanges with the same timeout are in one queue, ordered by deadline.

A queue has one timer, for its first deadline. If each exchange had a timer, most exchanges would set
their timer and cancel it, because they end long before their deadline. To enter and leave a queue takes a
third of the time that it takes to set and cancel a timer.
"""

from collections import OrderedDict
from functools import partial

import trio

from engine.runtime.timers import Timers
from engine.wire.exchange import DeadlineQueue, OutboundExchange


class Deadlines:
    """Owner of the queues. An exchange removes itself from its queue when it ends."""

    __slots__ = ("_queues", "_timers")

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._queues: dict[int, DeadlineQueue] = {}  # by timeout, in milliseconds

    def watch(self, exchange: OutboundExchange) -> None:
        """Let an exchange expire at its `due`, unless it has ended before."""
        timeout_ms = exchange.timeout_ms
        queue = self._queues.get(timeout_ms)
        if queue is None:
            queue = self._queues[timeout_ms] = OrderedDict()
            self._set(exchange.due, timeout_ms)
        queue[exchange] = None
        exchange.deadlines = queue

    def _set(self, due: float, timeout_ms: int) -> None:
        self._timers.call_at(due, partial(self._come, timeout_ms))

    def _come(self, timeout_ms: int) -> None:
        """Expire the first exchange of a queue if it is due, and set the queue's timer again.

        Only one exchange expires in each call, so that `Timers` can let other tasks run before the next
        exchange expires.
        """
        queue = self._queues[timeout_ms]
        if not queue:
            del self._queues[timeout_ms]
            return
        first = next(iter(queue))
        self._set(first.due, timeout_ms)
        if first.due <= trio.current_time():
            del queue[first]
            first.expire()
