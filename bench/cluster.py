"""A simulated cluster: 1 to 16 nodes on one PostgreSQL, `python -m bench cluster`.

It shows how the deliveries per second increase with the number of nodes, and which resource saturates
first. The CPU costs are read from `bench/cluster.json`, or from files of results with profiles. Each node
has one core, and PostgreSQL has several. One write to PostgreSQL's log completes all commits that wait
for it. The model ignores contention for locks in PostgreSQL, and limits of the network.
"""

import argparse
import sys
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.profiling.stages import DATABASE
from bench.results import read

FILE = Path(__file__).with_name("cluster.json")
NODES = (1, 2, 4, 8, 16)
LINEAR = 0.9  # the least share of one node's deliveries a second times the nodes
# Enough connections to keep a node's core busy while some wait for commits.
CONNECTIONS = 512
BATCH, BATCH_CONNECTIONS = 100, 32  # the scenario `batch` has only 8 connections
# The average number of events in one commit. It was measured (docs/decisions/0071) for the scenario
# `single`, with 64 connections. `sixteen` has 16 connections, so a quarter of this number is assumed.
GROUPS = {"single": 55.0, "sixteen": 13.75}
# The stages before the answer.
ACCEPTING = frozenset({"parse", "route", "commit"})
OUTCOMES, OUTCOMES_S = 256, 0.025  # a full group of outcomes, and the wait of a smaller one
# Each client waits between an answer and its next request. The wait is random, up to this time. Without
# the wait, all clients and nodes would act at the same instants.
WAY_S = 0.005
# Simulated seconds. The first 2 s are not counted, because the groups are still smaller than later. In
# the first 2 s, 16 nodes settle a tenth fewer events per second than later.
WARM_S, SECONDS = 2.0, 4.0
SHARED = "PostgreSQL's cores", "the disk of its log"
FULL = 0.9  # a resource that is busy for this share of the time counts as saturated


class Stages(Struct, frozen=True, rename="camel"):
    """The costs of an event in one scenario: CPU microseconds by stage, and bytes of PostgreSQL's log.
    `source`: version and commit."""

    scenario: str
    cpu: str
    source: str
    split: dict[str, float]
    log_bytes: float


class Costs(Struct, frozen=True):
    """The CPU seconds of a load. A node spends `accept_s` on an event before the client gets the answer,
    and `deliver_s` after the answer. A node spends `node_group_s` on each group of events. The two nodes
    of a relayed request each spend half of `relay_s`."""

    accept_s: float
    deliver_s: float
    node_group_s: float
    database_event_s: float
    database_group_s: float
    relay_s: float
    log_bytes: float  # of an event


class Disk(Struct, frozen=True):
    """The disk of PostgreSQL's log."""

    flush_s: float
    bytes_s: float


class Shape(Struct, frozen=True):
    """A kind of load. `relayed`: a load balancer sends each request to any node, and this node relays the
    request to the node that owns the workspace. Otherwise, clients send to the owner."""

    name: str
    costs: Costs
    connections: int
    batch: int
    relayed: bool


class Found(Struct, frozen=True):
    """The deliveries a second, and for each resource the share of the time in which it was busy."""

    per_second: float
    shares: dict[str, float]


def kept(path: Path = FILE) -> list[Stages]:
    """Return the stages kept in the repository."""
    return msgspec.json.decode(path.read_bytes(), type=list[Stages])


def measured(paths: Sequence[Path]) -> list[Stages]:
    """Return the costs by stage of every run in these files of results. Raises ValueError if a run has no
    profile."""
    found = []
    for run in (run for path in paths for run in read(path).runs):
        if not run.measurements or not run.measurements[0].split:
            raise ValueError(f"{run.scenario} has no profile: run it with --profile")
        first, source = run.measurements[0], run.source
        source_text = (
            f"{source.version}, {source.commit[:8]}{' with changes' if source.changed else ''}"
        )
        log_bytes = first.figures["logBytesPerEvent"]
        found.append(Stages(run.scenario, run.machine.cpu, source_text, first.split, log_bytes))
    return found


