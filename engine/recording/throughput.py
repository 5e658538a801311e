"""The throughput of each environment in each of the last 60 seconds, in memory: accepted events,
delivered deliveries and attempts."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from engine.core.records import Event, Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, Origin

WINDOW_S: Final = 60
LOOKS: Final = 21  # looks that a `ProcessRates` keeps: one at each heartbeat, for 10 s
OWN = Origin.OWN
INSPECTION = DeliveryOrigin.INSPECTION
DELIVERED = DeliveryStatus.DELIVERED


class Traffic(Struct):
    """Counts of a time span. `accepted` counts events, `delivered` counts deliveries, and `failed` and
    `attempts` count attempts."""

    accepted: int = 0
    delivered: int = 0
    failed: int = 0
    attempts: int = 0

    def add(self, other: "Traffic") -> None:
        self.accepted += other.accepted
        self.delivered += other.delivered
        self.failed += other.failed
        self.attempts += other.attempts


def counts_of(settlements: Iterable[Settlement]) -> dict[int, Traffic]:
    """Return the counts of a group of outcomes for each environment. `engine.core.minutes` counts by the
    same rules."""
    by_environment: dict[int, Traffic] = {}
    for settlement in settlements:
        delivery = settlement.delivery
        if delivery.origin is INSPECTION:
            continue
        environment = delivery.event.environment
        counts = by_environment.get(environment)
        if counts is None:
            counts = by_environment[environment] = Traffic()
        if settlement.status is DELIVERED:
            counts.delivered += 1
        attempt = settlement.attempt
        if attempt is not None:
            counts.attempts += 1
            if attempt.outcome.category is not None:
                counts.failed += 1
    return by_environment


class Point(Struct, frozen=True):
    """The counts of one second. `at` is in Unix time."""

    at: int
    counts: Traffic


class Throughput:
    """Owner of the counts, in the trio thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seconds: deque[tuple[int, dict[int, Traffic]]] = deque()  # the latest last
        self.totals: dict[int, Traffic] = {}  # since the start
        self.sum = Traffic()

    def accepted(self, events: Iterable[Event], lost: Mapping[str, object]) -> None:
        """Count the events of a durable group, except Angarium's own events and the events in `lost`. A
        lost event was not written, because another event has its idempotency key."""
        sent = [event for event in events if event.origin is not OWN]
        if lost:
            sent = [event for event in sent if event.id not in lost]
        counts = Counter([event.environment for event in sent])
        present = self._present()
        for environment, number in counts.items():
            self._of(present, environment).accepted += number
            self._of(self.totals, environment).accepted += number
            self.sum.accepted += number

    def settled(self, counts: Mapping[int, Traffic]) -> None:
        """Add the counts of a durable group of outcomes, by environment."""
        present = self._present()
        for environment, each in counts.items():
            self._of(present, environment).add(each)
            self._of(self.totals, environment).add(each)
            self.sum.add(each)

    def last(self, environment: int) -> tuple[Traffic, list[Point]]:
        """Return the sums over the last 60 seconds, and the counts of each of these seconds. The last of
        the seconds is the present second."""
        now = int(self._now())
        known = {
            second: counts
            for second, by_environment in self._seconds
            if (counts := by_environment.get(environment)) is not None
        }
        series = [
            Point(at, known.get(at) or Traffic()) for at in range(now - WINDOW_S + 1, now + 1)
        ]
        total = Traffic()
        for point in series:
            total.add(point.counts)
        return total, series

    def _present(self) -> dict[int, Traffic]:
        now = int(self._now())
        seconds = self._seconds
        if seconds and seconds[-1][0] > now:  # the clock was set back
            seconds.clear()
        if not seconds or seconds[-1][0] != now:
            while seconds and seconds[0][0] <= now - WINDOW_S:
                seconds.popleft()
            seconds.append((now, {}))
        return seconds[-1][1]

    @staticmethod
    def _of(present: dict[int, Traffic], environment: int) -> Traffic:
        counts = present.get(environment)
        if counts is None:
            counts = present[environment] = Traffic()
        return counts


class ProcessRates:
    """The rates of a process: accepted events a second, and delivered deliveries a second. Both rates are
    averages over the time of the last `LOOKS` calls of `look`."""

    def __init__(self, throughput: Throughput, now: Callable[[], float]) -> None:
        """`now` is on a monotonic clock, in seconds."""
        self._throughput = throughput
        self._now = now
        self._looks: deque[tuple[float, int, int]] = deque(maxlen=LOOKS)

    def look(self) -> tuple[float, float]:
        """Take a look: keep the present sums of accepted events and delivered deliveries. Return both
        rates, in events and deliveries a second, since the oldest look that is kept."""
        total = self._throughput.sum
        self._looks.append((self._now(), total.accepted, total.delivered))
        (since, accepted, delivered), (now, *_) = self._looks[0], self._looks[-1]
        passed_s = now - since
        if not passed_s:
            return 0.0, 0.0
        return (total.accepted - accepted) / passed_s, (total.delivered - delivered) / passed_s
