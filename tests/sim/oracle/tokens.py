"""Tokens: a request to a destination with OAuth 2.0 has a valid token that its process has fetched from
the token endpoint. One fetch serves all attempts that wait for a token. After a failed fetch, there is a
pause before the next. If the receiver refuses a token, the same attempt goes on with a new token."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from tests.sim.oracle.sight import NETWORK_S, SOON_S, Fetch, Sight
from tests.sim.trace import Configured

UNAUTHORIZED = 401
PAUSE_S = 1.0  # after a failed fetch


def judge(sight: Sight) -> Iterator[str]:
    endpoints: dict[str, int] = {}
    for destination, versions in sight.destinations.items():
        for version in versions:
            fact = version.fact
            if isinstance(fact, Configured) and fact.endpoint is not None:
                endpoints[destination] = fact.endpoint
    given = {(each.process, each.token): each for each in sight.fetches if each.token}
    for sending in sight.sendings:
        arrived = sending.arrived
        if arrived.destination not in endpoints:
            continue
        fetch = given.get((arrived.process, arrived.token))
        name = f"sending {arrived.send} of delivery {arrived.delivery}"
        if fetch is None or fetch.endpoint != endpoints[arrived.destination]:
            yield f"{name} bore the token {arrived.token!r}, which its process was not given"
        elif arrived.at > fetch.end + fetch.life_s + NETWORK_S:
            late_s = arrived.at - fetch.end - fetch.life_s
            yield f"{name} bore a token {late_s:.3f} s after its end"
    yield from _refusals(sight)
    yield from _fetches(sight)


def _refusals(sight: Sight) -> Iterator[str]:
    heard = [each for each in sight.refusals if each.heard]
    attempts = {(each.process, each.delivery, each.number): each.token for each in heard}
    refused: dict[tuple[int, str], float] = {}
    for each in heard:
        refused.setdefault((each.process, each.token), each.at)
    for sending in sight.sendings:
        arrived = sending.arrived
        name = f"sending {arrived.send} of delivery {arrived.delivery}"
        again = attempts.get((arrived.process, arrived.delivery, arrived.number))
        known_at = refused.get((arrived.process, arrived.token), inf)
        if again == arrived.token or arrived.at > known_at + NETWORK_S:
            yield f"{name} bore a token that its receiver had refused"
    for delivery, rows in sight.attempts.items():
        for row in rows:
            if row.status == UNAUTHORIZED:
                yield f"attempt {row.number} of delivery {delivery} ended with a 401, without a new token"


def _fetches(sight: Sight) -> Iterator[str]:
    by_client: dict[tuple[int, int], list[Fetch]] = defaultdict(list)
    for fetch in sight.fetches:
        by_client[fetch.process, fetch.endpoint].append(fetch)
    for (process, endpoint), fetches in by_client.items():
        fetches.sort(key=lambda each: each.at)
        for before, after in pairwise(fetches):
            name = f"process {process} asked endpoint {endpoint}"
            if after.at < before.end - SOON_S:
                yield f"{name} while another fetch was under way"
            elif not before.token and after.at < before.end + PAUSE_S - SOON_S:
                yield f"{name} {after.at - before.end:.3f} s after a fetch that failed"
