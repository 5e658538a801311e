"""A variant of `angarium` that reports its state. `python -m bench.watched` takes the arguments of
`angarium`.

Environment variables choose the reports. BENCH_WATCH names a file to which the event loop writes a line
of JSON every half second: the number of tasks, the number of memory blocks, and the depths of the queues.
BENCH_PROFILE names a file for samples of CPU, and BENCH_ALLOCATIONS a file for memory allocations.
BENCH_HOUSEKEEPING_S sets the seconds between two runs of housekeeping, which are ten minutes by default.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from bench.profiling.depths import depths
from bench.profiling.recording import Recording
from bench.profiling.sampler import Sampler
from bench.traceable import stay_traceable
from storage.retention import housekeeping

if TYPE_CHECKING:
    from api.composition import Server

EVERY_S = 0.5


class Watch(trio.abc.Instrument):
    """An instrument that calls functions twice a second."""

    def __init__(self, *tellers: Callable[[], None]) -> None:
        self._tellers = tellers
        self._next = 0.0

    def before_io_wait(self, timeout: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY_S
        for tell in self._tellers:
            tell()


class Telling:
    """The writer of lines with figures of this process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.server: Server | None = None

    def tell(self) -> None:
        """Write a line."""
        sample: dict[str, Any] = {
            "at": time.time(),
            "tasks": trio.lowlevel.current_statistics().tasks_living,
            "blocks": sys.getallocatedblocks(),
        }
        if self.server is not None:
            sample["depths"] = depths(self.server)
        os.write(self._file, json.dumps(sample).encode() + b"\n")

    def find(self) -> None:
        """Find the server of this process when it is created."""
        from api.composition import Server  # after INTERVAL_S is set

        made = Server.__init__

        def remembered(server: Server, *arguments: Any, **named: Any) -> None:
            made(server, *arguments, **named)
            self.server = server

        Server.__init__ = remembered  # type: ignore[assignment, method-assign]  # remembers the server


_run = trio.run


def watching(*tellers: Callable[[], None]) -> Callable[..., Any]:
    """Return `trio.run` with an instrument that calls `tellers`."""

    def run(function: Any, *arguments: Any, **named: Any) -> Any:
        named["instruments"] = [*named.get("instruments", ()), Watch(*tellers)]
        return _run(function, *arguments, **named)

    return run


def main() -> Any:
    every = os.environ.get("BENCH_HOUSEKEEPING_S")
    if every is not None:
        housekeeping.INTERVAL_S = float(every)  # before other modules import it
    stay_traceable()
    tellers: list[Callable[[], None]] = []
    if path := os.environ.get("BENCH_WATCH"):
        telling = Telling(path)
        telling.find()
        tellers.append(telling.tell)
    if path := os.environ.get("BENCH_ALLOCATIONS"):
        tellers.append(Recording(path).look)
    sampler = Sampler(path) if (path := os.environ.get("BENCH_PROFILE")) else None
    if sampler is not None:
        tellers.append(sampler.flush)
        sampler.start()
    if tellers:
        trio.run = watching(*tellers)  # type: ignore[assignment]  # adds an instrument
    from api.cli import main as angarium

    try:
        return angarium()
    finally:
        if sampler is not None:
            sampler.stop()


if __name__ == "__main__":
    sys.exit(main())
