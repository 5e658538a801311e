"""The circuit of one destination. The circuit opens after failures in a row. Then one delivery at a time
is sent as a probe.

Only failures of the destination count. TRANSFORM and INTERNAL failures are faults of the tenant's script
or of Angarium. They do not count, and they do not end a row of failures. BLOCKED_ADDRESS counts, because
the destination's own host name resolves to the blocked address.
"""

from enum import IntEnum

from engine.core.health import CircuitState
from engine.core.records import Ids
from engine.core.vocabulary import ErrorCategory

FAILURES_TO_OPEN = 10
DELIVERIES_TO_OPEN = 5  # one delivery that always fails says nothing about the destination
FIRST_PROBE_S = 1.0
LONGEST_PROBE_S = 60.0
NOT_THE_DESTINATIONS = frozenset({ErrorCategory.TRANSFORM, ErrorCategory.INTERNAL})


class CircuitSignal(IntEnum):
    """The events that change a circuit."""

    SUCCESS = 0  # of any attempt, even of one that began before the circuit opened
    FAILURE = 1  # of an attempt that is no probe
    LAST_STRAW = 2  # the failure that opens the circuit
    PROBE = 3
    PROBE_FAILURE = 4
    PROBE_VOID = 5  # the probe ended in a failure that is not the destination's, or was not sent
    REPAIR = 6  # the URL was changed or the destination enabled: probe at once


_C, _O, _H = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.HALF_OPEN
_S = CircuitSignal
TRANSITIONS: dict[tuple[CircuitState, CircuitSignal], CircuitState | None] = {
    (_C, _S.SUCCESS): _C,
    (_C, _S.FAILURE): _C,
    (_C, _S.LAST_STRAW): _O,
    (_C, _S.PROBE): None,  # None: cannot happen
    (_C, _S.PROBE_FAILURE): None,  # whatever closes the circuit ends the probe
    (_C, _S.PROBE_VOID): None,
    (_C, _S.REPAIR): _C,
    (_O, _S.SUCCESS): _C,
    (_O, _S.FAILURE): _O,
    (_O, _S.LAST_STRAW): None,  # this signal is only sent while closed
    (_O, _S.PROBE): _H,
    (_O, _S.PROBE_FAILURE): None,
    (_O, _S.PROBE_VOID): None,
    (_O, _S.REPAIR): _O,
    (_H, _S.SUCCESS): _C,
    (_H, _S.FAILURE): _H,
    (_H, _S.LAST_STRAW): None,
    (_H, _S.PROBE): None,  # one probe at a time
    (_H, _S.PROBE_FAILURE): _O,
    (_H, _S.PROBE_VOID): _O,
    (_H, _S.REPAIR): _H,
}


class Circuit:
    """Owner of a destination's circuit. Instants are seconds since the epoch."""

    __slots__ = (
        "failures", "next_probe_at", "opened_at", "probe", "quiet", "state", "suspects", "tries",
    )  # fmt: skip

    def __init__(self) -> None:
        self.state = CircuitState.CLOSED
        self.failures = 0
        self.suspects: Ids = {}  # deliveries of these failures, at most DELIVERIES_TO_OPEN
        self.opened_at: float | None = None
        self.next_probe_at: float | None = None  # only while OPEN
        self.probe: str | None = None  # only while HALF_OPEN
        self.tries = 0  # failed probes since the circuit opened
        # True if only deliveries of Angarium's own events failed since the last success. Such a circuit
        # opens without an announcement, because the announcement would be one more of these events.
        self.quiet = True

    def succeeded(self) -> bool:
        """Count a success. Returns whether the state changed."""
        self.failures = 0
        self.quiet = True
        if self.suspects:
            self.suspects = {}
        return self.state is not CircuitState.CLOSED and self._signal(CircuitSignal.SUCCESS, 0.0)

    def sent_nothing(self, delivery: str, now: float) -> bool:
        """Note an attempt that sent nothing. Returns whether the circuit's state changed."""
        return delivery == self.probe and self._signal(CircuitSignal.PROBE_VOID, now)

    def failed(
        self, delivery: str, category: ErrorCategory | None, now: float, *, own: bool = False
    ) -> bool:
        """Count a failure. `own`: the delivery carries one of Angarium's own events. Returns whether the
        circuit's state changed."""
        counts = category not in NOT_THE_DESTINATIONS
        if counts and not own:
            self.quiet = False
        if delivery == self.probe:
            signal = CircuitSignal.PROBE_FAILURE if counts else CircuitSignal.PROBE_VOID
            return self._signal(signal, now)
        if not counts:
            return False
        self.failures += 1
        if len(self.suspects) < DELIVERIES_TO_OPEN:
            self.suspects[delivery] = None
        full = self.failures >= FAILURES_TO_OPEN and len(self.suspects) >= DELIVERIES_TO_OPEN
        last_straw = full and self.state is CircuitState.CLOSED
        return self._signal(CircuitSignal.LAST_STRAW if last_straw else CircuitSignal.FAILURE, now)

    def may_probe(self, now: float) -> bool:
        """Return whether the next eligible delivery can go as a probe."""
        return self.next_probe_at is not None and self.next_probe_at <= now

    def probed(self, delivery: str, now: float) -> None:
        """Make the open circuit half-open: `delivery` is sent as its probe."""
        self._signal(CircuitSignal.PROBE, now)
        self.probe = delivery

    def repaired(self, now: float) -> None:
        """Note that an operator has changed the destination's URL, or enabled or resumed the
        destination."""
        self.tries = 0
        self._signal(CircuitSignal.REPAIR, now)
        if self.state is CircuitState.OPEN:
            self.next_probe_at = now

    def reopen(
        self, opened_at: float, next_probe_at: float, tries: int, now: float, *, quiet: bool = False
    ) -> None:
        """Restore an open circuit from a snapshot. If the clock was set back after the snapshot, the
        instants in it can lie far in the future. Therefore, an `opened_at` after `now` becomes `now`, and
        the next probe comes after LONGEST_PROBE_S at the latest."""
        self.quiet = quiet
        self.state = CircuitState.OPEN
        self.opened_at = min(opened_at, now)
        self.tries = tries
        self.next_probe_at = min(next_probe_at, now + LONGEST_PROBE_S)

    def clock_stepped(self, by_s: float) -> None:
        """Keep the remaining time of each wait."""
        self.opened_at = None if self.opened_at is None else self.opened_at + by_s
        self.next_probe_at = None if self.next_probe_at is None else self.next_probe_at + by_s

    def _signal(self, signal: CircuitSignal, now: float) -> bool:
        before = self.state
        after = TRANSITIONS[before, signal]
        if after is None:
            raise AssertionError(f"a {before.name} circuit cannot hear {signal.name}")
        if after is before:
            return False
        self.state = after
        self.probe = None
        self.next_probe_at = None
        if after is CircuitState.CLOSED:
            self.opened_at = None
            self.tries = 0
        elif after is CircuitState.OPEN:
            if before is CircuitState.CLOSED:
                self.opened_at = now
            if signal is CircuitSignal.PROBE_FAILURE:
                self.tries += 1
            void = signal is CircuitSignal.PROBE_VOID
            self.next_probe_at = now if void else now + probe_delay_s(self.tries)
        return True


def probe_delay_s(tries: int) -> float:
    """Return the wait before the next probe: 1, 2, 4 ... 60 s."""
    return min(LONGEST_PROBE_S, FIRST_PROBE_S * (1 << min(tries, 6)))
