"""One round: a world is made, disturbed under real load, healed, drained and judged."""

import contextlib
import json
import random
import shutil
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from tests.chaos import checker
from tests.chaos.book.disks import DiskFull, FilesMayNotGrow
from tests.chaos.book.disturbance import DATABASE, DISK, RECEIVERS, ROAD, SERVER
from tests.chaos.checker import Interval, Verdict
from tests.chaos.plan import Plan, Step
from tests.chaos.world import PATHS, Template, World
from tests.process import verdict as rows

WARM_S = 0.5  # of load before the first disturbance
HEALED_S = 60.0  # until the server must be ready again
DRAINED_S = 90.0  # until all accepted events must have arrived: the circuit pauses up to a minute
QUIET_S = 0.3
POLL_S = 0.1
MEMORY_MB = 260.0  # a server takes 110 at its start; a round's load is a few thousand small events
DESCRIPTORS = 400  # seven posters, three destinations of eight, a dozen to the database
# A server ends by itself only if another one took over, or if the database did not answer at its start.
EXITS = {1, 3}
SEEN_S = 2.0  # a server's end can be this old when its keeper notices it
REPLACED = "OwnershipLostError"


@dataclass
class Outcome:
    seed: int
    verdict: Verdict
    disturbances: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    crashes: int = 0
    seconds: float = 0.0
    memory_mb: float = 0.0
    descriptors: int = 0
    impossible: set[str] = field(default_factory=set)
    # One value for each kill of the process that delivers: the seconds until another process delivers.
    resumed_s: list[float] = field(default_factory=list)
    paused_s: list[float] = field(default_factory=list)
    latest_s: float = 0.0  # the longest time from a request to the first arrival of its event

    @property
    def failed(self) -> bool:
        return bool(self.verdict.violations)


