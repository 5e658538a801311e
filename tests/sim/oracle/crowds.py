"""Concurrency and rate: a destination has no more requests in flight than its concurrency allows, and
gets no more requests in a second than its rate allows."""

from collections.abc import Iterator
from itertools import groupby

from tests.sim.oracle.sight import NETWORK_S, Sending, Sight

ROUNDING = 1e-3  # tolerance, as a part of a request


def judge(sight: Sight) -> Iterator[str]:
    for destination, sendings in sight.of_destination.items():
        if destination not in sight.destinations:
            continue
        ordered = sorted(sendings, key=lambda each: (each.arrived.process, each.index))
        for process, mine in groupby(ordered, key=lambda each: each.arrived.process):
            own = list(mine)
            yield from _crowd(sight, destination, process, own)
            yield from _rate(sight, destination, process, own)


def _crowd(sight: Sight, destination: str, process: int, sendings: list[Sending]) -> Iterator[str]:
    """A request counts while it waits for its token or its answer."""
    open_until: list[float] = []
    for sending in sorted(sendings, key=lambda each: each.at):
        open_until = [end for end in open_until if end > sending.at]
        if sending.heard:
            open_until.append(sending.end)
        facts = sight.in_force(destination, process, sending.at - NETWORK_S, sending.at)
        # Requests that began under an earlier version of the destination can still be in flight. So the
        # concurrency of the earlier version is allowed too.
        longest = max((each.end for each in sendings if each.heard), default=sending.at)
        older = sight.in_force(
            destination, process, min(_began(sendings, sending), longest), sending.at
        )
        most = max((fact.concurrency for fact in (*facts, *older)), default=0)
        if any(fact.ordering == "STRICT" for fact in facts) and all(
            fact.ordering == "STRICT" for fact in (*facts, *older)
        ):
            most = 1
        if len(open_until) > most:
            yield f"{len(open_until)} requests were in flight at {destination}, which allows {most}"


def _began(sendings: list[Sending], now: Sending) -> float:
    return min(each.at for each in sendings if each.at <= now.at and each.end >= now.at)


def _rate(sight: Sight, destination: str, process: int, sendings: list[Sending]) -> Iterator[str]:
    """Judge the rate with a token bucket. The service's bucket holds the requests of one second. But the
    network can let requests arrive closer together than they were sent, up to `NETWORK_S`. So this bucket
    holds the requests of 1 s + `NETWORK_S`."""
    first = sight.destinations[destination][0].fact
    facts = [version.fact for version in sight.destinations[destination]]
    rates = {getattr(fact, "rate_per_second", None) for fact in facts}
    if len(rates) != 1 or None in rates:
        return  # a change of the rate is not judged
    rate = getattr(first, "rate_per_second", None)
    assert rate is not None
    burst = max(1.0, rate)
    tokens, last = burst + rate * NETWORK_S, 0.0
    for sending in sorted(sendings, key=lambda each: each.at):
        tokens = min(burst + rate * NETWORK_S, tokens + (sending.at - last) * rate) - 1
        last = sending.at
        if tokens < -ROUNDING:
            yield f"{destination} got more than {rate} a second from process {process}"
            tokens = 0.0