def shapes(stages: Sequence[Stages], relay_s: float, connections: int = CONNECTIONS) -> list[Shape]:
    """Return the loads to simulate. Raises ValueError if `stages` lacks a scenario."""
    by_name = {each.scenario: each for each in stages}
    if missing := {"single", "sixteen", "batch"} - by_name.keys():
        raise ValueError(f"the stages of {', '.join(sorted(missing))} are missing")
    single = _fitted(by_name["single"], by_name["sixteen"], relay_s)
    batch = _fitted(by_name["batch"], by_name["batch"], relay_s)
    return [
        Shape("single events, each at its node", single, connections, 1, relayed=False),
        Shape("single events through any node", single, connections, 1, relayed=True),
        Shape("batches of 100 through any node", batch, BATCH_CONNECTIONS, BATCH, relayed=True),
    ]


def _fitted(in_large: Stages, in_small: Stages, relay_s: float) -> Costs:
    """Split the measured CPU time per event into the cost of a group and the cost of an event. An event
    in a small group costs more, because fewer events share the cost of the group. The difference between
    `in_small` and `in_large` determines the cost of a group. Without a difference, a group costs 0."""
    large, small = in_large.split, in_small.split
    spread = 1 / GROUPS["sixteen"] - 1 / GROUPS["single"]
    groups = {True: 0.0, False: 0.0}  # True: of PostgreSQL; False: of the node
    events = {True: 0.0, False: 0.0}
    accept = 0.0
    for stage in large.keys() | small.keys():
        with_large, with_small = large.get(stage, 0.0) / 1e6, small.get(stage, 0.0) / 1e6
        group_s = max(0.0, (with_small - with_large) / spread)
        event_s = max(0.0, with_large - group_s / GROUPS["single"])
        of_database = stage.startswith(DATABASE)
        groups[of_database] += group_s
        events[of_database] += event_s
        if stage in ACCEPTING:
            accept += event_s
    return Costs(
        accept,
        events[False] - accept,
        groups[False],
        events[True],
        groups[True],
        relay_s,
        in_large.log_bytes,
    )


class _Core:
    def __init__(self) -> None:
        self.free_at = self.busy_s = 0.0

    def work(self, now: float, seconds: float) -> float:
        self.free_at = max(now, self.free_at) + seconds
        self.busy_s += seconds
        return self.free_at


class _Node:
    def __init__(self) -> None:
        self.core = _Core()
        self.waiting: list[int] = []  # clients
        self.outcomes = 0
        self.writing = self.settling = False


