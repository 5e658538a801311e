"""The measurement of work: post events, wait until the events are delivered and the outcomes recorded,
and read the used CPU.

The server gets no other requests until it rests; see `bench.resting`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from bench.posting import load
from bench.resting import recorded, resting
from bench.results import Measurement
from bench.service import Figures, Receiver, Service
from bench.timeline import Timeline

STILL_S = 60.0  # an open circuit probes within a minute


class Profile(Protocol):
    """The result of a profile."""

    def into(self, measurement: Measurement) -> None:
        """Add the profile to the measurement."""


class Profiling(Protocol):
    """The interface of a profiler, which `bench.profiling` implements. A service that can be profiled has
    its profiler in the attribute `profile`."""

    def begin(self) -> None:
        """Begin to count."""

    def end(self, events: int) -> Profile:
        """Return the cost for each of `events` events since `begin`."""


@dataclass(frozen=True)
class Done:
    """The result of one piece of work."""

    sent: Figures
    stats: Figures
    server_s: float
    database_s: float
    rss_growth_mb: float
    profile: Profile | None

    @property
    def cpu_s(self) -> float:
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
    """Post the events of a plan with the load generator. Wait until the deliveries of these events have
    arrived, and until the outcomes of the deliveries are recorded.

    `due` takes the number of accepted events and returns the number of arrivals to expect. `settled`
    returns True once the outcomes are recorded. By default, this is once the environment of `service.key`
    has no unsettled delivery. Raises Broken if outcomes stay unrecorded.
    """
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
        timeline.ended(stats["received"], server_s, database_s)
    growth_mb = round(service.rss_mb() - memory, 1)
    return Done(sent, stats, server_s, database_s, growth_mb, found)


@contextmanager
def _watched(timeline: Timeline | None, service: Service, receiver: Receiver) -> Iterator[None]:
    if timeline is None:
        yield
    else:
        with timeline.watching(service, receiver):
            yield
