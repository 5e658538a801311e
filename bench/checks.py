"""What must be true of every run, judged from the sender's and the receiver's logs alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable


class Broken(Exception):  # noqa: N818 - the verdict of a run, not an error of the bench
    """The service did not keep a promise during the run."""


def require(truth: bool, otherwise: str) -> None:
    """Raise `Broken` unless it is true."""
    if not truth:
        raise Broken(otherwise)


def disorder(log: Iterable[tuple[str, int, float]], lane_of: Callable[[int], int]) -> int:
    """Count first arrivals that come after a later number of their path and lane."""
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
