"""One piece of work, measured: events are posted, what is due arrives and is recorded, CPU is read.

Nothing is asked of the server meanwhile: that it has recorded everything is seen by its CPU, which rests,
and asked for only after the last look at the clock.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from bench.checks import Broken
from bench.posting import load
from bench.results import Measurement
from bench.service import Figures, Receiver, Service, call
from bench.timeline import Timeline

LOOK_S = 0.05
# A server rests when it and its database used no more than this for three looks: a tick of the clock
# each. What wakes them by itself (timers, leases, the background writer) takes milliseconds a second.
RESTING_S = 0.021
RESTING_LOOKS = 3
# The database has work of its own after a run, as autovacuum: that it is not waited for longer than this.
UPKEEP_S = 1.0
SETTLE_S = 60.0  # until all is recorded; what has failed meanwhile is not waited for at all
STILL_S = 60.0  # without any arrival: a circuit that has opened asks again within a minute


class Profile(Protocol):
    """What a profile says."""

    def into(self, measurement: Measurement) -> None:
        """Add it to what was measured."""


class Profiling(Protocol):
    """What a server that can be profiled has as its `profile`: see `bench.profiling`."""

    def begin(self) -> None:
        """Count from here."""

    def end(self, events: int) -> Profile:
        """Return what each of so many events cost since."""


@dataclass(frozen=True)
class Done:
    """What one piece of work came to."""

    sent: Figures
    stats: Figures
    server_s: float
    database_s: float
    rss_growth_mb: float
    profile: Profile | None

    @property
    def cpu_s(self) -> float:
        """CPU of the server and its database."""
        return self.server_s + self.database_s


def work(
    service: Service,
    receiver: Receiver,
    plan: Mapping[str, Any],
    due: Callable[[int], int],
    *,
    settled: Callable[[], bool] | None = None,
    timeline: Timeline | None = None,
    profiled: bool = False,
) -> Done:
    """Do a load generator's plan. `due`: how many arrivals are due of so many accepted events; `settled`:
    whether these are recorded, by default whether all are. `profiled`: whether a server that can be
    profiled is. Raises Broken when something is never recorded."""
    profile: Profiling | None = getattr(service, "profile", None) if profiled else None
    if profile is not None:
        profile.begin()
    memory = service.rss_mb()
    before = service.cpu_s()
    with _watched(timeline, service, receiver):
        sent = load(service, **plan)
        receiver.wait_for(due(sent["accepted"]), STILL_S)
        after = resting(service, settled or (lambda: recorded(service)))
    stats = receiver.stats()
    found = profile.end(sent["accepted"]) if profile is not None else None
    server_s, database_s = (now - then for now, then in zip(after, before, strict=True))
    if timeline is not None:
        timeline.ended(sent["accepted"], stats["received"], server_s, database_s)
    growth_mb = round(service.rss_mb() - memory, 1)
    return Done(sent, stats, server_s, database_s, growth_mb, found)


@contextmanager
def _watched(timeline: Timeline | None, service: Service, receiver: Receiver) -> Iterator[None]:
    if timeline is None:
        yield
    else:
        with timeline.watching(service, receiver):
            yield


def resting(service: Service, settled: Callable[[], bool]) -> tuple[float, float]:
    """Wait until a server rests and all is recorded; return its CPU and its database's at that time."""
    give_up = time.monotonic() + SETTLE_S
    while True:
        found = _rests(service, give_up)
        if settled():
            return found
        if time.monotonic() > give_up:
            raise Broken("deliveries stay unrecorded")


def _rests(service: Service, give_up: float) -> tuple[float, float]:
    looks: list[tuple[float, float]] = [service.cpu_s()]
    upkeep = time.monotonic() + UPKEEP_S
    while True:
        time.sleep(LOOK_S)
        looks.append(service.cpu_s())
        if len(looks) <= RESTING_LOOKS:
            continue
        then, now = looks[-1 - RESTING_LOOKS], looks[-1]
        patient = time.monotonic() < upkeep
        spent = now[0] - then[0] + (now[1] - then[1] if patient else 0.0)
        if spent <= RESTING_S or time.monotonic() > give_up:
            return then


def recorded(service: Service, key: str = "", destination: str = "") -> bool:
    """Return whether nothing is on its way any more: of a key's environment, or of one destination."""
    narrowed = f"&destinationId={destination}" if destination else ""
    return not any(
        call(
            "GET",
            f"{service.url}/deliveries?status={status}&limit=1{narrowed}",
            None,
            key or service.key,
        )["items"]
        for status in ("PENDING", "DELIVERING")
    )
