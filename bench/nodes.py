"""The cost of sharing a server's work among worker processes. Servers with one, two and four workers are
measured in turns.
"""

import os
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.checks import require, whole
from bench.crowding import Crowd, crowd
from bench.intervals import ratios
from bench.latency import histogram, latency_figures
from bench.limits import verdict
from bench.posting import load
from bench.processes import own_cpu_s, tree
from bench.resting import recorded
from bench.results import Measurement
from bench.scenario import Bars
from bench.service import Figures, Receiver, Service
from bench.work import Done, work

SINGLES_OVER_ONE = 1.20  # CPU of an event: workers over one process
BATCHES_OVER_ONE = 1.15
HOT_OVER_ONE = 0.95  # deliveries a second of one hot destination
TWO_OVER_ONE = 1.8  # deliveries a second, if generator and receiver have their own cores
ENOUGH_CORES = 4  # two workers, generator, receiver and database
RELAYED_P50_MS, RELAYED_P99_MS = 2.5, 8.0  # from request to receiver, through another worker
NAMES = {1: "one", 2: "two", 4: "four"}


def bars() -> Bars:
    """Return the bars that apply to this machine."""
    cost = {"One": SINGLES_OVER_ONE, "OneBatches": BATCHES_OVER_ONE}
    found: Bars = {
        f"{name}Over{over}": {"atMost": most}
        for over, most in cost.items()
        for name in ("two", "four")
    }
    found["fourOverOneHot"] = {"atLeast": HOT_OVER_ONE}
    found["relayedP50Ms"] = {"atMost": RELAYED_P50_MS}
    found["relayedP99Ms"] = {"atMost": RELAYED_P99_MS}
    if _cores() >= ENOUGH_CORES:
        found["twoOverOnePerSecond"] = {"atLeast": TWO_OVER_ONE}
    return found


@dataclass(frozen=True)
class Shape:
    """A kind of work: a plan of the load generator, and the API keys of the environments to which the
    generator posts."""

    name: str
    plan: Figures
    keys: Sequence[str]


@dataclass(frozen=True)
class Turn:
    """One piece of work on one server."""

    times_floor: float  # CPU of an event
    per_second: float  # deliveries
    busiest: float  # the share of a core of the busiest server process
    void: str


def nodes(
    service: Service,
    receiver: Receiver,
    *,
    workspaces: int,
    events: int,
    connections: int,
    batches: int,
    batch_connections: int,
    hot: int,
    rounds: int,
    warm: int,
    rate: int,
    seconds: int,
) -> Measurement:
    """Compare a server with one process to servers with two and with four workers. The kinds of work are
    single events of many workspaces, batches of many workspaces, and events for one hot destination. Then
    measure the latencies of relayed events, at `rate` relayed events a second.

    `events`, `batches` and `hot`: the numbers of events of the three kinds. The results of the first
    `warm` rounds do not count. Then follow `rounds` rounds whose results count.
    """
    with ExitStack() as stack:
        made, servers = stack.enter_context(_servers(service, receiver, workspaces))
        own = {"keys": list(made.keys), "keys_of_connection": 1}
        shapes = (
            Shape("", {"events": events, "connections": connections, **own}, made.keys),
            Shape(
                "Batches",
                {"events": batches, "connections": batch_connections, "batch": 100, **own},
                made.keys,
            ),
            Shape(
                "Hot",
                {"events": hot, "connections": connections, "event_type": "hot"},
                [service.key],
            ),
        )
        found = Measurement(figures={}, notes={"cores": _cores_text()})
        for shape in shapes:
            _compare(shape, servers, receiver, rounds, warm, found)
        found.figures |= _relayed(servers[2], receiver, made, rate, seconds)
    return found


@contextmanager
def _servers(
    service: Service, receiver: Receiver, workspaces: int
) -> Iterator[tuple[Crowd, dict[int, Service]]]:
    """Start servers with one, two and four workers. The data folders of the second and third server are
    copies of the first server's folder."""
    service.destination(receiver.url + "/hot", ["hot"], concurrency=64)
    like = service.destination(receiver.url + "/like", ["bench.*"], concurrency=64)
    made = crowd(service, like, receiver.url + "/{}", workspaces, customers=False, workspaces=True)
    service.stop()
    servers = {1: service}
    with ExitStack() as stack:
        for workers in (2, 4):
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="angarium-bench-"))
            )
            _copy(service.folder, folder)
            other = Service(folder, settings={"ANGARIUM_WORKERS": str(workers)})
            other.key, other.floor_requests = service.key, service.floor_requests
            servers[workers] = other
        for each in servers.values():
            each.start()
            if each is not service:
                stack.callback(each.stop)
            for key in made.keys:
                each.wait_known(key)
        yield made, servers


