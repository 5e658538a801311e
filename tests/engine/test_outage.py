"""The retry of store calls that fail. A failed try may nevertheless have written. The next try then tells
the store that the group may be stored already."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from engine.ports import (
    BlockedError,
    ContentionError,
    OwnershipLostError,
    PoisonError,
    StoreAwayError,
    StoreError,
    UnknownOutcomeError,
)
from engine.ports.outage import Outage, never, nothing_written


def away(*, maybe_written: bool = True) -> StoreAwayError:
    error = StoreAwayError("no answer")
    error.maybe_written = maybe_written
    return error


def refused() -> StoreError:
    error = StoreError("no such table")
    error.maybe_written = False
    return error


class Store:
    def __init__(self, *script: Exception) -> None:
        self.script = list(script)
        self.told: list[bool] = []

    async def run(self, again: bool) -> str:
        self.told.append(again)
        if self.script:
            raise self.script.pop(0)
        return "written"


UNSURE = away()
CASES: list[tuple[tuple[StoreError, ...], Callable[[StoreError], bool], list[bool], object]] = [
    ((), never, [False], "written"),
    ((ContentionError(), ContentionError()), never, [False] * 3, "written"),
    ((away(), away(maybe_written=False)), never, [False, True, True], "written"),
    ((away(maybe_written=False),), never, [False, False], "written"),
    ((away(maybe_written=False),), nothing_written, [False], StoreAwayError),
    ((away(), away(maybe_written=False)), nothing_written, [False, True, True], "written"),
    ((BlockedError(),), nothing_written, [False], BlockedError),
    ((BlockedError(),), never, [False, False], "written"),
    ((away(), BlockedError()), nothing_written, [False, True, True], "written"),
    ((ContentionError(),), nothing_written, [False, False], "written"),
    ((away(), PoisonError()), never, [False, True], PoisonError),
]


@pytest.mark.parametrize(("script", "unless", "told", "end"), CASES)
async def test_a_run_is_repeated_until_its_outcome_is_known(
    script: tuple[StoreError, ...],
    unless: Callable[[StoreError], bool],
    told: list[bool],
    end: object,
    autojump_clock: MockClock,
) -> None:
    store, outage = Store(*script), Outage("a test")
    if isinstance(end, type):
        with pytest.raises(end):
            await outage.outlast(store.run, unless=unless)
    else:
        assert await outage.outlast(store.run, unless=unless) == end
        assert not outage.under_way
    assert store.told == told


WRITES: list[tuple[tuple[Exception, ...], list[bool], object]] = [
    ((AttributeError(),), [False, True], "written"),
    ((StoreError(), AttributeError()), [False, True, True], "written"),
    ((refused(),), [False], StoreError),
    ((away(maybe_written=False), refused()), [False, False], StoreError),
    ((away(), refused()), [False, True, True], "written"),
    ((AttributeError(), away(maybe_written=False)), [False, True, True], "written"),
    ((AttributeError(), PoisonError()), [False, True], PoisonError),
    ((AttributeError(), OwnershipLostError()), [False, True], OwnershipLostError),
    ((StoreError(), away(), *[AttributeError()] * 9), [False, *[True] * 3], UnknownOutcomeError),
]


@pytest.mark.parametrize(("script", "told", "end"), WRITES)
async def test_a_write_that_may_have_committed_is_repeated_a_few_times(
    script: tuple[Exception, ...], told: list[bool], end: object, autojump_clock: MockClock
) -> None:
    store, outage = Store(*script), Outage("a test")
    if isinstance(end, type):
        with pytest.raises(end) as raised:
            await outage.outlast(store.run, writes=True)
        assert type(raised.value) is end
    else:
        assert await outage.outlast(store.run, writes=True) == end
    assert store.told == told
    assert not outage.under_way


async def test_a_read_that_breaks_is_not_repeated() -> None:
    store = Store(AttributeError())
    with pytest.raises(AttributeError):
        await Outage("a test").outlast(store.run)
    assert store.told == [False]


async def test_an_outage_is_logged_once_with_its_user_and_its_end(
    autojump_clock: MockClock,
) -> None:
    pauses: list[float] = []
    outage = Outage(
        "outcomes", longest_pause_s=0.3, meanwhile=lambda: pauses.append(trio.current_time())
    )
    with capture_logs() as lines:
        await outage.outlast(Store(*(away() for _ in range(5))).run)
    assert [line["event"] for line in lines] == ["store.away", "store.back"]
    assert {line["user"] for line in lines} == {"outcomes"}
    gaps = [after - before for before, after in pairwise(pauses)]
    assert gaps == pytest.approx([0.1, 0.2, 0.3, 0.3])


async def test_periodic_work_goes_on_after_any_error_of_the_store(
    autojump_clock: MockClock,
) -> None:
    outage = Outage("cleaning")
    script: list[StoreError | None] = [away(), away(), None, PoisonError("odd"), None]
    seen: list[float] = []

    async def work() -> None:
        seen.append(trio.current_time())
        if error := script.pop(0):
            raise error

    began = trio.current_time()
    with capture_logs() as lines, trio.move_on_after(5.5):
        await outage.every(1.0, work)
    assert [at - began for at in seen] == pytest.approx([1, 2, 3, 4, 5])
    assert [line["event"] for line in lines] == ["store.away", "store.back", "store.refused"]


async def test_periodic_work_that_breaks_otherwise_is_its_supervisors() -> None:
    async def work() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await Outage("cleaning").every(0, work)
