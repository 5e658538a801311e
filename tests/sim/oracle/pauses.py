"""A Retry-After on 429 and 503 holds the whole destination: no attempt begins before the pause has
passed.

The pause is capped at the longest delay of the schedule, or at 60 s if the schedule has no delays.

Only requests of the process that got the Retry-After are judged, because other processes may not know of
the pause. Requests after a change of the configuration are not judged, because the change can shorten the
pause.
"""

from bisect import bisect_right
from collections.abc import Iterator

from tests.sim.oracle.lives import asked_for, may_be_between
from tests.sim.oracle.sight import NETWORK_S, SOON_S, Sending, Sight

CAP_S = 60.0


def judge(sight: Sight) -> Iterator[str]:
    for destination, sendings in sight.of_destination.items():
        asking = [each for each in sendings if _asks(each)]
        if not asking:
            continue
        ordered = sorted(sendings, key=lambda each: each.at)
        starts = [each.at for each in ordered]
        for ask in asking:
            until = ask.end + _pause_s(sight, destination, ask)
            first = bisect_right(starts, ask.end + 2 * NETWORK_S)
            for sending in ordered[first:]:
                if sending.at >= until - SOON_S:
                    break
                same = sending.arrived.process == ask.arrived.process
                asked = asked_for(sight, sending.arrived.delivery)
                if may_be_between(asked, ask.at, sending.at):
                    continue
                if same and not sight.changed(destination, ask.end, sending.at):
                    yield (
                        f"delivery {sending.arrived.delivery} was sent to {destination} "
                        f"{until - sending.at:.3f} s before its Retry-After had passed"
                    )


def _asks(sending: Sending) -> bool:
    replied = sending.replied
    if replied is None or not replied.judged or replied.retry_after_s is None:
        return False
    return replied.status in (429, 503)


def _pause_s(sight: Sight, destination: str, ask: Sending) -> float:
    assert ask.replied is not None
    asked = ask.replied.retry_after_s or 0.0
    versions = sight.in_force(destination, ask.arrived.process, ask.end, ask.end + NETWORK_S)
    caps = [max(fact.schedule_s, default=0) or CAP_S for fact in versions]
    return min([asked, *caps])
