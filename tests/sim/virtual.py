"""One thread of virtual time: a clock that jumps to the next deadline, and a scheduler with a seed.

Nothing in this module waits in real time. Code that runs in virtual time must not read the real time.
"""

import heapq
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, TypeVar

import structlog
import trio
from trio._core import _run as scheduler

T = TypeVar("T")
EPOCH = 1_800_000_000.0  # a day in January 2027: the true time at which every history begins

IDLE_S = 1.0  # real seconds to wait for trio's own sockets
IDLE_MOST = 3


class VirtualClock(trio.abc.Clock):
    """A clock that stands still while any task can run. When no task can run, the clock jumps.

    trio's own mock clock sleeps and reads the real time before it jumps, so a jump costs twice as much.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._idle = 0
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def call_later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Run `call` later, outside of all tasks. A task that sleeps until then would cost five times as
        much."""
        heapq.heappush(self._calls, (self._now + delay_s, next(self._order), call))

    def start_clock(self) -> None:
        """Do nothing: virtual time needs no start."""

    def current_time(self) -> float:
        return self._now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Let the clock jump. trio calls this method when no task can run, with the next deadline of a
        task. If a call of `call_later` is due before `deadline`, jump only to the time of this call and
        make it."""
        if self._calls and self._calls[0][0] <= deadline:
            due, _, call = heapq.heappop(self._calls)
            self._now = max(self._now, due)
            call()
            return 0
        if deadline == inf:  # only a socket of trio's own can still wake a task, as at its end
            self._idle += 1
            if self._idle > IDLE_MOST:
                raise RuntimeError("every task waits for another: nothing would ever happen again")
            return IDLE_S
        self._idle = 0
        self._now = max(self._now, deadline)
        return 0


@contextmanager
def _decided_by(seed: int) -> Iterator[None]:
    module: Any = scheduler
    before = module._ALLOW_DETERMINISTIC_SCHEDULING, module._r
    module._ALLOW_DETERMINISTIC_SCHEDULING, module._r = True, random.Random(f"{seed} order")
    try:
        yield
    finally:
        module._ALLOW_DETERMINISTIC_SCHEDULING, module._r = before


@contextmanager
def _heard_by(hear: Callable[[str, dict[str, Any]], None]) -> Iterator[None]:
    def take(_: Any, level: str, entry: Any) -> Any:
        hear(level, entry)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(
        processors=[take],
        wrapper_class=structlog.make_filtering_bound_logger("error"),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def run_virtually(
    main: Callable[[], Awaitable[T]], seed: int, hear: Callable[[str, dict[str, Any]], None]
) -> T:
    """`hear` gets each error that is logged."""
    with _decided_by(seed), _heard_by(hear):
        return trio.run(main, clock=VirtualClock())
