"""The configuration's age. A configuration that nobody confirms becomes stale at an age of 5 s. The age
leaves out the time in which the event loop did not run, but at most 30 s of it."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.runtime.freshness import FORGIVEN_S, LOOK_S, STALE_S, Freshness


class Configuration:
    """A configuration whose `confirmed_at` a test sets. Outside of tests, `storage.audit.changes` sets
    `confirmed_at`."""

    def __init__(self) -> None:
        self.confirmed_at: float | None = None
        self.freshness = Freshness(lambda: self.confirmed_at)

    def stale(self) -> bool:
        return self.freshness.stale


@pytest.fixture
async def known(nursery: trio.Nursery, mock_clock: MockClock) -> Configuration:
    configuration = Configuration()
    configuration.confirmed_at = trio.current_time()
    nursery.start_soon(configuration.freshness.run)
    await wait_all_tasks_blocked()
    return configuration


async def passes(clock: MockClock, seconds: float) -> None:
    """Advance the time in small steps. The event loop runs after each step."""
    for _ in range(round(seconds / LOOK_S)):
        clock.jump(LOOK_S)
        await wait_all_tasks_blocked()


async def held(clock: MockClock, seconds: float) -> None:
    """Advance the time at once, as if one step of the event loop had lasted that long."""
    clock.jump(seconds)
    await wait_all_tasks_blocked()


async def test_what_nobody_could_confirm_for_5_s_is_stale(
    known: Configuration, mock_clock: MockClock
) -> None:
    await passes(mock_clock, STALE_S)
    assert not known.stale()
    await passes(mock_clock, 2 * LOOK_S)
    assert known.stale()
    known.confirmed_at = trio.current_time()
    await passes(mock_clock, LOOK_S)
    assert not known.stale()


async def test_what_was_never_confirmed_is_stale(mock_clock: MockClock) -> None:
    configuration = Configuration()
    configuration.freshness.look()
    assert configuration.freshness.stale


@pytest.mark.parametrize("seconds", [STALE_S + 0.01, 6.0, 29.0])
async def test_a_loop_that_was_held_refuses_nobody(
    known: Configuration, mock_clock: MockClock, seconds: float
) -> None:
    await passes(mock_clock, 1.0)
    await held(mock_clock, seconds)
    assert not known.stale()
    await passes(mock_clock, 3.0)  # the confirmation has its usual time
    assert not known.stale()
    await passes(mock_clock, 2.0)
    assert known.stale(), "what the loop did since then counts"


async def test_a_confirmation_that_was_asked_for_before_the_hold_counts_from_then(
    known: Configuration, mock_clock: MockClock
) -> None:
    asked_at = trio.current_time()
    await held(mock_clock, 8.0)
    known.confirmed_at = asked_at
    await passes(mock_clock, 1.0)
    assert not known.stale()


async def test_many_short_holds_are_forgiven_as_one_is(
    known: Configuration, mock_clock: MockClock
) -> None:
    for _ in range(4):
        await held(mock_clock, 4.0)
    assert not known.stale()


async def test_a_process_that_was_stopped_confirms_first(
    known: Configuration, mock_clock: MockClock
) -> None:
    await held(mock_clock, FORGIVEN_S + STALE_S + 2 * LOOK_S)
    assert known.stale()
