"""Replay jobs that the runner cannot start. The runner tries such a job again after a pause, or gives the
job up. Other jobs do not wait for it."""

from collections.abc import Iterator

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from engine.core.vocabulary import ReplayStatus
from engine.ports import PoisonError, StoreAwayError, TooSlowError
from engine.replay.job import Leg, ReplayJob
from engine.replay.pace import BROKEN, BROKEN_MOST, REFUSED, SLOW_MOST, TOO_SLOW
from tests.engine.test_replay_runner import Place


@pytest.fixture
async def place(nursery: trio.Nursery) -> Place:
    """A runner that does not run yet."""
    return Place(nursery)


@pytest.fixture(autouse=True)
def logged() -> Iterator[object]:
    """The logged events. Printing them would be slow, because they contain tracebacks."""
    with capture_logs() as entries:
        yield entries


TAKING_UP = [
    (TooSlowError, TOO_SLOW, SLOW_MOST),
    (PoisonError, REFUSED, 1),
    (AttributeError, BROKEN, BROKEN_MOST),
]


@pytest.mark.parametrize(("error", "reason", "most"), TAKING_UP)
async def test_jobs_that_cannot_be_taken_up_are_given_up_and_hold_up_no_other(
    place: Place,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    reason: str,
    most: int,
) -> None:
    broken = [place.store.add(place.destination(f"d{number}", 10)) for number in range(20)]
    sound = place.store.add(place.destination("e", 10), environment=2)
    all_legs, tries = place.store.all_legs, dict.fromkeys(broken, 0)

    async def reading(job: ReplayJob) -> list[Leg]:
        if job.id in tries:
            tries[job.id] += 1
            await trio.sleep(5)
            raise error  # a new one: an exception that is raised again has a longer traceback
        return await all_legs(job)

    monkeypatch.setattr(place.store, "all_legs", reading)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(15)
    assert place.store.status(sound) is ReplayStatus.COMPLETED
    await trio.sleep(3_600)
    assert {place.store.jobs[each].error for each in broken} == {reason}
    assert set(tries.values()) == {most}


async def test_a_job_that_cannot_be_given_up_holds_up_no_other(
    place: Place, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = place.store.add(place.destination("d1", 10))
    sound = place.store.add(place.destination("d2", 10), environment=2)
    all_legs = place.store.all_legs

    async def reading(job: ReplayJob) -> list[Leg]:
        if job.id == broken:
            raise AttributeError("a mistake of ours")
        return await all_legs(job)

    async def failing(job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        raise StoreAwayError("no answer")

    monkeypatch.setattr(place.store, "all_legs", reading)
    monkeypatch.setattr(place.store, "fail", failing)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(30)
    assert place.store.status(sound) is ReplayStatus.COMPLETED