class Cluster:
    """A cluster under one load. A node commits groups of events, and later settles groups of outcomes.
    Each costs half of `node_group_s` and `database_group_s`, and of `database_event_s` for an event."""

    def __init__(self, nodes: int, shape: Shape, cores: int, disk: Disk) -> None:
        self._shape, self._costs = shape, shape.costs
        self._nodes = [_Node() for _ in range(nodes)]
        self._database = [0.0] * cores  # when each core is free
        heapify(self._database)
        self._database_busy_s = 0.0
        self._disk, self._disk_busy_s = disk, 0.0
        self._flushing = False
        self._log_bytes = 0.0
        self._to_flush: list[tuple[str, int, int]] = []
        self._agenda: list[tuple[float, int, str, int, int]] = []  # time, order, what, node, more
        self._order = count()
        self._clients = [node for node in range(nodes) for _ in range(shape.connections)]
        self._chance = Random(1)
        self._groups: dict[int, list[int]] = {}  # clients whose events a node commits
        self.settled = 0

    def run(self) -> Found:
        """Simulate; the warm-up does not count."""
        for client in range(len(self._clients)):
            self._at(self._chance.uniform(0, WAY_S), "request", client, 0)
        end = WARM_S + SECONDS
        before, warm = (0, [0.0], 0.0, 0.0), False
        while self._agenda:
            now, _, what, node, more = heappop(self._agenda)
            if not warm and now >= WARM_S:
                warm, before = True, self._counts()
            if now >= end:
                break
            getattr(self, f"_{what}")(now, node, more)
        after = self._counts()
        cores = [(b - a) / SECONDS for a, b in zip(before[1], after[1], strict=True)]
        return Found(
            (after[0] - before[0]) / SECONDS,
            {
                "the nodes' cores": sum(cores) / len(cores),
                SHARED[0]: (after[2] - before[2]) / SECONDS / len(self._database),
                SHARED[1]: (after[3] - before[3]) / SECONDS,
            },
        )

    def _counts(self) -> tuple[int, list[float], float, float]:
        cores = [node.core.busy_s for node in self._nodes]
        return self.settled, cores, self._database_busy_s, self._disk_busy_s

    def _at(self, time: float, what: str, node: int, more: int) -> None:
        heappush(self._agenda, (time, next(self._order), what, node, more))

    # --- a request

    def _request(self, now: float, client: int, _: int) -> None:
        home = self._clients[client]
        # The load balancer sends successive requests of a client to different nodes.
        entry = (client + next(self._order)) % len(self._nodes) if self._shape.relayed else home
        if entry == home:
            self._arrived(now, home, client)
        else:
            sent = self._nodes[entry].core.work(now, self._costs.relay_s / 2)
            self._at(sent, "relayed", home, client)

    def _relayed(self, now: float, home: int, client: int) -> None:
        self._nodes[home].core.work(now, self._costs.relay_s / 2)
        self._arrived(now, home, client)

    def _arrived(self, now: float, home: int, client: int) -> None:
        done = self._nodes[home].core.work(now, self._costs.accept_s * self._shape.batch)
        self._at(done, "wait", home, client)

    def _wait(self, now: float, home: int, client: int) -> None:
        node = self._nodes[home]
        node.waiting.append(client)
        if not node.writing:
            self._write(now, home)

    def _write(self, now: float, home: int) -> None:
        node = self._nodes[home]
        node.writing = True
        ready = node.core.work(now, self._costs.node_group_s / 2)
        self._at(ready, "commit", home, 0)

    # --- PostgreSQL

    def _commit(self, now: float, home: int, _: int) -> None:
        node = self._nodes[home]
        group, node.waiting = node.waiting, []
        self._groups[home] = group
        self._at(self._statement(now, len(group) * self._shape.batch), "log", home, 0)

    def _settle(self, now: float, home: int, events: int) -> None:
        self._at(self._statement(now, events), "log", home, events)

    def _statement(self, now: float, events: int) -> float:
        seconds = (self._costs.database_group_s + self._costs.database_event_s * events) / 2
        done = max(now, heappop(self._database)) + seconds
        heappush(self._database, done)
        self._database_busy_s += seconds
        self._log_bytes += self._costs.log_bytes * events / 2
        return done

    def _log(self, now: float, home: int, settled: int) -> None:
        self._to_flush.append(("settled" if settled else "committed", home, settled))
        if not self._flushing:
            self._flush(now)

    def _flush(self, now: float) -> None:
        self._flushing = True
        seconds = self._disk.flush_s + self._log_bytes / self._disk.bytes_s
        self._disk_busy_s += self._log_bytes / self._disk.bytes_s
        self._log_bytes = 0.0
        for what, home, more in self._to_flush:
            self._at(now + seconds, what, home, more)
        self._to_flush = []
        self._at(now + seconds, "flushed", 0, 0)

    def _flushed(self, now: float, _: int, __: int) -> None:
        self._flushing = False
        if self._to_flush:
            self._flush(now)

    # --- after a commit

    def _committed(self, now: float, home: int, _: int) -> None:
        node = self._nodes[home]
        for client in self._groups.pop(home):
            self._at(now + self._chance.uniform(0, WAY_S), "request", client, 0)
            sent = node.core.work(now, self._costs.deliver_s * self._shape.batch)
            self._at(sent, "outcome", home, self._shape.batch)
        node.writing = False
        if node.waiting:
            self._write(now, home)

    def _outcome(self, now: float, home: int, events: int) -> None:
        node = self._nodes[home]
        node.outcomes += events
        if not node.settling:
            node.settling = True
            self._at(now + OUTCOMES_S, "gather", home, 0)

    def _gather(self, now: float, home: int, _: int) -> None:
        node = self._nodes[home]
        ready = node.core.work(now, self._costs.node_group_s / 2)
        events, node.outcomes = node.outcomes, 0
        self._at(ready, "settle", home, events)

    def _settled(self, now: float, home: int, events: int) -> None:
        node = self._nodes[home]
        self.settled += events
        node.settling = bool(node.outcomes)
        if node.settling:
            wait_s = 0.0 if node.outcomes >= OUTCOMES else OUTCOMES_S
            self._at(now + wait_s, "gather", home, 0)


