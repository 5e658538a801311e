"""A wrong wall clock. It comes from libfaketime if that is installed, otherwise from this module's
stand-in.

    python -m tests.chaos.clock FILE serve ...

FILE contains the offset of the clock in the format of libfaketime (`+3600` seconds). The stand-in
replaces `time.time` and `time.time_ns` with functions that add the offset. Then it runs the command line.
"""

import os
import sys
import time
from pathlib import Path

PLACES = "*/faketime/libfaketimeMT.so.1"  # below /usr/lib, by Debian's package libfaketime


def faketime() -> str | None:
    """Return the library's path; `FAKETIME_LIBRARY` can give it."""
    installed = [str(path) for path in Path("/usr/lib").glob(PLACES)]
    return os.environ.get("FAKETIME_LIBRARY") or next(iter(sorted(installed)), None)


def wrong_clock(offset: Path) -> tuple[list[str], dict[str, str]]:
    """Return the arguments for `python -m` and the environment variables that give a server a wrong
    clock. The file `offset` contains the clock's offset.
    """
    library = faketime()
    if library is not None:
        return ["bench.traceable"], {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
    return ["tests.chaos.clock", str(offset)], {}


def set_clock(offset: Path, seconds: int) -> None:
    draft = offset.with_suffix(".new")
    draft.write_text(f"{seconds:+d}\n")
    draft.replace(offset)


def _stand_in(file: Path) -> None:
    real, real_ns = time.time, time.time_ns

    def offset() -> int:
        try:
            return int(file.read_text())
        except FileNotFoundError:
            return 0

    time.time = lambda: real() + offset()
    time.time_ns = lambda: real_ns() + offset() * 1_000_000_000


if __name__ == "__main__":
    _stand_in(Path(sys.argv.pop(1)))
    from bench.traceable import stay_traceable

    stay_traceable()
    from api.cli import main  # after the clock: a module may keep `time` in a name of its own

    main(prog_name="angarium")
