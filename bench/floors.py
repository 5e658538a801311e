"""A test of this machine's stability: `python -m bench floors [--times 10]`.

The test measures the machine's floors several times. A floor is the CPU time of a small standard task,
such as one system call (see `bench.calibration`). One measurement takes 2 to 6 seconds, and longer while
other programs run. Ten measurements take up to a minute.
"""

import argparse
from collections.abc import Sequence

from rich.console import Console

from bench.calibration import DRIFT, drift, floors
from bench.results import Floor
from bench.service import Service

TIMES = 10


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench floors", description=__doc__)
    parser.add_argument("--times", type=int, default=TIMES, metavar="N", help="(%(default)s)")
    given = parser.parse_args(arguments)
    if given.times < 2:
        parser.error("--times is 2 at least")
    console = Console(highlight=False)
    console.print(f"{given.times} floors, a line each; one takes 2 to 6 seconds")
    measured: list[Floor] = []
    with Service() as service:
        for _ in range(given.times):
            measured.append(floors(service))
            console.print(_line_of(measured[-1]))
    # A measurement compares three successive floors.
    rows = [measured[at : at + 3] for at in range(max(1, len(measured) - 2))]
    worst = max(map(drift, rows))
    console.print(
        f"three in a row differ by {worst:.2f} times at most; a measurement is marked beyond {DRIFT:g}"
    )
    return 0


def _line_of(floor: Floor) -> str:
    return (
        f"a request {floor.send_micros:6.2f} µs   a row {floor.insert_micros:6.2f} µs"
        f"   a system call {floor.syscall_micros:.3f} µs"
    )
