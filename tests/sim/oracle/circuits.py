"""The circuit: it opens after ten failures in a row, of at least five deliveries. An open circuit lets
only one probe at a time pass. The waits between the probes are 1, 2, 4 ... 60 s. A probe that succeeds
closes the circuit.

The oracle judges a series of failures only if all its failures were those of one process, because only
then the circuit has surely opened. A series ends if the actor may have lost its count of failures: at a
change of the configuration, at a crash, or after a long pause.
"""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from tests.sim.oracle.lives import asked_for
from tests.sim.oracle.sight import NETWORK_S, SOON_S, Sending, Sight

FAILURES = 10
DELIVERIES = 5
FIRST_PROBE_S = 1.0
LONGEST_PROBE_S = 60.0
# In a long pause between two failures, an actor may have left memory and lost its count of failures. A
# pause is long if it is longer than LONGEST_REST_S. It is also long if it is longer than the time after
# which idle actors leave memory, multiplied by REST_PART.
LONGEST_REST_S = 1.5
REST_PART = 0.75


class Row(Struct):
    """A series of failures."""

    failures: int = 0
    deliveries: set[str] = set()
    last_at: float = 0.0
    opened_at: float | None = None
    probes: int = 0
    probe_failed_at: float = 0.0
    probing_until: float = 0.0


def judge(sight: Sight) -> Iterator[str]:
    for destination, sendings in sight.of_destination.items():
        if destination not in sight.destinations or len(sendings) < FAILURES:
            continue
        if any(asked_for(sight, each.arrived.delivery) for each in sendings):
            continue  # a delivery that a caller asked for passes an open circuit
        ordered = sorted(sendings, key=lambda each: (each.arrived.process, each.index))
        for _, mine in groupby(ordered, key=lambda each: each.arrived.process):
            yield from _process(sight, destination, list(mine))


def _process(sight: Sight, destination: str, sendings: list[Sending]) -> Iterator[str]:
    steps = [(each.at, each.index, True, each) for each in sendings]
    steps += [(each.end, each.index, False, each) for each in sendings if each.replied]
    row = Row()
    rest_s = min(LONGEST_REST_S, REST_PART * sight.history.leaves_after_s)
    restarts = [fault.at for fault in sight.faults if fault.kind == "crash"]
    before = 0.0
    for at, _, begins, sending in sorted(steps, key=lambda step: step[:3]):
        # If an actor crashes during an attempt, the next actor does not count this attempt's failure.
        since = before if begins else min(before, sending.at - NETWORK_S)
        disturbed = any(since <= restart <= at for restart in restarts)
        if disturbed or sight.changed(destination, before, at):
            row = Row()
        before = at
        if not begins:
            if not disturbed:
                _ended(row, sending, rest_s)
        elif row.opened_at is not None:
            yield from _sent(destination, row, sending)


def _ended(row: Row, sending: Sending, rest_s: float) -> None:
    if sending.good or not sending.heard:
        row.failures, row.deliveries, row.opened_at, row.probes = 0, set(), None, 0
        return
    if row.opened_at is not None:
        if sending.at > row.opened_at + 2 * NETWORK_S:
            row.probes += 1
            row.probe_failed_at = sending.end
        return
    if sending.end > row.last_at + rest_s:
        row.failures, row.deliveries = 0, set()
    row.last_at = sending.end
    row.failures += 1
    row.deliveries.add(sending.arrived.delivery)
    if row.failures >= FAILURES and len(row.deliveries) >= DELIVERIES:
        row.opened_at, row.probes, row.probe_failed_at = sending.end, 0, sending.end


def _sent(destination: str, row: Row, sending: Sending) -> Iterator[str]:
    assert row.opened_at is not None
    if sending.at <= row.opened_at + 2 * NETWORK_S:
        return
    if sending.at < row.probing_until - SOON_S:
        yield (
            f"delivery {sending.arrived.delivery} was sent to {destination}, while another probed "
            f"its open circuit"
        )
    row.probing_until = sending.end if sending.heard else 0.0
    # The first request that fails after the opening is perhaps no probe: it may have begun before the
    # circuit opened. So the expected wait doubles only from the second failure on.
    tries = max(0, row.probes - 1)
    least = min(LONGEST_PROBE_S, FIRST_PROBE_S * 2.0**tries) if row.probes else 0.0
    passed = sending.at - row.probe_failed_at
    if passed < least - SOON_S:
        yield (
            f"delivery {sending.arrived.delivery} was sent to {destination} {passed:.3f} s after "
            f"probe {row.probes} of its open circuit failed"
        )
