"""The command `python -m tests.sim`. It runs the histories of the given seeds. If a history breaks a
promise, the command prints the history's story."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import FrameType

from msgspec import Struct

from tests.sim.history import run_plan
from tests.sim.oracle import violations
from tests.sim.plan import Plan, draw
from tests.sim.several import draw_several
from tests.sim.shrink import shrink
from tests.sim.story import story

LONGEST_S = 120  # CPU time, since a machine can pause; ordinary histories take 0.1 s
LOT = 20  # seeds that a worker takes at once
HASHES = "0"  # for PYTHONHASHSEED: a history depends on the order of sets of strings


class Result(Struct):
    seed: int
    digest: str
    deliveries: int
    virtual_s: float
    breaches: list[str]


class EndlessError(Exception):
    """A history did not end."""


def planned(seed: int, nodes: int | None) -> Plan:
    """`nodes`: None for one node, 0 for as many as the seed draws."""
    return draw(seed) if nodes is None else draw_several(seed, nodes or None)


def judge(seed: int, nodes: int | None) -> Result:
    try:
        with _patience():
            history = run_plan(planned(seed, nodes))
    except Exception as error:  # a barrier: one broken seed is reported with the others
        return Result(seed, "", 0, 0.0, [f"simulation: it broke with {error!r}"])
    found = violations(history)
    deliveries = len(history.rows.deliveries)
    return Result(seed, history.digest, deliveries, history.virtual_s, found)


@contextmanager
def _patience() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise EndlessError(f"it did not end within {LONGEST_S} s of CPU")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judge_lot(seeds: list[int], nodes: int | None) -> list[Result]:
    return [judge(seed, nodes) for seed in seeds]


def told(seed: int, nodes: int | None) -> str:
    """Return the story of a history. If the history breaks a promise, it is shrunk first."""
    plan = planned(seed, nodes)
    promise = _promises(violations(run_plan(plan)))[:1]

    def breaks(tried: Plan) -> bool:
        return promise[0] in _promises(violations(run_plan(tried)))

    if promise:
        plan = shrink(plan, breaks)
    history = run_plan(plan)
    found = violations(history)
    kinds = ", ".join(sorted(plan.faults)) or "no faults"
    return f"{story(history, found)}\nwith {kinds}; {len(plan.posts)} posts, {plan.strikes}"


def _promises(breaches: list[str]) -> list[str]:
    return [each.partition(":")[0] for each in breaches]


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if a history broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument(
        "--seeds", default="0-999", help="FIRST-LAST, or single ones, comma separated"
    )
    parser.add_argument(
        "--strike", metavar="KIND", help="only seeds whose plan has such a strike: break, kill, ..."
    )
    parser.add_argument(
        "--nodes",
        nargs="?",
        type=int,
        const=0,
        choices=range(6),
        metavar="NODES",
        help="several nodes that share the work: so many, or without a number 2 to 5 by the seed",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--digest", action="store_true", help="print each history's digest")
    parser.add_argument("--stories", type=int, default=1, help="how many breaches to tell of")
    given = parser.parse_args(arguments)
    seeds = _seeds(given.seeds)
    if given.strike is not None:
        seeds = [seed for seed in seeds if _strikes(planned(seed, given.nodes), given.strike)]
    began = time.perf_counter()
    broken: list[Result] = []
    virtual_s, deliveries = 0.0, 0
    lots = [seeds[start : start + LOT] for start in range(0, len(seeds), LOT)]
    with ProcessPoolExecutor(given.jobs) as pool:
        for result in (
            each for lot in pool.map(partial(judge_lot, nodes=given.nodes), lots) for each in lot
        ):
            virtual_s += result.virtual_s
            deliveries += result.deliveries
            if given.digest:
                print(result.seed, result.digest)
            if result.breaches:
                broken.append(result)
                print(f"seed {result.seed}: {result.breaches[0]}", flush=True)
        minutes = (time.perf_counter() - began) / 60
        print(
            f"{len(seeds)} histories of {virtual_s / 3600:.1f} hours with {deliveries} deliveries in"
            f" {minutes:.1f} minutes: {len(seeds) / minutes:.0f} a minute; {len(broken)} broke a promise"
        )
        tell = partial(told, nodes=given.nodes)
        for text in pool.map(tell, [each.seed for each in broken[: given.stories]]):
            print(f"\n{text}")
    return 1 if broken else 0


def _strikes(plan: Plan, kind: str) -> bool:
    return any(strike.kind == kind for strike in plan.strikes)


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        seeds += range(int(first), int(last) + 1) if dash else [int(first)]
    return seeds


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != HASHES:
        environment = {**os.environ, "PYTHONHASHSEED": HASHES}
        command = [sys.executable, "-m", "tests.sim", *sys.argv[1:]]
        os.execve(sys.executable, command, environment)
    sys.exit(main())