def main(arguments: Sequence[str]) -> int:
    """Print the results. The exit code is 1 if, for the loads without relays, the deliveries per second
    do not increase linearly with the number of nodes."""
    parser = argparse.ArgumentParser(prog="python -m bench cluster", description=__doc__)
    parser.add_argument("--from", dest="files", type=Path, nargs="+", help="results with profiles")
    parser.add_argument("--keep", action="store_true", help=f"keep their stages in {FILE.name}")
    parser.add_argument("--cores", type=int, default=32, help="of PostgreSQL (%(default)s)")
    parser.add_argument("--flush-ms", type=float, default=1.0, help="of its log (%(default)s)")
    parser.add_argument(
        "--log-mb", type=float, default=500.0, help="of its log a second (%(default)s)"
    )
    parser.add_argument(
        "--relay-micros", type=float, default=300.0, help="CPU of a relayed request (%(default)s)"
    )
    parser.add_argument(
        "--connections", type=int, default=CONNECTIONS, help="of a node's clients (%(default)s)"
    )
    given = parser.parse_args(arguments)
    try:
        stages = kept() if given.files is None else measured(given.files)
        loads = shapes(stages, given.relay_micros / 1e6, given.connections)
    except ValueError as error:
        parser.error(str(error))
    if given.keep:
        FILE.write_bytes(msgspec.json.format(msgspec.json.encode(stages), indent=1) + b"\n")
    console = Console(highlight=False, width=110)
    console.print(f"stages of {stages[0].cpu}, {stages[0].source}")
    disk = Disk(given.flush_ms / 1e3, given.log_mb * 1e6)
    linear = True
    for load in loads:
        grows = _shown(load, given.cores, disk, console)
        linear = linear and (grows or load.relayed)
    return 0 if linear else 1


def _shown(load: Shape, cores: int, disk: Disk, console: Console) -> bool:
    """Print a load's results. Return True if deliveries per second grow linearly with the nodes."""
    table = Table(title=load.name, title_justify="left")
    for column in ("nodes", "deliveries/s", "of linear"):
        table.add_column(column, justify="right")
    clusters = {nodes: Cluster(nodes, load, cores, disk).run() for nodes in NODES}
    alone, most = clusters[NODES[0]], clusters[NODES[-1]]
    for name in alone.shares:
        table.add_column(name, justify="right")
    for nodes, found in clusters.items():
        busy = (f"{each:.0%}" for each in found.shares.values())
        share = _linear(found, alone, nodes)
        table.add_row(f"{nodes}", f"{found.per_second:,.0f}", f"{share:.0%}", *busy)
    console.print(table)
    first = max(most.shares, key=most.shares.__getitem__)
    shared = max(SHARED, key=most.shares.__getitem__)
    full = NODES[-1] * FULL / most.shares[shared]
    console.print(
        f"  The busiest resource with {NODES[-1]} nodes: {first}. The first shared resource to be"
        f" {FULL:.0%} busy would be {shared}, with {full:.0f} nodes.\n"
    )
    return _linear(most, alone, NODES[-1]) >= LINEAR


def _linear(found: Found, alone: Found, nodes: int) -> float:
    return found.per_second / alone.per_second / nodes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
