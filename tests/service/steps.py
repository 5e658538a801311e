"""A counter of the lines of Python that each step of the event loop runs.

The seconds that a step takes depend on the computer, but its number of lines depends only on the input. A
call into a library's C code counts as one line, however long it takes. The table of library calls in
docs/security.md says how the duration of these calls is bounded.
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
    """Return a trace function. For each line of code that runs, it appends the line's function to
    `lines`.

    The trace function runs a million times, so it does as little as possible. It does not read the names
    of functions.

    One trace function serves all steps. A step can end in the middle of a frame, for example the frame of
    a greenlet. The frame keeps its trace function, and a later step, which continues the frame, must
    still count with it.
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
