"""The cost of the accept and settle statements, for several sizes of groups. The cost is the CPU of the
client, the CPU of the PostgreSQL backend, and the bytes of write-ahead log.

If ANGARIUM_BENCH_BASE names another source tree, the rounds of both trees alternate, and the figures
compare the trees.
"""

import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.interleaved import BASE
from bench.intervals import ratios
from bench.programs import ROOT
from bench.results import Measurement
from bench.scenario import Serve, Sizes
from bench.service import STOP_S

SIZES = (1, 16, 64, 256, 1_000)  # from a single event to a flood
STATEMENTS = ("accept", "settle")
SIDES = ("client", "database")
MANY_SIZES = (64, 256)  # a different destination for each outcome
Measured = dict[str, Any]


class Statements:
    """The process that runs a tree's statements."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            # Without -P, Python would import files of this folder instead of standard modules of the
            # same name.
            [sys.executable, "-P", str(Path(__file__).with_name("statement_cost.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._root,
            env=os.environ | {"PYTHONPATH": str(self._root)},
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(STOP_S)
        self._process.stdout.close()

    def measure(self, **asked: int) -> Measured:
        """Let the process of `bench.statement_cost` make one measurement of the accept statement and the
        settle statement. For each of the two, the result has the CPU microseconds of the client and of
        the database for one delivery. `logBytes` is the size of the write-ahead log that the accept
        statement and the settle statement together write for one delivery."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found: Measured = json.loads(self._process.stdout.readline())
        return found


def statements(sizes: Sizes, serve: Serve | None = None) -> Measurement:
    """Measure groups of each size in `SIZES`, without a server. A round has about `deliveries`
    deliveries. Then measure groups of `MANY_SIZES`, whose deliveries rotate among `destinations`
    destinations."""
    deliveries, rounds, fan_out = sizes["deliveries"], sizes["rounds"], sizes["fan_out"]
    asked = {
        str(size): {"size": size, "groups": max(deliveries // size, 4), "fan_out": fan_out}
        for size in SIZES
        if size >= fan_out
    }
    if sizes["destinations"]:
        for size in MANY_SIZES:
            groups = max(deliveries // size, 4)
            many = {"size": size, "groups": groups, "destinations": sizes["destinations"]}
            asked[f"{size}Many"] = many
    trees = [ROOT]
    if BASE in os.environ:
        trees.insert(0, Path(os.environ[BASE]))
    figures: dict[str, float] = {}
    with ExitStack() as stack:
        sides = [stack.enter_context(Statements(tree)) for tree in trees]
        for name, measured in asked.items():
            found = _in_turns(sides, rounds, measured)
            figures |= _stated(found[-1], name)
            if len(found) > 1:
                for kind in STATEMENTS:
                    one, other = ([sum(each[kind].values()) for each in side] for side in found)
                    figures |= ratios(f"{kind}{name}Ratio", one, other)
    return Measurement(figures)


def _in_turns(sides: list[Statements], rounds: int, asked: dict[str, int]) -> list[list[Measured]]:
    """The warm-up round does not count."""
    found: list[list[Measured]] = [[] for _ in sides]
    for side in sides:
        side.measure(**asked)
    for number in range(rounds):
        order = list(zip(sides, found, strict=True))
        for side, rows in order[:: -1 if number % 2 else 1]:
            rows.append(side.measure(**asked))
    return found


def _stated(rounds: list[Measured], name: str) -> dict[str, float]:
    """Return the medians over the rounds of one source tree as figures. An example of a figure's name is
    `accept64Client`, or `settle64ManyClient` with many destinations."""
    figures = {
        f"{kind}{name}{side.capitalize()}": round(
            statistics.median([each[kind][side] for each in rounds]), 2
        )
        for kind in STATEMENTS
        for side in SIDES
    }
    return figures | {f"logBytes{name}": statistics.median([each["logBytes"] for each in rounds])}
