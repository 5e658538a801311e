"""The locks of two intakes on environments: neither writes for an environment that the other holds.

Two statements that draw seqs for the same destination must not overlap. A destination belongs to one
environment, so a lock on the environment prevents such an overlap.
"""

from collections.abc import Callable, Collection, Iterable

NO_ENVIRONMENTS: frozenset[int] = frozenset()


class EnvironmentLocks:
    """The environments that an intake holds, and the environments that it waits for. There are two
    intakes: the small intake writes small groups, the large intake writes large batches.

    An environment that an intake waits for is barred for the other intake. Otherwise the large intake
    could take an environment's batches without a break, and the small intake would never write the
    environment's single events.
    """

    def __init__(
        self, wake: Callable[[], None], refuse: Callable[[Collection[int]], None] | None = None
    ) -> None:
        """`wake` makes this intake's loop look for work again. `refuse(environments)` refuses the
        submissions that wait in this intake for these environments. While the database is away, the other
        of the two intakes calls it, for the environments that the other intake holds: this intake cannot
        write for these environments."""
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
        """Note which environments this intake waits for: those that the other intake holds, and for which
        this intake has work. `waits` says whether this intake has work for an environment."""
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
        """While the database is away, make the other intake refuse its waiting submissions for the
        environments that this intake holds. The other intake cannot begin to write these submissions
        while this intake holds the environments."""
        other = self._other
        if self._held and other is not None and other._refuse is not None:
            other._refuse(self._held)

    def fall_asleep(self) -> None:
        """Note that this intake's loop is about to sleep. If an environment is barred for this intake now
        (see `barred`), the loop wakes as soon as the other of the two intakes releases environments, or
        stops waiting for one."""
        self._asleep = bool(self.barred)

    def _rouse(self) -> None:
        if self._asleep:
            self._asleep = False
            self._wake()
