"""The latency of a healthy tenant alone and together with the worst neighbours.

Each round measures the tenant three times: alone, with the neighbour on the tenant's server, and with
the neighbour on a second server of the same machine. Even on the second server, the neighbour slows the
tenant down, because both servers share the machine's processors. "The machine's part" is this slowdown:
the tenant's latency with the neighbour on the second server, divided by the latency alone.

With several nodes, the neighbour's workspace and the tenant's belong to different nodes of one database.
The memory and the descriptors of the tenant's server are measured, too.
"""

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple

from bench.checks import Broken, require
from bench.neighbours import Neighbour, named
from bench.papers import Papers
from bench.posting import load
from bench.processes import descriptors, rss_mb
from bench.programs import serving
from bench.results import Measurement
from bench.scenario import measurement_of
from bench.service import Figures, Receiver, Service, call
from bench.yard import Yard
from engine.nodes.parts import number_of

BAR = 1.5  # the highest allowed ratio of the p99 from request to receiver: with a neighbour / alone
DESTINATIONS = 10
CONNECTIONS = 64  # enough that no event of the tenant waits for another
SAMPLE_S = 0.2  # between two samples of memory and descriptors
STEP_MS = 20.0  # the longest step of the loop; the server's log names longer ones
WARM = 400  # events after the start of a server


