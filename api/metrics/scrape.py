"""A look at the server for one scrape: the values that several metrics share, read in short steps.

Labels are bounded: metrics name the first ENVIRONMENTS environments that had work, and the BUSIEST
destinations. All other environments are one, `others`.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from api.metrics.reading import OTHERS, Labels, Sample
from engine.core.health import CircuitState, HealthState
from engine.core.vocabulary import Environment
from engine.model.words import word
from engine.recording.measures import Measured
from engine.runtime.slices import in_slices, no_pause

if TYPE_CHECKING:
    from api.composition import Server

# Environments with labels of their own: with a dozen series each some 6,000 lines, 0.5 MB a scrape.
ENVIRONMENTS = 500
BUSIEST = 50  # destinations with labels of their own: more than a person looks at
AT_ONCE = 500  # destinations or environments between two checkpoints, about half a millisecond
NAME_CHARACTERS = 64  # of a destination's name in its label; the id is beside it


class Busy(Struct, frozen=True):
    """One of the destinations with the most work."""

    labels: Labels
    pending: int
    in_flight: int
    circuit: CircuitState
    state: HealthState


class Scrape:
    """A look at the server; see the module. Call `take` first."""

    def __init__(self, server: "Server", named: dict[int, Labels]) -> None:
        """`named`: the environments with labels of their own; the caller keeps them."""
        self.server = server
        self.measured = server.measures or Measured()
        self.pending: list[Sample] = []
        self.in_flight: list[Sample] = []
        self.busiest: list[Busy] = []
        self.pause: Callable[[], None] = no_pause  # of whoever reads samples in slices
        self._named = named

    async def take(self) -> None:
        """Look at all environments and their destinations."""
        directory = self.server.directory
        pending: Counter[Labels] = Counter()
        in_flight: Counter[Labels] = Counter()
        busy: list[tuple[int, str]] = []
        under_way = directory.attempts.by_environment()
        await trio.lowlevel.checkpoint()
        async for number in in_slices(list(self.server.models.environments), AT_ONCE):
            known, labels = directory.known(number), None
            while part := [(directory.work(each), each) for each in islice(known, AT_ONCE)]:
                labels = labels or self._labels(number)
                busy = heapq.nlargest(BUSIEST, [*busy, *part])
                await trio.lowlevel.checkpoint()
            if labels is not None:
                pending[labels] += directory.memory.waiting(number)
                in_flight[labels] += under_way[number]
        self.pending = list(pending.items())
        self.in_flight = list(in_flight.items())
        self.busiest = [found for work, each in busy if work and (found := self._busy(each))]

    def by_environment(self, values: Iterable[tuple[int, Labels, int]]) -> Iterable[Sample]:
        """Return counts of environments, each with more labels, by all of their labels."""
        found: Counter[Labels] = Counter()
        for index, (number, more, count) in enumerate(values, 1):
            found[*self._labels(number), *more] += count
            if index % AT_ONCE == 0:
                self.pause()
        return found.items()

    def _labels(self, number: int) -> Labels:
        labels = self._named.get(number)
        if labels is None:
            model = self.server.models.environments.get(number)
            if model is None or len(self._named) >= ENVIRONMENTS:
                return OTHERS, OTHERS
            labels = self._named[number] = model.workspace, word(Environment(model.name))
        return labels

    def _busy(self, destination: str) -> Busy | None:
        report = self.server.directory.health(destination)
        config = self.server.models.destinations.get(destination)
        if report.health is None or config is None:
            return None
        labels = destination, config.name[:NAME_CHARACTERS]
        health = report.health
        return Busy(labels, report.pending, report.in_flight, health.circuit, health.state)
