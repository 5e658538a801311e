"""Holds: nothing is sent to a disabled or archived destination. After a 410, nothing is sent until a
caller has enabled or moved the destination. Attempts that are under way continue."""

from collections.abc import Iterator

from tests.sim.oracle.sight import NETWORK_S, Sending, Sight
from tests.sim.trace import Configured


def judge(sight: Sight) -> Iterator[str]:
    for destination, sendings in sight.of_destination.items():
        if destination not in sight.destinations:
            continue
        refusals = sorted((each for each in sendings if each.gone and each.heard), key=_end)
        for sending in sendings:
            versions = sight.at_sending(sending)
            if versions and all(fact.status != "ACTIVE" for fact in versions):
                yield (
                    f"delivery {sending.arrived.delivery} was sent to {destination}, "
                    f"which is {versions[-1].status}"
                )
            for met in refusals:
                if met.end >= sending.at:
                    break
                if _still(sight, destination, met, sending):
                    yield (
                        f"delivery {sending.arrived.delivery} was sent to {destination} "
                        f"{sending.at - met.end:.3f} s after a 410"
                    )


def _end(sending: Sending) -> float:
    return sending.end


def _still(sight: Sight, destination: str, met: Sending, sending: Sending) -> bool:
    if sending.arrived.process != met.arrived.process or sending.at <= met.end + 2 * NETWORK_S:
        return False
    facts = [version.fact for version in sight.destinations[destination]]
    return not any(
        isinstance(fact, Configured) and met.end - NETWORK_S <= fact.at <= sending.at
        for fact in facts
    )
