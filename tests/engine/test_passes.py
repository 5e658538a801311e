"""Loops over all keys, rules or environments: each loop works in slices, and other tasks run between two
slices."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from engine.control.commands import CommandQueue
from engine.control.last_use import AGAIN_S, LastUse
from engine.control.loading import SLICE_S, Breaks
from engine.control.ports import RuleStore
from engine.control.rules import RuleCommands
from engine.core.vocabulary import Priority
from engine.filters.failures import FilterFailures
from engine.model.configuration import FilterFailure
from engine.model.read_models import RuleModel
from engine.ports import StoreAwayError

MANY = 100


def rule(identifier: str) -> RuleModel:
    return RuleModel(
        id=identifier,
        environment=1,
        destination="d",
        name="n",
        event_types=("a",),
        priority=Priority.STANDARD,
        enabled=True,
        created_at_ms=0,
        updated_at_ms=0,
        filter="true",
    )


class Steps(trio.abc.Instrument):
    """Counts the steps of the task that created it."""

    def __init__(self) -> None:
        self.count = 0
        self._task = trio.lowlevel.current_task()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task is self._task


async def test_what_is_gone_is_found_in_slices() -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += SLICE_S / 9  # ten ids take a slice
        return now

    steps = Steps()
    trio.lowlevel.add_instrument(steps)
    gone = await Breaks(clock).absent(range(MANY), range(0, MANY, 2))
    trio.lowlevel.remove_instrument(steps)
    assert gone == list(range(1, MANY, 2))
    assert steps.count >= (MANY + MANY // 2) // 20


async def test_no_rule_leaves_the_read_models_while_they_are_gone_over(
    nursery: trio.Nursery,
) -> None:
    commands, shown = CommandQueue(), {str(number): rule(str(number)) for number in range(MANY)}
    await nursery.start(commands.tasks.serve)

    class Rows:
        left = tuple(shown.values())

        async def page(self, *_which: object) -> list[RuleModel]:
            return list(self.left)

        async def remove_all(self, rules: list[RuleModel], _entries: object) -> list[str]:
            self.left = ()
            return [each.id for each in rules]

    class Writer:
        projection = SimpleNamespace(rule_removed=shown.pop)

        def entry(self, *_what: object) -> None:
            return None

    writer: Any = Writer()
    writer.commands = commands
    unused: Any = None
    rules = RuleCommands(cast("RuleStore", Rows()), unused, writer, unused, unused)
    async with commands.turn:  # as the loader holds it
        nursery.start_soon(rules.remove_all_of, unused, 1, "d")
        for _ in shown:
            await wait_all_tasks_blocked()
    await wait_all_tasks_blocked()
    assert shown == {}


async def test_last_uses_are_written_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.control.last_use.AT_ONCE", 10)
    now = 1_000.0
    written: list[Mapping[str, int]] = []

    class Store:
        async def used(self, keys: Mapping[str, int]) -> None:
            written.append(dict(keys))
            use.seen["late"] = now  # a request during the flush

    use = LastUse(Store(), lambda: now)
    use.seen.update((str(number), now) for number in range(MANY))
    await use.flush()
    assert [len(each) for each in written] == [10] * 10
    now += AGAIN_S
    await use.flush()
    assert sum(map(len, written)) == MANY + 1
    assert set(use.seen) == {"late"}


async def test_failures_of_filters_are_written_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.filters.failures.AT_ONCE", 10)
    written: list[int] = []
    away = False

    async def write(failures: Sequence[FilterFailure]) -> None:
        if away and len(written) == 3:
            raise StoreAwayError("away")
        written.append(len(failures))

    counted = FilterFailures(write, lambda: 1.0)
    rules = [rule(str(number)) for number in range(MANY)]
    for each in rules:
        counted.note(each, "no")
    away = True
    with capture_logs() as lines:
        await counted.flush()
        assert written == [10] * 3
        away = False
        await counted.flush()
    assert [line["event"] for line in lines] == ["store.away", "store.back"]
    assert written == [10] * 10
    assert all(counted.of(each, None) is None for each in rules)
