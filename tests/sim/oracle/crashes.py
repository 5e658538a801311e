"""What the crashes of a destination's actor excuse, and nothing else may: an outcome is judged late, and
what an actor crashed over again and again is given up as it is."""

from math import inf

from tests.sim.oracle.sight import NETWORK_S, SOON_S, Sending, Sight

PAUSE_S = 30.0  # a crash loop is slowed down to so much between two successors
CONDEMNED_AFTER = 3  # crashes


def judged_until(sight: Sight, sending: Sending) -> float:
    """Return until when an outcome may have been judged. One that a crash left over waits for a
    successor, and that one for all that was under way; its beginning may be the next crash."""
    until = sending.end
    for crash in _of(sight, sending.arrived.destination):
        if sending.at - NETWORK_S <= crash <= until + SOON_S:
            under_way = [
                each.end
                for each in sight.of_destination[sending.arrived.destination]
                if each.arrived.process == sending.arrived.process
                and each.at <= crash + NETWORK_S
                and crash <= each.end < inf
            ]
            until = max(until, crash + PAUSE_S, *under_way)
    return until


def condemned(sight: Sight, sending: Sending, until: float) -> bool:
    """Whether a delivery may have been quarantined between a sending and an instant: what came of that
    attempt, over which its actor may have crashed, is then recorded by nobody, and out of the dead-letter
    queue it has the same number again."""
    crashes = [at for at in _of(sight, sending.arrived.destination) if at <= until]
    after = [at for at in crashes if at >= sending.at - NETWORK_S]
    return bool(after) and len(crashes) >= CONDEMNED_AFTER


def _of(sight: Sight, destination: str) -> list[float]:
    return [
        fault.at for fault in sight.faults if fault.kind == "crash" and fault.detail == destination
    ]
