"""The state of the server for one scrape.

An environment gets labels of its own when it first has a value to report, and keeps these labels. At most
ENVIRONMENTS environments get labels of their own. All other environments share the label `others`.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from types import MappingProxyType

import trio
from msgspec import Struct

from api.metrics.reading import OTHERS, Labels, Sample
from api.metrics.server import MeasuredServer
from engine.core.health import CircuitState, HealthState
from engine.core.vocabulary import DestinationStatus, Environment
from engine.model.words import word
from engine.recording.measures import Measured
from engine.runtime.slices import in_slices, no_pause

# The limit on environments with labels of their own. Each environment adds a dozen lines to a scrape, so
# 500 environments add some 6,000 lines, or 0.5 MB.
ENVIRONMENTS = 500
BUSIEST = 50  # busiest destinations, which get labels: more than a person looks at
FAILING = 50  # destinations with the most failures in a row, which also get labels
AT_ONCE = 500  # destinations or environments between two checkpoints, about half a millisecond
NAME_CHARACTERS = 64  # of a destination's name in its label; the id is beside it
Ranked = tuple[int, str]  # a destination's work, and its id
Trouble = tuple[int, str, bool]  # its failures in a row, its id, and whether its circuit is open


class Labelled(Struct, frozen=True):
    """A destination with labels of its own."""

    labels: Labels
    pending: int
    in_flight: int
    circuit: CircuitState
    state: HealthState
    failures: int  # in a row


class Scrape:
    """The state of the server for one scrape. Call `take` first."""

    def __init__(
        self,
        server: MeasuredServer,
        named: dict[int, Labels],
        dead_letters: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """`named` has the environments that have labels of their own. Each scrape can add environments to
        `named`, so the caller must pass the same `named` to every scrape."""
        self.server = server
        self.measured = server.measures or Measured()
        self.pending: list[Sample] = []
        self.in_flight: list[Sample] = []
        self.open_circuits: list[Sample] = []
        self.destinations: list[Labelled] = []
        self.pause: Callable[[], None] = no_pause  # ends a slice
        self._named = named
        self._dead_letters = dead_letters

    async def take(self) -> None:
        directory = self.server.directory
        pending: Counter[Labels] = Counter()
        in_flight: Counter[Labels] = Counter()
        open_circuits: Counter[Labels] = Counter()
        busy: list[Ranked] = []
        failing: list[Trouble] = []
        under_way = directory.attempts.by_environment()
        await trio.lowlevel.checkpoint()
        async for number in in_slices(list(self.server.models.environments), AT_ONCE):
            known, opened, labels = directory.known(number), 0, None
            while part := [(directory.work(each), each) for each in islice(known, AT_ONCE)]:
                labels = labels or self._labels(number)
                busy = heapq.nlargest(BUSIEST, [*busy, *part])
                found = list(self._in_trouble(part))
                failing = heapq.nlargest(FAILING, [*failing, *found])
                opened += sum(each[2] for each in found)
                await trio.lowlevel.checkpoint()
            resting = iter(list(directory.snapshots.troubled(number).items()))
            while left := list(islice(resting, AT_ONCE)):
                found = [
                    (each.failures, name, each.open_circuit)
                    for name, each in left
                    if self._sends(name)
                ]
                failing = heapq.nlargest(FAILING, [*failing, *found])
                opened += sum(each[2] for each in found)
                await trio.lowlevel.checkpoint()
            if labels is not None:
                pending[labels] += directory.memory.waiting(number)
                in_flight[labels] += under_way[number]
            if labels is not None or opened:
                open_circuits[labels or self._labels(number)] += opened
        self.pending = list(pending.items())
        self.in_flight = list(in_flight.items())
        self.open_circuits = list(open_circuits.items())
        worst = ((failures, each) for failures, each, _ in failing)
        names = dict.fromkeys(each for rank, each in (*busy, *worst) if rank)
        self.destinations = [one for each in names if (one := self._destination(each))]

    @property
    def dead_letters(self) -> Iterable[Sample]:
        """The sizes of the dead-letter queues. An empty queue is left out if its environment has no
        labels of its own yet: only ENVIRONMENTS environments can get such labels, and an empty queue must
        not use them up."""
        return self.by_environment(
            (number, (), size)
            for number, size in list(self._dead_letters.items())
            if size or number in self._named
        )

    def by_environment(self, values: Iterable[tuple[int, Labels, int]]) -> Iterable[Sample]:
        """Return the sum of the counts for each combination of labels. `values` are triples: an
        environment, further labels, and a count."""
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

    def _in_trouble(self, part: Iterable[Ranked]) -> Iterable[Trouble]:
        actors = self.server.directory.actors
        for _, each in part:
            machine = None if (actor := actors.get(each)) is None else actor.machine
            if machine is None:
                continue
            opened = machine.circuit.state is not CircuitState.CLOSED
            if (opened or machine.failing.since is not None) and self._sends(each):
                yield machine.failing.failures, each, opened

    def _sends(self, destination: str) -> bool:
        """Failures of disabled destinations are known already."""
        config = self.server.models.destinations.get(destination)
        return config is not None and config.status is DestinationStatus.ACTIVE

    def _destination(self, destination: str) -> Labelled | None:
        report = self.server.directory.health(destination)
        config = self.server.models.destinations.get(destination)
        if report.health is None or config is None:
            return None
        labels = destination, config.name[:NAME_CHARACTERS]
        health = report.health
        return Labelled(
            labels,
            report.pending,
            report.in_flight,
            health.circuit,
            health.state,
            health.consecutive_failures,
        )
