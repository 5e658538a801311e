"""A wrong wall clock for a process, by its two functions that ask for the time."""

import time
from functools import cache
from pathlib import Path


class StandIn:
    """The stand-in of this process. The clock is right until it gets its file."""

    file: Path | None = None

    @classmethod
    def offset(cls) -> int:
        try:
            return 0 if cls.file is None else int(cls.file.read_text())
        except FileNotFoundError:
            return 0


@cache
def prepare() -> None:
    """Wrap the functions. Call it before the import of the server: a module can keep one of them."""
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + StandIn.offset()
    time.time_ns = lambda: real_ns() + StandIn.offset() * 1_000_000_000
