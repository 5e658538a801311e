"""Which environments an intake has in hand: of two that write at once, each leaves the other's alone.

Statements that draw a seq may overlap only where no destination is of both; a destination is of one
environment. Nothing here awaits.
"""

from collections.abc import Callable, Collection, Iterable

NOTHING: frozenset[int] = frozenset()


class Hands:
    """What one intake has in hand, and what it is kept waiting for. Owner: its loop.

    Who was kept waiting comes next: else an environment that sends large batches without end would never
    have its single events written, or the other way round.
    """

    def __init__(
        self, wake: Callable[[], None], refuse: Callable[[Collection[int]], None] | None = None
    ) -> None:
        """`wake`: has the loop look again. `refuse`: gives back what waits of these environments, which
        the other intake has in hand and cannot let go."""
        self._wake = wake
        self._refuse = refuse
        self._other: Hands | None = None
        self._held = self._wanted = NOTHING
        self._asleep = False  # with something left that was barred

    def beside(self, other: "Hands") -> None:
        """Know the other intake, and let it know this one."""
        self._other, other._other = other, self

    @property
    def barred(self) -> frozenset[int]:
        """Whose work may not be begun now."""
        other = self._other
        return NOTHING if other is None else other._held | other._wanted

    def look(self, waits: Callable[[int], bool]) -> None:
        """Take note of what is kept waiting: of what the other has in hand, that which waits here."""
        other = self._other
        if other is None:
            return
        self._asleep = False
        wished = self._wanted | other._held
        wanted = frozenset(filter(waits, wished)) if wished else NOTHING
        given_up, self._wanted = self._wanted - wanted, wanted
        if given_up:
            other._rouse()

    def take(self, environments: Iterable[int]) -> None:
        """Take these in hand: none of them is barred."""
        if self._other is not None:
            self._held = frozenset(environments)
            self._wanted -= self._held

    def release(self) -> None:
        """Have nothing in hand any more."""
        if self._held:
            self._held = NOTHING
            if self._other is not None:
                self._other._rouse()

    def let_go(self) -> None:
        """Have nothing in hand, and want nothing: the loop broke, or ends."""
        self._held = self._wanted = NOTHING
        if self._other is not None:
            self._other._rouse()

    def stuck(self) -> None:
        """Have what is in hand for nobody knows how long: whoever waits for it is told so."""
        other = self._other
        if self._held and other is not None and other._refuse is not None:
            other._refuse(self._held)

    def rest(self) -> None:
        """Know that the loop is about to sleep: what is barred now is a reason to wake it."""
        self._asleep = bool(self.barred)

    def _rouse(self) -> None:
        if self._asleep:
            self._asleep = False
            self._wake()
