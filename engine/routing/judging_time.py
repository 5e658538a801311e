"""The limit on the loop's CPU time for the schemas and filters of one environment: a leaky bucket.

Each event has some free time, enough for ordinary schemas and filters. Only time beyond the free time
counts.
"""

import math
import time
from collections.abc import Callable

import structlog
from msgspec import Struct

from engine.model.errors import Refusal

# The free time of an event (CPU time that is not charged) is FREE_S, plus FREE_S_A_BYTE times the event's
# bytes. FREE_S is enough to match some 20 patterns, or to do hundreds of comparisons. FREE_S_A_BYTE is
# 1.5 times the time that it takes to decode a byte and to check it against a plain schema.
FREE_S = 0.001
FREE_S_A_BYTE = 60e-9
SHARE = 0.1  # of the loop, in addition to the free time
BURST_S = 0.5  # the debt beyond which events are refused: some ten of the costliest events
# The customers' sessions of an environment have a bucket apart from the environment's events. It has the
# same SHARE and BURST_S. Each customer also has a bucket for its own sessions, with 1 / CUSTOMER_PART of
# SHARE and of BURST_S.
CUSTOMER_PART = 4
KEPT = 1_000  # debts that are kept; beyond it, paid debts are forgotten

Debtor = int | tuple[int, str]  # an environment; its sessions (""), or those of one account

log = structlog.get_logger("angarium.ingest")


class _Debt(Struct):
    """Seconds that were owed at an instant of the process's clock."""

    seconds: float
    at: float


class JudgingTime:
    """Owner of the debts of environments, on the trio thread."""

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        """`cpu` returns the CPU time that this thread has used, in seconds."""
        self._now = now
        self.cpu = cpu
        self._debts: dict[Debtor, _Debt] = {}

    def admit(self, environment: int, account: str | None = None) -> None:
        """Admit the judgement of an event. Raises Refusal 503 `overloaded` with the time to wait.

        `account`: for a request of an embed session, the account of the session. Otherwise None.
        """
        if account is None:
            self._admit(environment, 1)
        else:
            self._admit((environment, account), CUSTOMER_PART)
            self._admit((environment, ""), 1)

    def charge(
        self, environment: int, seconds: float, size: int, account: str | None = None
    ) -> None:
        """Count the CPU seconds that the judgement of an event took. `size`: the event's bytes.
        `account`: the account of the embed session that sent the request, or None."""
        excess = seconds - FREE_S - size * FREE_S_A_BYTE
        if excess <= 0:
            return
        if account is None:
            self._charge(environment, excess, 1)
        else:
            self._charge((environment, account), excess, CUSTOMER_PART)
            self._charge((environment, ""), excess, 1)

    def _admit(self, debtor: Debtor, part: int) -> None:
        debt = self._debts.get(debtor)
        if debt is None:
            return
        owed = self._owed(debt, part)
        if owed <= 0:
            del self._debts[debtor]
        elif owed > BURST_S / part:
            raise Refusal(
                "overloaded",
                "the schemas and filters of this environment take too long on its events",
                (),
                max(1, math.ceil((owed - BURST_S / part) / (SHARE / part))),
            )

    def _charge(self, debtor: Debtor, excess: float, part: int) -> None:
        before = self._debts.get(debtor)
        owed = 0.0 if before is None else max(0.0, self._owed(before, part))
        self._debts[debtor] = _Debt(owed + excess, self._now())
        if owed <= BURST_S / part < owed + excess:
            environment = debtor if isinstance(debtor, int) else debtor[0]
            log.warning("judging_time.used_up", environment=environment, last_s=excess)
        if len(self._debts) > KEPT:
            self._forget()

    def _owed(self, debt: _Debt, part: int) -> float:
        return debt.seconds - (self._now() - debt.at) * SHARE / part

    def _forget(self) -> None:
        """Forget the debts that are paid even at the slowest rate."""
        debts = self._debts
        for debtor in [
            each for each, debt in debts.items() if self._owed(debt, CUSTOMER_PART) <= 0
        ]:
            del debts[debtor]
