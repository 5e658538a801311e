"""Shows how far a long command is, on standard error: one line on a terminal, else a line a step."""

import sys
import time
from types import TracebackType

import click

REDRAW_S = 0.2  # on a terminal
LINE_S = 10.0  # elsewhere, within one step: enough for a log to show that it goes on
_CLEAR = "\r\x1b[K"


class ByteSteps:
    """Steps that are counted in bytes."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._step = ""
        self._shown_at = 0.0

    def __enter__(self) -> "ByteSteps":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal and self._step:
            click.echo(_CLEAR, err=True, nl=False)

    def show(self, step: str, done: int, total: int) -> None:
        """Show that `step` has done so many bytes of `total`, 0 where nobody knows."""
        now = time.monotonic()
        wait_s = REDRAW_S if self._terminal else LINE_S
        if step == self._step and now - self._shown_at < wait_s:
            return
        self._step, self._shown_at = step, now
        of = f" of {total >> 20}" if total else ""
        line = f"{step}: {done >> 20}{of} MiB"
        if self._terminal:
            click.echo(_CLEAR + line, err=True, nl=False)
        else:
            click.echo(line, err=True)
