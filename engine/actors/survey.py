"""The survey: the state of each destination of an environment, taken at most once a second."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import trio
from msgspec import Struct

from engine.actors.reports import DestinationReport
from engine.actors.snapshots import Snapshots
from engine.core.destination import Destination
from engine.core.health import CircuitState, HealthState
from engine.core.vocabulary import DestinationStatus
from engine.runtime.slices import in_slices

FRESH_S = 1.0  # a survey younger than this is shared
AT_ONCE = 50  # destinations between two checkpoints: each takes some 20 us


class SurveyEntry(Struct, frozen=True, gc=False):
    """The state of one destination."""

    state: HealthState
    circuit: CircuitState
    pending: int
    in_flight: int
    failing: bool = False  # it has no actor, and has not recovered since it began to fail
    oldest_s: float | None = None  # age of the oldest; None if some wait only in the store


IDLE = SurveyEntry(HealthState.IDLE, CircuitState.CLOSED, 0, 0)
DISABLED = SurveyEntry(HealthState.DISABLED, CircuitState.CLOSED, 0, 0)
# The states of a destination that has no actor and has not recovered from failures: FAILING if its
# circuit is open, UNRECOVERED if its circuit is closed.
FAILING = SurveyEntry(HealthState.FAILING, CircuitState.OPEN, 0, 0, failing=True)
UNRECOVERED = SurveyEntry(HealthState.IDLE, CircuitState.CLOSED, 0, 0, failing=True)
Survey = Mapping[str, SurveyEntry]


def entry_of(destination: Destination, survey: Survey) -> SurveyEntry:
    """Return the state of a destination. A destination that is not in `survey` has nothing to send. If a
    disabled destination has neither an actor nor a backlog, its past failures are not shown."""
    active = destination.status is DestinationStatus.ACTIVE
    entry = survey.get(destination.id)
    if entry is None or (entry.failing and not active):
        return IDLE if active else DISABLED
    return entry


class Surveyed(Protocol):
    """The directory of actors."""

    def known(self, environment: int) -> Iterable[str]:
        """Return the destinations of an environment that have an actor or a backlog."""

    def health(self, destination: str) -> DestinationReport:
        """Return a destination's health."""


class Surveys:
    """Takes the surveys of environments. Callers who ask for the same environment within FRESH_S share
    one survey."""

    def __init__(
        self,
        directory: Surveyed,
        snapshots: Snapshots,
        now: Callable[[], float] = trio.current_time,
    ) -> None:
        self._directory = directory
        self._snapshots = snapshots
        self._now = now
        self._taken: dict[int, tuple[float, Survey]] = {}
        self._under_way: dict[int, trio.Event] = {}

    async def of(self, environment: int) -> Survey:
        """Return the survey of an environment. The survey lists only destinations that have an actor, a
        backlog, or failures from which they have not recovered. `entry_of` also returns the state of a
        destination that is not in the survey.
        """
        while (taken := self._fresh(environment)) is None:
            other = self._under_way.get(environment)
            if other is None:
                await self._take(environment)
            else:
                await other.wait()
        return taken

    def _fresh(self, environment: int) -> Survey | None:
        at, survey = self._taken.get(environment, (float("-inf"), {}))
        return survey if self._now() - at < FRESH_S else None

    async def _take(self, environment: int) -> None:
        done = self._under_way[environment] = trio.Event()
        try:
            survey = {
                destination: FAILING if resting.open_circuit else UNRECOVERED
                for destination, resting in self._snapshots.troubled(environment).items()
            }
            async for destination in in_slices(self._directory.known(environment), AT_ONCE):
                report = self._directory.health(destination)
                if (known := report.health) is not None:
                    survey[destination] = SurveyEntry(
                        known.state,
                        known.circuit,
                        report.pending,
                        report.in_flight,
                        oldest_s=None if known.stored else known.oldest_pending_s,
                    )
            now = self._now()
            self._taken = {
                each: (at, taken) for each, (at, taken) in self._taken.items() if now - at < FRESH_S
            }
            self._taken[environment] = (now, survey)
        finally:
            del self._under_way[environment]
            done.set()
