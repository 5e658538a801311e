"""A counter of the lines of Python that each step of the event loop runs.

Seconds depend on the machine, but lines only on the input. A library's C call counts as one line. The
table of library calls in docs/security.md has its bound.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import trio


class StepLines(trio.abc.Instrument):
    def __init__(self) -> None:
        self.most = 0
        self.where = ""  # the task and the functions with the most lines in the step of `most`
        self._own = trio.lowlevel.current_task()
        self._lines: list[CodeType] = []  # the function of each line of the present step
        self._trace = _counting(self._lines)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is not self._own:
            sys.settrace(self._trace)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        sys.settrace(None)
        lines = self._lines
        if len(lines) > self.most:
            dearest = Counter(code.co_qualname for code in lines).most_common(3)
            named = ", ".join(f"{name} {count}" for name, count in dearest)
            self.most, self.where = len(lines), f"{task.name}: {named}"
        lines.clear()


def _counting(lines: list[CodeType]) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that appends the function of each line. It runs a million times, so it
    does as little as possible: names are read only for the step with the most lines.

    All steps need the same one. A frame that a step leaves in the middle, such as that of a greenlet,
    keeps the function with which it was entered.
    """
    append = lines.append

    def line(frame: FrameType, event: str, arg: Any) -> None:  # None: it stays the frame's function
        if event == "line":
            append(frame.f_code)

    return lambda frame, event, arg: line


@contextmanager
def counted_steps() -> Iterator[StepLines]:
    counter = StepLines()
    trio.lowlevel.add_instrument(counter)
    try:
        yield counter
    finally:
        trio.lowlevel.remove_instrument(counter)
        sys.settrace(None)