class Round:
    """One round in its own folder, which is removed if all went well."""

    def __init__(self, plan: Plan, folder: Path, template: Template) -> None:
        self.plan = plan
        self.folder = folder
        self.outcome = Outcome(plan.seed, Verdict())
        self._template = template
        self._locks = {
            name: threading.Lock() for name in sorted({SERVER, DATABASE, ROAD, RECEIVERS, DISK})
        }
        self._crashes: list[Interval] = []
        self._database: list[Interval] = []
        self._broken: list[str] = []
        self._kills_of_holders: list[float] = []

    def play(self) -> Outcome:
        """The outcome contains everything that goes wrong."""
        began = time.monotonic()
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)  # PostgreSQL, started by root, is another account
        with contextlib.ExitStack() as stack:
            world = World(
                self.folder,
                self._template,
                self.plan.seed,
                stack,
                self.plan.nodes,
                self.plan.workers,
                self.plan.parts,
            )
            try:
                self._run(world)
            except Exception as error:  # a round that cannot run is reported with its folder
                self._broken.append(f"{type(error).__name__}: {error}")
            self.outcome.verdict.violations += self._broken
            if self.outcome.failed:
                self._keep(world)
        self.outcome.seconds = time.monotonic() - began
        if not self.outcome.failed:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.outcome

    def _run(self, world: World) -> None:
        world.furnish()
        if self.plan.followed:
            world.follow()
        with world.load():
            time.sleep(WARM_S)
            hands = [
                threading.Thread(target=self._act, args=(world, steps), daemon=True)
                for steps in self.plan.hands
            ]
            for hand in hands:
                hand.start()
            for hand in hands:
                hand.join()
            if not self._broken:
                self._healed(world)
        if not self._broken:
            self._drain(world)
        self._judge(world)

    # --- disturbed

    def _act(self, world: World, steps: tuple[Step, ...]) -> None:
        over = inf if self.plan.seconds is None else time.monotonic() + self.plan.seconds
        for step in steps:
            time.sleep(step.rest_s)
            if self._broken or time.monotonic() > over:
                return
            kind = step.kind
            possible = kind.possible(world)
            if kind is FilesMayNotGrow:
                possible = possible and not DiskFull.possible(world)
            if not possible:
                self.outcome.impossible.add(kind.__name__)
                continue
            try:
                self._disturb(world, step)
            except Exception as error:  # the round is over: its world differs from the plan
                world.timeline.note("broken", kind=kind.__name__, error=repr(error))
                self._broken.append(f"{kind.__name__}: {type(error).__name__}: {error}")
                return

    def _disturb(self, world: World, step: Step) -> None:
        kind = step.kind
        with contextlib.ExitStack() as held:
            for name in sorted(kind.touches):
                held.enter_context(self._locks[name])
            disturbance = kind(world, random.Random(step.seed))
            began = time.monotonic()
            world.timeline.note("begin", kind=kind.__name__, for_s=step.for_s)
            try:
                disturbance.begin()
                time.sleep(step.for_s)
            finally:
                disturbance.end()
                ended = time.monotonic()
                world.timeline.note("end", kind=kind.__name__)
            self.outcome.disturbances[kind.__name__] += 1
            self.outcome.kills += kind.kills
            if disturbance.killed_at is not None:
                self._kills_of_holders.append(disturbance.killed_at)
            if kind.crashes:
                self.outcome.crashes += 1
                self._crashes.append(Interval(began, ended))
            if kind.touches & {DATABASE, ROAD}:
                self._database.append(Interval(began, ended))

    # --- healed and drained

    def _healed(self, world: World) -> None:
        world.timeline.note("healed")
        for server in world.servers:
            if not server.wait_ready(HEALED_S):
                raise RuntimeError(f"{server.name} is not ready {HEALED_S:g} s after all trouble")

    def _drain(self, world: World) -> None:
        give_up = time.monotonic() + DRAINED_S
        waiting = "SELECT count(*) FROM deliveries WHERE status IN (0, 4)"
        while count := world.value(waiting):
            if time.monotonic() > give_up:
                self._broken.append(
                    f"{count} deliveries wait still, {DRAINED_S:g} s after all trouble"
                )
                return
            time.sleep(POLL_S)
        time.sleep(QUIET_S)  # time for duplicates to arrive
        world.timeline.note("drained")

    # --- judged

    def _judge(self, world: World) -> None:
        exits = [Interval(each.at - SEEN_S, each.at) for each in world.exits]
        self.outcome.verdict = checker.judged(
            world.sent, world.received, PATHS, self._crashes + exits, self._database
        )
        if len(self.plan.hands) == 1:  # other faults would delay deliveries too
            self.outcome.resumed_s = checker.resumed(world.received, self._kills_of_holders)
            self.outcome.paused_s = checker.pauses(world.received)
            self.outcome.latest_s = checker.latest(world.sent, world.received)
        if self._broken:
            return
        violations = self.outcome.verdict.violations
        self.outcome.memory_mb = max(server.memory_mb() for server in world.servers)
        self.outcome.descriptors = max(server.descriptors() for server in world.servers)
        if self.outcome.memory_mb > MEMORY_MB:
            violations.append(f"the server holds {self.outcome.memory_mb:.0f} MB")
        if self.outcome.descriptors > DESCRIPTORS:
            violations.append(f"the server has {self.outcome.descriptors} descriptors open")
        strange = [each.code for each in world.exits if each.code not in EXITS]
        if strange:
            violations.append(f"a server ended by itself with {strange}")
        for log in world.logs:
            text = log.read_text("utf-8", "replace")
            if world.key in text:
                violations.append(f"{log.name} has the key")
            broken = [line for line in text.splitlines() if _broken(line)]
            if broken:
                violations.append(f"{log.name} tells of {len(broken)} faults: {broken[0][-300:]}")
        try:
            rows.sums_equal_rows(world)
        except AssertionError as error:
            violations.append(f"the counters are not the sums of the rows: {str(error)[:400]}")

    def _keep(self, world: World) -> None:
        plan = [[(s.kind.__name__, s.rest_s, s.for_s, s.seed) for s in h] for h in self.plan.hands]
        told = {"seed": self.plan.seed, "plan": plan, "violations": self.outcome.verdict.violations}
        (self.folder / "verdict.json").write_text(json.dumps(told, indent=1))
        with contextlib.suppress(Exception):  # the database itself may be broken
            world.primary.stop("immediate")
            source, kept = str(world.primary.data), str(self.folder / "database")
            shutil.copytree(source, kept, ignore=shutil.ignore_patterns("postmaster.pid"))


def _broken(line: str) -> bool:
    """Return True if a line of a server's log shows a fault. A line that is no log entry shows a fault.
    So does a line with the traceback of an error, except the error `REPLACED`.
    """
    try:
        told = json.loads(line)
    except ValueError:
        return bool(line.strip())
    stack = told.get("exception")
    return stack is not None and REPLACED not in stack.splitlines()[-1]
