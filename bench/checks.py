"""The promises that every run checks, from the sender's and the receiver's records."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any


class Broken(Exception):  # noqa: N818 - the verdict of a run, not an error of the bench
    """The service did not keep a promise during the run."""


def require(truth: bool, otherwise: str) -> None:
    """Raise `Broken` with `otherwise` unless `truth`."""
    if not truth:
        raise Broken(otherwise)


def whole(
    sent: Mapping[str, Any],
    stats: Mapping[str, Any],
    fanout: int = 1,
    *,
    repeats: bool = False,
    disorder: int = 0,
) -> None:
    """Raise `Broken` if an accepted event did not arrive exactly once at each of `fanout` paths, or if an
    event arrived that was not posted.

    `repeats`: events may arrive twice, because a kill or a timeout ended attempts. `disorder`: the number
    of events that arrived out of order; it must be 0.
    """
    accepted, arrived = sent["accepted"] * fanout, stats["unique"]
    unknown = sent.get("doubtful", 0) * fanout  # posted without an answer: perhaps accepted
    require(
        arrived >= accepted,
        f"{accepted - arrived} lost of {accepted} deliveries: {sent['answers']}",
    )
    require(
        arrived <= accepted + unknown,
        f"{arrived - accepted} deliveries beyond {accepted} that were accepted, {unknown} doubtful",
    )
    require(repeats or stats["duplicates"] == 0, f"{stats['duplicates']} duplicates")
    require(disorder == 0, f"{disorder} out of order")


def disorder(log: Iterable[tuple[str, int, float]], lane_of: Callable[[int], int]) -> int:
    """Count the events that arrived too late: a newer event of the same path and lane arrived before the
    event's first arrival."""
    highest: dict[tuple[str, int], int] = defaultdict(lambda: -1)
    seen: set[tuple[str, int]] = set()
    wrong = 0
    for path, number, _ in log:
        if (path, number) in seen:
            continue
        seen.add((path, number))
        lane = (path, lane_of(number))
        wrong += number < highest[lane]
        highest[lane] = max(highest[lane], number)
    return wrong
