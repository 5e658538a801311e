"""Rounds of chaos for a given time or number: `python -m tests.chaos --minutes 60 --seed 1`.

Prints one line for each round, then the totals. For a round that breaks a promise it prints the seed, the
timeline and the folder. The same seed draws the same plan again (`--seed S --rounds 1`).
"""

import argparse
import json
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.patroni import PROGRAMS, installed
from tests.chaos.plan import MOVES, drawn, everything, moved, switched
from tests.chaos.round import Outcome, Round
from tests.chaos.world import Template, make_patroni_template, make_template

SECONDS = 25.0  # of disturbances in a round; with start, healing and draining about 40 s
TIMELINE = 400  # the most lines that are printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rounds", type=int, default=None, help="instead of minutes")
    parser.add_argument("--kills", type=int, default=None, help="instead of minutes")
    parser.add_argument("--nodes", type=int, default=1, help="servers side by side: 3, or 1")
    parser.add_argument("--workers", type=int, default=1, help="of one server: 3, or 1")
    parser.add_argument("--parts", type=int, default=1, help="that the servers share: 3, or 1")
    parser.add_argument(
        "--moves",
        nargs="?",
        const="kills",
        choices=MOVES,
        help="only kill holders of parts, or only let them hand over; say how soon others go on",
    )
    parser.add_argument(
        "--patroni", action="store_true", help="Patroni has the database; needs patroni and etcd"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of disturbances per round")
    parser.add_argument("--everything", action="store_true", help="each disturbance once per round")
    parser.add_argument("--folder", type=Path, default=None, help="for the files of failed rounds")
    asked = parser.parse_args()
    if (asked.parts > 1 or asked.moves) and asked.nodes < 2:
        parser.error("parts are shared by several servers: give --nodes, too")
    if asked.moves == "hand-overs" and asked.parts < 2:
        parser.error("a machine is drained of its parts: give --parts, too")
    if asked.patroni and not installed():
        parser.error(f"install {' and '.join(PROGRAMS)} first")
    for number in (signal.SIGINT, signal.SIGTERM):  # the shell can have set SIGINT to be ignored
        signal.signal(number, signal.default_int_handler)
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="angarium-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    began = time.monotonic()
    template = make_template(folder / "template")
    outcomes: list[Outcome] = []
    try:
        while True:
            counted = asked.rounds is not None or asked.kills is not None
            if not counted and time.monotonic() - began > asked.minutes * 60:
                break
            if asked.rounds is not None and len(outcomes) >= asked.rounds:
                break
            if asked.kills is not None and sum(each.kills for each in outcomes) >= asked.kills:
                break
            seed = asked.seed + len(outcomes)
            outcomes.append(_played(seed, asked, folder / f"seed-{seed}", template))
    except KeyboardInterrupt:
        print("interrupted")
    failed = [outcome for outcome in outcomes if outcome.failed]
    _totals(outcomes, time.monotonic() - began)
    if failed:
        print(f"FAILED: {[outcome.seed for outcome in failed]}, left in {folder}")
        shutil.rmtree(folder / "template", ignore_errors=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return len(failed)


def _played(seed: int, asked: argparse.Namespace, folder: Path, template: Template) -> Outcome:
    nodes, workers, parts = asked.nodes, asked.workers, asked.parts
    if asked.patroni:
        plan = switched(seed)
        template = make_patroni_template(folder.with_name(f"{folder.name}-patroni"))
    elif asked.moves:
        plan = moved(seed, asked.seconds, nodes, parts, asked.moves)
    elif asked.everything:
        plan = everything(seed, nodes, workers, parts)
    else:
        plan = drawn(seed, asked.seconds, nodes, workers, parts)
    outcome = Round(plan, folder, template).play()
    verdict = outcome.verdict
    print(
        f"seed {seed}: {outcome.seconds:.0f} s, {outcome.kills} kills,"
        f" {outcome.disturbances.total()} disturbances; {verdict.accepted} accepted,"
        f" {verdict.refused} refused, {verdict.doubtful} unanswered"
        f" ({verdict.doubtful_delivered} delivered); {verdict.arrivals} arrivals,"
        f" {verdict.failed} not well, {verdict.late} late, {verdict.duplicates} duplicates"
        f" ({verdict.oldest_s:.2f} s old at most);"
        f" {outcome.memory_mb:.0f} MB, {outcome.descriptors} descriptors"
        f"{'; FAILED' if outcome.failed else ''}",
        flush=True,
    )
    if outcome.resumed_s:
        print(
            f"  went on after {', '.join(f'{each:.2f}' for each in outcome.resumed_s)} s",
            flush=True,
        )
    if outcome.failed:
        for violation in verdict.violations:
            print(f"  VIOLATED: {violation}")
        _timeline(folder / "timeline.jsonl")
        print(f"  left in {folder}", flush=True)
    return outcome


def _timeline(file: Path) -> None:
    if not file.exists():
        return
    for line in file.read_text().splitlines()[:TIMELINE]:
        told = json.loads(line)
        told.pop("at")
        print(f"  {told.pop('s'):7.2f} s  {told.pop('what'):10} {told or ''}")


def _totals(outcomes: list[Outcome], seconds: float) -> None:
    disturbances: Counter[str] = Counter()
    impossible: set[str] = set()
    for outcome in outcomes:
        disturbances.update(outcome.disturbances)
        impossible |= outcome.impossible
    verdicts = [outcome.verdict for outcome in outcomes]
    print(
        f"{len(outcomes)} rounds in {seconds / 60:.1f} minutes:"
        f" {sum(outcome.kills for outcome in outcomes)} kills,"
        f" {disturbances.total()} disturbances, {sum(v.accepted for v in verdicts)} accepted,"
        f" {sum(v.duplicates for v in verdicts)} duplicates,"
        f" {sum(outcome.failed for outcome in outcomes)} failed"
    )
    print("  " + ", ".join(f"{name} {count}" for name, count in sorted(disturbances.items())))
    resumed_s = sorted(each for outcome in outcomes for each in outcome.resumed_s)
    if resumed_s:
        print(
            f"  first delivery after {len(resumed_s)} kills of what delivers: p50"
            f" {statistics.median(resumed_s):.2f} s, at most {resumed_s[-1]:.2f} s"
        )
    if paused_s := sorted(each for outcome in outcomes for each in outcome.paused_s):
        print(
            f"  {len(paused_s)} pauses of all deliveries: p50 {statistics.median(paused_s):.2f} s,"
            f" at most {paused_s[-1]:.2f} s"
        )
    if latest_s := max((outcome.latest_s for outcome in outcomes), default=0.0):
        print(f"  from a request to the first arrival of its event: at most {latest_s:.2f} s")
    if missing := impossible - disturbances.keys():
        print(f"  not possible here: {', '.join(sorted(missing))}")


if __name__ == "__main__":
    sys.exit(main())