def _copy(source: Path, target: Path) -> None:
    """PostgreSQL's files must keep their owner, which is not root."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    for path in (source, *source.rglob("*")):
        owned = path.lstat()
        copied = target / path.relative_to(source)
        os.chown(copied, owned.st_uid, owned.st_gid, follow_symlinks=False)


def _compare(
    shape: Shape,
    servers: dict[int, Service],
    receiver: Receiver,
    rounds: int,
    warm: int,
    found: Measurement,
) -> None:
    turns: dict[int, list[Turn]] = defaultdict(list)
    order = list(servers)
    for number in range(-warm, rounds):
        for workers in order if number % 2 else order[::-1]:
            turn = _turn(shape, servers[workers], receiver)
            if number >= 0:
                turns[workers].append(turn)
                found.verdict = "void" if turn.void else found.verdict
                found.reason = turn.void or found.reason
    for workers, done in turns.items():
        name = NAMES[workers] + shape.name
        for figure, values, digits in (
            ("TimesFloor", [turn.times_floor for turn in done], 2),
            ("PerSecond", [turn.per_second for turn in done], 1),
            ("BusiestProcess", [turn.busiest for turn in done], 2),
        ):
            found.figures[name + figure] = round(statistics.median(values), digits)
    for workers in turns.keys() - {1}:
        title = f"{NAMES[workers]}OverOne{shape.name}"
        pace = [[turn.per_second for turn in turns[each]] for each in (1, workers)]
        if shape.name == "Hot":
            found.figures |= ratios(title, *pace)
            continue
        cost = [[turn.times_floor for turn in turns[each]] for each in (1, workers)]
        found.figures |= ratios(title, *cost)
        found.figures |= ratios(f"{title}PerSecond", *pace)


def _turn(shape: Shape, service: Service, receiver: Receiver) -> Turn:
    floor = receiver.floor(service.floor_requests)
    before = _by_process(service)
    began = time.monotonic()
    done: Done = work(
        service,
        receiver,
        shape.plan,
        lambda accepted: accepted,
        settled=lambda: all(recorded(service, key) for key in shape.keys),
    )
    sent, stats = done.sent, done.stats
    span_s = stats["last"] - sent["began"]
    after, most_s = _by_process(service), time.monotonic() - began
    accepted = sent["accepted"]
    require(accepted == shape.plan["events"], f"accepted {accepted}: {sent['answers']}")
    whole(sent, stats)
    busiest_s = max(now - before.get(pid, 0.0) for pid, now in after.items())
    return Turn(
        done.cpu_s / accepted * 1e6 / floor,
        stats["unique"] / span_s,
        busiest_s / min(span_s, most_s),
        verdict(sent, stats)[1],
    )


def _by_process(service: Service) -> dict[int, float]:
    assert service.process is not None
    others = {*tree(service.database_pid())}
    return {pid: own_cpu_s(pid) for pid in tree(service.process.pid) if pid not in others}


def _relayed(
    service: Service, receiver: Receiver, made: Crowd, rate: int, seconds: int
) -> dict[str, float]:
    """Return the latencies from request to receiver, for relayed events and for the other events.

    A connection belongs to the worker that owns the workspace of the connection's first event. Here, each
    connection posts to two workspaces in turns. The connection's worker owns the first workspace. The
    other worker owns the second workspace, so every second event is relayed to the other worker.
    """
    near, far = made.keys[0], made.keys[1]
    plan: Figures = {"keys": [near, far], "keys_of_connection": 2, "connections": 16}
    events, pace = 2 * rate * seconds, 2 * rate
    load(service, events=pace, rate=pace, **plan)
    receiver.wait(pace)
    receiver.reset()
    sent = load(service, events=events, rate=pace, first=pace, **plan)
    stats = receiver.wait(events)
    require(sent["accepted"] == events, f"accepted {sent['accepted']} of {events}: {sent}")
    whole(sent, stats)
    due = [(at - sent["began"] - (n - pace) / pace, path) for path, n, at in receiver.log()]
    receiver.reset()
    figures: dict[str, float] = {}
    for name, path in (("own", "/0"), ("relayed", "/1")):
        values = [late_s for late_s, each in due if each == path]
        require(bool(values), f"nothing arrived at {path}")
        for figure, value in latency_figures(histogram(values), name).items():
            if value is not None:
                figures[figure] = round(value, 3)
    return figures


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _cores_text() -> str:
    cores = _cores()
    if cores >= ENOUGH_CORES:
        return f"{cores}"
    return (
        f"{cores}: workers, database, generator and receiver share them. Deliveries a second do not show "
        "the gain of more workers; see the CPU of an event and the busiest process."
    )
