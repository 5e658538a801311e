"""The feed: the windows through which people watch the outcomes of an environment live."""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryOrigin

KEPT = 50  # the most outcomes that a window keeps between two looks


class Look(Struct, frozen=True):
    """The outcomes since the previous look.

    - `outcomes`: the first outcomes, at most `KEPT`.
    - `omitted`: the number of outcomes after the first `KEPT`.
    - `dead`: the number of dead letters of each destination.
    """

    outcomes: list[Settlement]
    omitted: int
    dead: Counter[str]


class OutcomeWindow:
    """A window on the outcomes that pass a filter. While `keeps` is False, the window keeps no outcomes,
    and only counts dead letters."""

    def __init__(self, environment: int, passes: Callable[[Delivery], bool] | None) -> None:
        self.environment = environment
        self.keeps = True
        self._passes = passes
        self._outcomes: list[Settlement] = []
        self._omitted = 0
        self._dead: Counter[str] = Counter()

    def add(self, settlement: Settlement) -> None:
        delivery = settlement.delivery
        if self._passes is not None and not self._passes(delivery):
            return
        if settlement.dead_lettered:
            self._dead[delivery.destination] += 1
        if not self.keeps:
            return
        if len(self._outcomes) < KEPT:
            self._outcomes.append(settlement)
        else:
            self._omitted += 1

    def look(self) -> Look:
        look = Look(self._outcomes, self._omitted, self._dead)
        self._outcomes, self._omitted, self._dead = [], 0, Counter()
        return look


class Feed:
    """The open windows. Only the trio thread uses them."""

    def __init__(self) -> None:
        self._windows: dict[int, list[OutcomeWindow]] = {}

    @property
    def followed(self) -> bool:
        return bool(self._windows)

    def open(
        self, environment: int, passes: Callable[[Delivery], bool] | None = None
    ) -> OutcomeWindow:
        """Open a window on an environment's outcomes. The window shows the outcomes of deliveries for
        which `passes` returns True. Without `passes`, the window shows all outcomes."""
        window = OutcomeWindow(environment, passes)
        self._windows.setdefault(environment, []).append(window)
        return window

    def close(self, window: OutcomeWindow) -> None:
        windows = self._windows[window.environment]
        windows.remove(window)
        if not windows:
            del self._windows[window.environment]

    def settled(self, settlements: Sequence[Settlement]) -> None:
        """Add a durable group of outcomes to the windows."""
        if not self._windows:
            return
        if not any(window.keeps for windows in self._windows.values() for window in windows):
            settlements = [each for each in settlements if each.dead_lettered]
        for settlement in settlements:
            delivery = settlement.delivery
            if delivery.origin is not DeliveryOrigin.INSPECTION:
                for window in self._windows.get(delivery.event.environment, ()):
                    window.add(settlement)
