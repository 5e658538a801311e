"""Patience: the service disables a destination if it has failed for `disableAfterSeconds`, or if it has
answered with 410. For no other reason does the service disable a destination by itself.

Only histories of one process without crashes are judged. After a crash, the next actor does not know of
failures that were not written. All times are those of the true clock. Histories set only the clocks of
processes.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import inf

from tests.sim.oracle.lives import asked_for
from tests.sim.oracle.sight import NETWORK_S, SOON_S, UNHEARD_S, Sending, Sight, Version
from tests.sim.trace import Configured

FAILURES = 10  # in a row, until a destination counts as failing
SURE_S = 1.0  # this long after an attempt's end, an actor has surely judged it


def judge(sight: Sight) -> Iterator[str]:
    crashes = any(fault.kind in ("crash", "break") for fault in sight.faults)
    if len(sight.processes) > 1 or crashes:
        return
    for destination, versions in sight.destinations.items():
        sendings = sight.of_destination.get(destination, [])
        ends = sorted((each for each in sendings if each.heard), key=lambda each: each.end)
        yield from _early(sight, destination, versions, ends)
        if not _set_back(sight):
            yield from _late(sight, destination, versions, ends)


def _set_back(sight: Sight) -> bool:
    """Return True if a process's clock was set back. To such a process, the time since the first failure
    seems too short. So the process may disable the destination late."""
    return any(
        after < before
        for number in sight.processes
        for before, after in pairwise(sight.ahead_s(number))
    )


def _early(
    sight: Sight, destination: str, versions: list[Version], ends: list[Sending]
) -> Iterator[str]:
    for before, after in pairwise(versions):
        old, new = before.fact, after.fact
        assert isinstance(old, Configured)
        assert isinstance(new, Configured)
        if (old.status, new.status) != ("ACTIVE", "DISABLED") or _asked(sight, new):
            continue
        heard = [each for each in ends if each.end <= new.at]
        if any(each.gone for each in heard):
            continue
        name = f"destination {destination} was disabled by itself"
        if old.disable_after_s is None:
            yield name
            continue
        since = [_enabled_at(versions, new.at), *(each.end for each in heard if each.good)]
        failed_s = new.at - max(since)
        if failed_s < old.disable_after_s - SOON_S:
            yield f"{name} after {failed_s:.3f} s of {old.disable_after_s}"


def _enabled_at(versions: list[Version], before: float) -> float:
    status, at = "", -inf
    for version in versions:
        fact = version.fact
        assert isinstance(fact, Configured)
        if fact.at < before and fact.status == "ACTIVE" != status:
            at = fact.at
        status = fact.status
    return at


def _asked(sight: Sight, version: Configured) -> bool:
    """A request without an answer can take effect later."""
    return any(
        wish.asked.kind == "patch"
        and wish.asked.of == version.destination
        and "DISABLED" in wish.asked.wanted
        and wish.asked.at <= version.at
        and version.at <= (wish.end if wish.answer == "done" else wish.asked.at + UNHEARD_S)
        for wish in sight.wishes
    )


def _late(
    sight: Sight, destination: str, versions: list[Version], ends: list[Sending]
) -> Iterator[str]:
    """Report requests to a destination that should have been disabled earlier. Failures before a success
    or before a change of the destination do not count."""
    for number, version in enumerate(versions):
        fact = version.fact
        assert isinstance(fact, Configured)
        patience_s = fact.disable_after_s
        if patience_s is None or fact.status != "ACTIVE":
            continue
        since = version.known_by(None)
        until = versions[number + 1].fact.at if number + 1 < len(versions) else inf
        over = _over(ends, since, until, patience_s)
        if over is None:
            continue
        for each in sight.of_destination[destination]:
            asked = asked_for(sight, each.arrived.delivery)
            if over + SURE_S + 2 * NETWORK_S < each.at < until and not asked:
                yield (
                    f"delivery {each.arrived.delivery} was sent to {destination} "
                    f"{each.at - over:.3f} s after it had failed for {patience_s} s"
                )


def _over(ends: list[Sending], since: float, until: float, patience_s: int) -> float | None:
    """Return the instant from which the destination has surely failed for `patience_s`, or None if there
    is no such instant. The instant is the end of a failed attempt. Only attempts between `since` and
    `until` count."""
    row: list[float] = []
    for each in ends:
        if each.at <= since or each.end >= until:
            continue
        row = [] if each.good else [*row, each.end]
        if len(row) > FAILURES and row[-1] >= row[FAILURES - 1] + patience_s + SURE_S:
            return each.end
    return None
