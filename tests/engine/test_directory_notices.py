"""Calls from the intake to the directory of actors. If such a call fails, the intake's next run makes it
again."""

from collections.abc import Callable, Collection, Iterable, Sequence

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.core.records import Delivery
from engine.intake.intake import Intake
from engine.model.identity import Identity
from engine.ports import Claimed, DirtyDestination, StoreAwayError
from engine.ports.outage import BROKEN_MOST
from engine.settings import Settings
from tests.engine.fakes import FakeDestinations, FakeIntakeStore
from tests.engine.test_entries import QueueEntry
from tests.engine.test_intake import make


class BreakingDestinations(FakeDestinations):
    """Raises at the next call of each method that `breaks` names."""

    def __init__(self, *breaks: str) -> None:
        super().__init__()
        self.breaks = list(breaks)

    def _break(self, name: str) -> None:
        if name in self.breaks:
            self.breaks.remove(name)
            raise RuntimeError(name)

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        self._break("arrived")
        super().arrived(deliveries)

    def reread(self, deliveries: Sequence[Delivery]) -> None:
        self._break("reread")
        super().reread(deliveries)

    def doubt(self, destinations: Collection[tuple[int, str]], low_seq: int) -> None:
        self._break("doubt")
        super().doubt(destinations, low_seq)

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        self._break("rows_written")
        super().rows_written(rows)


def an_intake(store: FakeIntakeStore, destinations: FakeDestinations) -> Intake:
    return Intake(store, destinations, Identity(), Settings(), trio.current_time)


async def run_again(intake: Intake) -> None:
    """Run until a call fails, then once more until all is done."""
    with pytest.raises(RuntimeError):
        await intake.run()
    intake.close()
    await intake.run()


async def entered(intake: Intake, entry: QueueEntry) -> None:
    with pytest.raises(StoreAwayError):
        await intake.entries.enter(entry)


async def test_a_row_that_was_written_for_nothing_is_told_after_all() -> None:
    store, destinations = FakeIntakeStore(), BreakingDestinations("rows_written")
    intake, entry = an_intake(store, destinations), QueueEntry(store)
    entry.nothing = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entered, intake, entry)
        await wait_all_tasks_blocked()
        await run_again(intake)
    assert [row.destination for row in destinations.spared] == ["d1"]


async def test_entered_deliveries_are_told_after_all() -> None:
    store, destinations = FakeIntakeStore(), BreakingDestinations("arrived", "reread")
    intake, entry = an_intake(store, destinations), QueueEntry(store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entered, intake, entry)
        await wait_all_tasks_blocked()
        await run_again(intake)
    assert destinations.doubtful == [entry.delivery]
    assert [row.destination for row in destinations.spared] == ["d1"]


async def test_deliveries_that_may_have_been_entered_are_read_after_all() -> None:
    store, destinations = FakeIntakeStore(), BreakingDestinations("doubt")
    intake, entry = an_intake(store, destinations), QueueEntry(store)
    entry.script = [AttributeError("a mistake of ours")] * BROKEN_MOST
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entered, intake, entry)
        await wait_all_tasks_blocked()
        await run_again(intake)
    assert destinations.doubts == [([(1, "d1")], entry.runs[0][0])]


@pytest.mark.parametrize(
    "breaks", [("arrived",), ("arrived", "reread"), ("arrived", "rows_written")]
)
async def test_accepted_deliveries_are_told_after_all(breaks: tuple[str, ...]) -> None:
    destinations = BreakingDestinations(*breaks)
    intake, submission = an_intake(FakeIntakeStore(), destinations), make([])
    intake.submit(submission)
    await run_again(intake)
    assert destinations.doubtful == submission.deliveries
    assert [row.destination for row in destinations.spared] == ["d1"]


def lost(store: FakeIntakeStore, intake: Intake, destinations: FakeDestinations) -> None:
    store.keys[1, "k"] = Claimed(Identity().event(), 1, b"x")
    intake.submit(make([], key="k"))


def not_forgotten(store: FakeIntakeStore, intake: Intake, destinations: FakeDestinations) -> None:
    away = StoreAwayError("away")
    away.maybe_written = False
    store.script = [away]
    destinations.forgettable = [(1, "d1")]
    intake.nudge()


@pytest.mark.parametrize("happen", [lost, not_forgotten])
async def test_a_row_that_stays_for_nothing_is_told_after_all(
    happen: Callable[[FakeIntakeStore, Intake, FakeDestinations], None],
) -> None:
    store, destinations = FakeIntakeStore(), BreakingDestinations("rows_written")
    intake = an_intake(store, destinations)
    happen(store, intake, destinations)
    await run_again(intake)
    assert [row.destination for row in destinations.spared] == ["d1"]
