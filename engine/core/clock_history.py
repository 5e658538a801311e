"""The steps of the wall clock since this process began. When a snapshot is read, its instants are shifted
by the steps that came after the snapshot."""

import math
from typing import NamedTuple

MOST_ERAS = 64  # if there are more, the first two are merged


class _Era(NamedTuple):
    first: float
    last: float
    stepped_s: float


class ClockHistory:
    """When the wall clock was set, and by how many seconds. Instants are seconds since the epoch."""

    def __init__(self) -> None:
        self._eras: list[_Era] = []
        self._first = -math.inf
        self.total_s = 0.0

    def add(self, by_s: float, now: float) -> None:
        self._eras.append(_Era(self._first, now - by_s, self.total_s))
        self._first, self.total_s = now, self.total_s + by_s
        if len(self._eras) > MOST_ERAS:
            one, two = self._eras[:2]
            both = _Era(one.first, max(one.last, two.last), min(one.stepped_s, two.stepped_s))
            self._eras[:2] = [both]

    def since(self, taken_at: float, now: float) -> float:
        """Return the sum, in seconds, of the clock's steps since the instant `taken_at`.

        A clock that is set back shows some instants twice: before and after the step. If `taken_at` is
        such an instant, the time after the step is assumed. A failure then never seems longer than it
        was.
        """
        eras = [*self._eras, _Era(self._first, now, self.total_s)]
        found = [each for each in eras if each.first <= taken_at <= each.last]
        return max((self.total_s - each.stepped_s for each in found), default=0.0)

    def __bool__(self) -> bool:
        return bool(self._eras)
