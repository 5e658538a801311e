"""The locks of two intakes on environments: neither writes for an environment that the other holds.

Statements that draw a seq can overlap only where they share no destination, and a destination belongs to
one environment.
"""

from collections.abc import Callable, Collection, Iterable

NO_ENVIRONMENTS: frozenset[int] = frozenset()


class EnvironmentLocks:
    """The environments that one of the two intakes holds or waits for (one writes small groups, the other
    large batches).

    An environment that an intake waits for is barred for the other intake. Otherwise an environment that
    sends large batches all the time would never have its single events written, and vice versa.
    """

    def __init__(
        self, wake: Callable[[], None], refuse: Callable[[Collection[int]], None] | None = None
    ) -> None:
        """`wake` makes this intake's loop look for work again. `refuse` gets environments that the other
        intake can hold for long, and refuses their submissions that wait in this intake."""
        self._wake = wake
        self._refuse = refuse
        self._other: EnvironmentLocks | None = None
        self._held = self._wanted = NO_ENVIRONMENTS
        self._asleep = False  # the loop sleeps, and some environment is barred

    def pair_with(self, other: "EnvironmentLocks") -> None:
        """Connect the locks of two intakes. The constructor cannot: each of the two needs the other."""
        self._other, other._other = other, self

    @property
    def barred(self) -> frozenset[int]:
        """The environments for which this intake must not begin to write now."""
        other = self._other
        return NO_ENVIRONMENTS if other is None else other._held | other._wanted

    def request(self, waits: Callable[[int], bool]) -> None:
        """Wait for the environments that the other intake holds and that have work in this intake
        (`waits`)."""
        other = self._other
        if other is None:
            return
        self._asleep = False
        wished = self._wanted | other._held
        wanted = frozenset(filter(waits, wished)) if wished else NO_ENVIRONMENTS
        given_up, self._wanted = self._wanted - wanted, wanted
        if given_up:
            other._rouse()

    def hold(self, environments: Iterable[int]) -> None:
        """Hold these environments, which must not be barred."""
        if self._other is not None:
            self._held = frozenset(environments)
            self._wanted -= self._held

    def release(self) -> None:
        if self._held:
            self._held = NO_ENVIRONMENTS
            if self._other is not None:
                self._other._rouse()

    def release_all(self) -> None:
        """Hold no environment and wait for none."""
        self._held = self._wanted = NO_ENVIRONMENTS
        if self._other is not None:
            self._other._rouse()

    def refuse_waiting(self) -> None:
        """Make the other intake refuse its submissions for the environments that this intake holds."""
        other = self._other
        if self._held and other is not None and other._refuse is not None:
            other._refuse(self._held)

    def fall_asleep(self) -> None:
        """Note that this intake's loop is about to sleep, so that a release of barred environments wakes
        it."""
        self._asleep = bool(self.barred)

    def _rouse(self) -> None:
        if self._asleep:
            self._asleep = False
            self._wake()
