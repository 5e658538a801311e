"""A counter of the lines of Python that each step of the event loop runs.

Seconds depend on the machine, but lines only on the input. A library's C call counts as one line. The
table of library calls in docs/security.md has its bound.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import trio


class StepLines(trio.abc.Instrument):
    """Counts the lines of each step of every task except the task that created it."""

    def __init__(self) -> None:
        self.most = 0
        self.where = ""  # the task and the functions with the most lines in the step of `most`
        self._own = trio.lowlevel.current_task()
        self._lines: dict[str, int] = {}

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is not self._own:
            self._lines = {}
            sys.settrace(self._call)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        sys.settrace(None)
        lines, self._lines = self._lines, {}
        total = sum(lines.values())
        if total > self.most:
            dearest = sorted(lines, key=lambda name: -lines[name])[:3]
            told = ", ".join(f"{name} {lines[name]}" for name in dearest)
            self.most, self.where = total, f"{task.name}: {told}"

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            name = frame.f_code.co_qualname
            self._lines[name] = self._lines.get(name, 0) + 1
        return self._line


@contextmanager
def counted_steps() -> Iterator[StepLines]:
    counter = StepLines()
    trio.lowlevel.add_instrument(counter)
    try:
        yield counter
    finally:
        trio.lowlevel.remove_instrument(counter)
        sys.settrace(None)
