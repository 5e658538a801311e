"""What the oracle allows after an actor has crashed: an outcome can be judged late, and a delivery that
crashes its actor repeatedly can be quarantined."""

from math import inf

from tests.sim.oracle.sight import NETWORK_S, SOON_S, Sending, Sight

PAUSE_S = 30.0  # the longest pause between two successors in a crash loop
CONDEMNED_AFTER = 3  # crashes until a delivery is quarantined


def judged_until(sight: Sight, sending: Sending) -> float:
    """Return the latest instant at which an actor can have judged the outcome of `sending`. Without a
    crash, this is the end of `sending`.

    If the actor crashes between the start of `sending` and this instant, the next actor judges the
    outcome. The next actor begins up to PAUSE_S after the crash, and not before all attempts under way
    have ended, so the instant becomes later. A further crash before the new instant makes it later again.
    """
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
    """Return True if a delivery may have been quarantined between a request and the instant `until`.

    The attempt of this request is then never recorded, and its number is not used up. If a caller retries
    the delivery from the dead-letter queue, the next attempt has the same number.
    """
    crashes = [at for at in _of(sight, sending.arrived.destination) if at <= until]
    after = [at for at in crashes if at >= sending.at - NETWORK_S]
    return bool(after) and len(crashes) >= CONDEMNED_AFTER


def _of(sight: Sight, destination: str) -> list[float]:
    return [
        fault.at for fault in sight.faults if fault.kind == "crash" and fault.detail == destination
    ]
