"""`angarium` that tells how it does: `python -m bench.watched` takes the same arguments.

With BENCH_WATCH a line of JSON goes to that file every second, from within the loop: how many tasks there
are. BENCH_HOUSEKEEPING_S has housekeeping come more often than every ten minutes.
"""

import json
import os
import sys
import time
from typing import Any

import trio

from bench.traceable import stay_traceable
from storage import housekeeping

EVERY_S = 1.0


class Watch(trio.abc.Instrument):
    """Writes a line a second. Costs a look at the clock for each turn of the loop."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._next = 0.0

    def before_io_wait(self, timeout: float) -> None:
        """See `trio.abc.Instrument`."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY_S
        told = {"tasks": trio.lowlevel.current_statistics().tasks_living}
        os.write(self._file, json.dumps(told).encode() + b"\n")


_run = trio.run


def run(function: Any, *arguments: Any, **named: Any) -> Any:
    """See `trio.run`."""
    path = os.environ.get("BENCH_WATCH")
    if path is not None:
        named["instruments"] = [*named.get("instruments", ()), Watch(path)]
    return _run(function, *arguments, **named)


if __name__ == "__main__":
    trio.run = run  # type: ignore[assignment]  # the same, with an instrument
    every = os.environ.get("BENCH_HOUSEKEEPING_S")
    if every is not None:
        housekeeping.INTERVAL_S = float(every)  # before it is imported by whoever waits for so long
    stay_traceable()
    from api.cli import main

    sys.exit(main())
