"""How long schemas and filters may hold the loop for one environment's events, by the CPU's clock.

Each event's judgement has a bound; what a tenant sends one after another has none but this. Only what
takes longer than ordinary schemas and filters ever do is counted, so that whoever writes those never
hears of it. Nothing here awaits.
"""

import math
import time
from collections.abc import Callable

import structlog
from msgspec import Struct

from engine.errors import Refusal

FREE_S = 0.001  # of one event: some 20 patterns, or hundreds of comparisons
# What decoding a large event and holding it to a plain schema takes, and half as much again.
FREE_S_A_BYTE = 60e-9
SHARE = 0.1  # of the loop, beside what is free
BURST_S = 0.5  # that may be owed before events are refused: some ten of the worst

log = structlog.get_logger("angarium.ingest")


class _Debt(Struct):
    """Seconds that were owed at an instant of the process's clock."""

    seconds: float
    at: float


class JudgingTime:
    """Owner of what environments owe: the trio thread. Most owe nothing, and are not in it."""

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        """`cpu`: what this thread has used, so that nobody pays for a machine that is busy."""
        self._now = now
        self.cpu = cpu
        self._debts: dict[int, _Debt] = {}

    def admit(self, environment: int) -> None:
        """Let an event be judged. Raises Refusal 503 `overloaded`, with how long to wait."""
        debt = self._debts.get(environment)
        if debt is None:
            return
        owed = self._owed(debt)
        if owed <= 0:
            del self._debts[environment]
        elif owed > BURST_S:
            raise Refusal(
                "overloaded",
                "the schemas and filters of this environment take too long on its events",
                (),
                max(1, math.ceil((owed - BURST_S) / SHARE)),
            )

    def charge(self, environment: int, seconds: float, size: int) -> None:
        """Count what the judgement of an event of `size` bytes took."""
        excess = seconds - FREE_S - size * FREE_S_A_BYTE
        if excess <= 0:
            return
        before = self._debts.get(environment)
        owed = 0.0 if before is None else max(0.0, self._owed(before))
        self._debts[environment] = _Debt(owed + excess, self._now())
        if owed <= BURST_S < owed + excess:
            log.warning("judging takes too long", environment=environment, last_s=seconds)

    def _owed(self, debt: _Debt) -> float:
        return debt.seconds - (self._now() - debt.at) * SHARE