class Neighbourhood(Service):
    """A server with the bench's own certificate authority. For host names below `hangs.test`, DNS queries
    of this server get no answer."""

    def __init__(
        self, like: "Neighbourhood | None" = None, *, secure: bool = False, workers: int = 1
    ) -> None:
        """With `like`, this server uses the certificate authority of the server `like`, and must end
        before `like` ends. `secure`: serve with TLS."""
        self.papers: Papers = Papers() if like is None else like.papers
        self._lent = like is not None
        os.environ["SSL_CERT_FILE"] = self.papers.authority  # for all programs of the bench
        settings = {
            "ANGARIUM_LOOP_STEP": str(STEP_MS / 1000),
            "ANGARIUM_WORKERS": str(workers),
        }
        if secure:
            settings["ANGARIUM_TLS_CERT"] = settings["ANGARIUM_TLS_KEY"] = self.papers.key
        super().__init__(settings=settings, program="bench.served")
        if secure:
            self.url = self.url.replace("http", "https", 1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        if not self._lent:
            del os.environ["SSL_CERT_FILE"]
            self.papers.cleanup()


class Watch(threading.Thread):
    """The sampler of the server's memory and descriptors; it keeps the highest values of any node."""

    def __init__(self, service: Service, nodes: int = 1) -> None:
        super().__init__(daemon=True)
        self._nodes = service.nodes() if nodes > 1 else [service.pid]
        self._over = threading.Event()
        self.rss_mb = self.descriptors = 0.0
        self._look()
        self.first_mb = self.rss_mb

    def run(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self._look()

    def _look(self) -> None:
        self.rss_mb = max(self.rss_mb, *map(rss_mb, self._nodes))
        self.descriptors = max(self.descriptors, *map(descriptors, self._nodes))

    def end(self) -> None:
        """Stop sampling."""
        self._over.set()
        self.join()


class Healthy:
    """The tenant whose latency is measured."""

    def __init__(self, service: Service, receiver: Receiver, rate: int, seconds: int) -> None:
        self._service, self._receiver = service, receiver
        self._rate, self._seconds = rate, seconds
        self._next = 0
        for number in range(DESTINATIONS):
            service.destination(
                f"{receiver.url}/healthy/{number}", [f"healthy.{number}"], concurrency=16
            )

    def warm(self) -> None:
        """Post some events after the start of a server."""
        self._post(min(WARM, self._rate * self._seconds))

    def round(self) -> Figures:
        """Post the tenant's events for one round of `seconds`; return latencies and throughput."""
        return self._post(self._rate * self._seconds)

    def _post(self, count: int) -> Figures:
        self._receiver.reset()
        sent = load(
            self._service,
            events=count,
            connections=CONNECTIONS,
            rate=self._rate,
            types=DESTINATIONS,
            stem="healthy",
            first=self._next,
        )
        self._next += count
        stats = self._receiver.wait(count)
        require(sent["accepted"] == count, f"accepted {sent['accepted']} of {count}: {sent}")
        require(stats["unique"] == count, f"received {stats['unique']} of {count}")
        return {
            "connect": sent["connectMs"],
            "accept p50": sent["ackP50Ms"],
            "accept p99": sent["ackP99Ms"],
            "end to end p50": stats["p50Ms"],
            "end to end p99": stats["p99Ms"],
            "per second": count / (stats["last"] - sent["began"]),
        }


def isolation(
    service: Service,
    receiver: Receiver,
    *,
    worst: str,
    rate: int,
    seconds: int,
    rounds: int,
    percent: int,
    held: int,
    nodes: int,
) -> Measurement:
    """Measure with each neighbour in `worst` (comma-separated names, or `all`), at `percent` of the
    neighbour's full size. If a promise is broken with one neighbour, the run continues with the next.

    `held`: compare a figure with `BAR`. The figure is the ratio of the tenant's latency with and without
    the neighbour, divided by the same ratio with the neighbour on a second server. `nodes`: the number of
    the server's workers. If there are several, the neighbour and the tenant belong to different workers.
    """
    assert isinstance(service, Neighbourhood)
    chosen = named(worst)
    found = Found()
    with ExitStack() as stack:
        ports = stack.enter_context(serving("bench.hostile_receiver", service.papers.key))
        for secure in (False, True):
            group = [each for each in chosen if each.secure is secure]
            if not group:
                continue
            # The tenant is always on the first server. Both servers have the same number of workers. If
            # the second server had fewer, it could use fewer cores, and a neighbour there would take less
            # CPU time from the tenant.
            alike = partial(Neighbourhood, service, secure=secure, workers=nodes)
            service.settings["ANGARIUM_WORKERS"] = str(nodes)  # from its next start on
            servers = [stack.enter_context(alike()) if secure else service]
            if held:
                servers.append(stack.enter_context(alike()))
            healthy = Healthy(servers[0], receiver, rate, seconds)
            for neighbour in group:
                began = time.monotonic()
                _fresh(servers[0], healthy)
                yards = [
                    Yard(each, _neighbour(each, neighbour.name, nodes), ports, seconds, percent)
                    for each in servers
                ]
                try:
                    found.add(neighbour.name, _measured(neighbour, yards, healthy, rounds, nodes))
                except Broken as verdict:
                    found.broken[neighbour.name] = str(verdict)
                found.tell(neighbour.name, time.monotonic() - began)
    return found.measurement(held=bool(held))


class Found:
    """The figures with each neighbour."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self._figures: Figures = {}
        self._ratios: dict[str, float] = {}
        self._steps: dict[str, Steps] = {}

    def add(self, name: str, measured: "Measured") -> None:
        """Add the figures with a neighbour."""
        self._figures |= {f"{name}: {each}": value for each, value in measured.figures.items()}
        self._ratios[name] = measured.ratio / measured.machines
        self._steps[name] = measured.steps

    def tell(self, name: str, took_s: float) -> None:
        """Print a line about a neighbour, because a whole run takes half an hour."""
        said = self.broken.get(name) or f"{self._ratios[name]:.2f} x, {self._steps[name].text()}"
        sys.stdout.write(f"{name} ({took_s:.0f} s): {said}\n")
        sys.stdout.flush()

    def measurement(self, *, held: bool) -> Measurement:
        """Return the measurement. `held`: the bar applies."""
        figures, ratios = self._figures, self._ratios
        if ratios:
            figures["worstRatio"] = round(max(ratios.values()), 2)
            figures["longestStepMs"] = max(each.longest_ms for each in self._steps.values())
            figures["mostStepCpuMs"] = max(each.most_cpu_ms for each in self._steps.values())
        if held and (over := {name: each for name, each in ratios.items() if each > BAR}):
            figures["over the bar"] = ", ".join(f"{name} {each:.2f}" for name, each in over.items())
        measurement = measurement_of(figures)
        if self.broken:
            measurement.verdict = "broken"
            said = (f"beside {name} {said}" for name, said in self.broken.items())
            measurement.reason = "; ".join(said)
        return measurement


def _fresh(service: Service, healthy: Healthy) -> None:
    """Restart the server, so that its longest step and memory show only the next neighbour's effect."""
    service.stop()
    service.start()
    service.wait_known(service.key)
    healthy.warm()


def _neighbour(service: Service, name: str, nodes: int) -> str:
    """Create a workspace for the neighbour; return its key. With several nodes, the workspace belongs to
    another node than the healthy tenant's workspace."""
    for number in count():
        key = service.workspace(f"{name} {number}")
        if nodes == 1 or _part(service, key, nodes) != _part(service, service.key, nodes):
            break
    return key


def _part(service: Service, key: str, nodes: int) -> int:
    known = call("GET", f"{service.url}/auth/context", key=key)
    return number_of(known["workspaceId"], nodes)


def _measured(
    neighbour: Neighbour, yards: Sequence[Yard], healthy: Healthy, rounds: int, nodes: int
) -> "Measured":
    """Measure the tenant without a neighbour, and with the neighbour in each of `yards`. The first yard
    is a workspace on the tenant's server. A second yard is a workspace on another server."""
    for yard in yards:
        neighbour.prepare(yard)
        if neighbour.switched:
            yard.switch(False)
    alone: list[Figures] = []
    with_it: list[list[Figures]] = [[] for _ in yards]
    watch = Watch(yards[0].service, nodes)
    watch.start()
    try:
        for _ in range(rounds):
            alone.append(healthy.round())
            for yard, found in zip(yards, with_it, strict=True):
                found.append(_round(neighbour, yard, healthy))
    finally:
        watch.end()
    figures: Figures = {"about": neighbour.about}
    ratio = machines = 1.0
    for name in alone[0]:
        one, beside, *elsewhere = (
            statistics.median(each[name] for each in runs) for runs in (alone, *with_it)
        )
        unit = "" if name == "per second" else " ms"
        there = f", {elsewhere[0]:.2f} with it at another server" if elsewhere else ""
        figures[name] = f"{one:.2f}{unit} alone, {beside:.2f} beside{there}, {beside / one:.2f} x"
        if name == "end to end p99":
            ratio, machines = beside / one, max([one, *elsewhere]) / one
            figures["end to end p99 ratio"] = round(ratio, 2)
            figures["of which the machine's"] = round(machines, 2)
    figures["rssMb"] = f"{watch.first_mb:.0f}, at most {watch.rss_mb:.0f}"
    figures["descriptors"] = f"at most {watch.descriptors}"
    steps = Steps(yards[0].service, nodes)
    figures["loop"] = steps.text()
    return Measured(figures, ratio, machines, steps)


class Steps:
    """The longest steps of a server's event loop since the server's start. With several nodes, these are
    the steps of the healthy tenant's node."""

    def __init__(self, service: Service, nodes: int) -> None:
        path = f"{service.url}/observability/throughput?environment=DEVELOPMENT"
        known = call("GET", path, key=service.key)["loop"]
        self.count: int = known["longSteps"]
        self.longest_ms: float = known["longestStepMs"]
        self.most_cpu_ms: float = known["mostStepCpuMs"]
        worker = f"-{_part(service, service.key, nodes) + 1}" if nodes > 1 else ""
        self._named = [
            each for each in _named_since_start(service) if each.get("worker", "").endswith(worker)
        ]

    def text(self) -> str:
        """Return a line about the steps."""
        named = max(self._named, key=lambda each: float(each["step_ms"]), default=None)
        doing = "" if named is None else f" ({named['doing'] or named['task']})"
        return (
            f"longest step {self.longest_ms:.1f} ms{doing}, {self.count} over {STEP_MS:.0f} ms, "
            f"most CPU of a step {self.most_cpu_ms:.1f} ms"
        )


class Measured(NamedTuple):
    """The results with one neighbour."""

    figures: Figures
    ratio: float  # the healthy tenant's end-to-end p99, divided by that alone
    machines: float  # the machine's part of the ratio
    steps: Steps


def _named_since_start(service: Service) -> list[dict[str, Any]]:
    """The log has at most one long step a second."""
    lines = service.log_file.read_bytes()[service.log_start :].splitlines()
    return [json.loads(each) for each in lines if b"loop.step_held" in each]


def _round(neighbour: Neighbour, yard: Yard, healthy: Healthy) -> Figures:
    neighbour.refill(yard)
    if neighbour.switched:
        yard.switch(True)
    neighbour.begin(yard)
    try:
        return healthy.round()
    finally:
        yard.stop()
        if neighbour.switched:
            yard.switch(False)
