"""The times at which a connection's plans are remade."""

import pytest
import trio
from trio.testing import MockClock

from storage.database import plan_refresh
from storage.database.plan_refresh import FIRST_S, LONGEST_S, PlanRefresh


class Scripted:
    def __init__(self) -> None:
        self.scripts: list[tuple[float, str]] = []

    async def execute(self, script: str) -> str:
        self.scripts.append((trio.current_time(), script))
        return ""


async def times_of_remaking(clock: MockClock, until: float, step: float) -> list[float]:
    """Return the times at which the plans were discarded."""
    connection = Scripted()
    fresh = PlanRefresh(connection)  # type: ignore[arg-type]  # just what is used of it
    start = trio.current_time()
    while trio.current_time() - start < until:
        await fresh.keep("SELECT 1")
        clock.jump(step)
    assert {script for _, script in connection.scripts} <= {"DISCARD PLANS"}
    return [at - start for at, _ in connection.scripts]


async def test_plans_are_remade_at_doubling_ages_and_then_every_minute(
    mock_clock: MockClock,
) -> None:
    times = await times_of_remaking(mock_clock, 400, 0.05)
    ages = [later - earlier for earlier, later in zip([0.0, *times], times, strict=False)]
    expected = [min(FIRST_S * 2**power, LONGEST_S) for power in range(len(ages))]
    assert ages == pytest.approx(expected, abs=0.06)
    assert ages[-1] == pytest.approx(LONGEST_S, abs=0.06)


async def test_a_statement_that_is_new_starts_all_over(mock_clock: MockClock) -> None:
    connection = Scripted()
    fresh = PlanRefresh(connection)  # type: ignore[arg-type]  # just what is used of it
    for sql in ("SELECT 1", "SELECT 2"):
        for _ in range(4):
            await fresh.keep(sql)
            mock_clock.jump(LONGEST_S)
    assert len(connection.scripts) == 6
    await fresh.keep("SELECT 3")
    mock_clock.jump(2 * FIRST_S)
    await fresh.keep("SELECT 1")
    assert len(connection.scripts) == 7


async def test_texts_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_refresh, "KNOWN", 3)
    fresh = PlanRefresh(Scripted())  # type: ignore[arg-type]  # just what is used of it
    for number in range(10):
        await fresh.keep(f"SELECT {number}")
    assert list(fresh._known) == ["SELECT 7", "SELECT 8", "SELECT 9"]
