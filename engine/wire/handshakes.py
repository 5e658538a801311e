"""TLS handshakes in turns: what a receiver sent of one is worked on when its workspace is next.

The last step, the certificate's check and the key agreement, takes 0.5 ms of the loop, as much as fifty
requests. A crowd of receivers that shake hands at once would keep everybody else waiting for as long.
"""

import time
from collections.abc import Callable
from typing import Protocol

import trio

from engine.runtime.lines import Lines
from engine.runtime.timers import Timer, Timers

# After a step as many times its duration are left to others, so that handshakes have a quarter of the
# loop at most: 500 a second. One that comes alone is not kept waiting.
REST = 3.0


class Shaking(Protocol):
    """A connection in its handshake."""

    def shake(self) -> None:
        """Work on what has come."""


class Handshakes:
    """Owner of the turns."""

    def __init__(self, timers: Timers, elapsed: Callable[[], float] = time.perf_counter) -> None:
        self._timers = timers
        self._elapsed = elapsed
        self._lines: Lines[Shaking] = Lines()
        self._timer: Timer | None = None
        self._at_it = False
        self._until = 0.0  # of trio's clock: when the next step may be
        self.steps = 0  # since the start

    @property
    def waiting(self) -> int:
        """How many wait for a step."""
        return len(self._lines)

    def ask(self, shaking: Shaking, workspace: str) -> None:
        """Have `shake` called once, later; harmless for who waits already."""
        self._lines.add(workspace, shaking)
        if self._timer is None and not self._at_it:
            self._timer = self._timers.call_at(max(trio.current_time(), self._until), self._turn)

    def leave(self, shaking: Shaking, workspace: str) -> None:
        """Leave the line; harmless when not in it."""
        self._lines.drop(workspace, shaking)

    def _turn(self) -> None:
        self._timer = None
        found = self._lines.next()
        if found is None:
            return
        self._at_it = True
        began = self._elapsed()
        try:
            found[1].shake()
        finally:
            self._at_it = False
            self.steps += 1
            self._until = trio.current_time() + (self._elapsed() - began) * REST
            if self._lines:
                self._timer = self._timers.call_at(self._until, self._turn)
