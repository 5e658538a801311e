"""`python -m tests.sim.mutants [--seeds 2000] [NAME...]`: show which planted bugs are caught, and where.

`--keep` stores the seeds that catch the bugs, for `tests.sim.test_mutants`. Use it after a change of the
simulated world.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context

from tests.sim.mutants import MUTANTS, keeping
from tests.sim.mutants.hunt import ENDLESS, hunted


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if a mutant survives."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.sim.mutants", description="Hunt planted bugs."
    )
    parser.add_argument("--seeds", type=int, default=2_000, help="how many each has to survive")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", action="store_true", help="keep the seeds for the test")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants; all where none is named")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MUTANTS]
    if unknown:
        parser.error(f"there is no mutant {unknown[0]!r}")
    names = options.names or list(MUTANTS)
    width = max(map(len, names))
    survivors, known = 0, keeping.load()
    often = tuple(seed for seed, _ in Counter(known.values()).most_common())
    work = [(name, often, options.first, options.seeds) for name in names]
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        for name, found in pool.imap_unordered(hunted, work):
            survivors += found is None
            known.pop(name, None)
            if found is not None and ENDLESS not in found.promises:
                known[name] = found.seed
            what = "SURVIVES" if found is None else f"{found.seed:>6}  {', '.join(found.promises)}"
            print(f"{name:<{width}}  {what}", flush=True)
    print(f"{len(names) - survivors} of {len(names)} caught within {options.seeds} seeds")
    if options.keep:
        keeping.save(known)
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
