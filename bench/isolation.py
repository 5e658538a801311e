"""A healthy tenant alone, and beside the worst neighbours: its latency, and the server's memory and
descriptors.

Rounds are taken in turns, alone, beside the neighbour, and with the neighbour at another server of this
machine, so that a noisy machine disturbs all alike. The result is the ratio of the medians over the
rounds, and the machine's part of it. That part is the effect of a neighbour at another server: it takes
processors from the healthy tenant's load generator, receiver and server.
"""

import statistics
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from bench.checks import Broken, require
from bench.neighbours import Neighbour, Yard, named
from bench.papers import Papers
from bench.posting import load
from bench.programs import serving
from bench.results import Measurement
from bench.scenario import told
from bench.service import Figures, Receiver, Service, call

BAR = 1.5  # times its own p99 alone that the healthy one's may be, from request to receiver
DESTINATIONS = 10
CONNECTIONS = 64  # so many that none of its events waits for another's answer
SAMPLE_S = 0.2  # between two looks at memory and descriptors


class Neighbourhood(Service):
    """A server whose names hang below `hangs.test`, and which trusts an authority of the bench."""

    def __init__(self, like: "Neighbourhood | None" = None) -> None:
        """`like`: another such server, whose authority is trusted, and which outlives this one."""
        self.papers: Papers = Papers() if like is None else like.papers
        self._lent = like is not None
        super().__init__(settings={"SSL_CERT_FILE": self.papers.authority}, program="bench.served")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server and forget the certificates."""
        super().__exit__(kind, error, trace)
        if not self._lent:
            self.papers.cleanup()


class Watch(threading.Thread):
    """The watch on the server's memory and descriptors, until it is ended."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._over = threading.Event()
        self.rss_mb = service.rss_mb()
        self.descriptors = service.descriptors()

    def run(self) -> None:
        """Keep the highest values seen."""
        while not self._over.wait(SAMPLE_S):
            self.rss_mb = max(self.rss_mb, self._service.rss_mb())
            self.descriptors = max(self.descriptors, self._service.descriptors())

    def end(self) -> None:
        """Stop looking."""
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

    def round(self) -> Figures:
        """Post at its pace for its seconds; return latencies and throughput, from request to receiver."""
        count = self._rate * self._seconds
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
) -> Measurement:
    """Measure beside each neighbour of `worst` (names with commas between, or `all`), at `percent` of its
    full size. `held`: whether the bar applies to the ratios. For that, further rounds have the neighbour
    at another server, and the bar applies to the rest of the ratio.

    If a promise breaks beside a neighbour, it is reported, and the next neighbour follows. All of them
    take half an hour."""
    assert isinstance(service, Neighbourhood)
    chosen = named(worst)
    healthy = Healthy(service, receiver, rate, seconds)
    healthy.round()  # warm
    figures: Figures = {}
    ratios: dict[str, float] = {}
    broken: dict[str, Broken] = {}
    with ExitStack() as stack:
        ports = stack.enter_context(serving("bench.hostile_receiver", service.papers.key))
        servers = [service]
        if held:
            servers.append(stack.enter_context(Neighbourhood(service)))
        for neighbour in chosen:
            yards = [
                Yard(each, each.workspace(neighbour.name), ports, seconds, percent)
                for each in servers
            ]
            try:
                found = _measured(neighbour, yards, healthy, rounds)
            except Broken as verdict:
                broken[neighbour.name] = verdict
                continue
            figures |= {f"{neighbour.name}: {name}": value for name, value in found.items()}
            ratios[neighbour.name] = found["end to end p99 ratio"] / found["of which the machine's"]
    if ratios:
        figures["worstRatio"] = round(max(ratios.values()), 2)
    if held and (over := {name: round(each, 2) for name, each in ratios.items() if each > BAR}):
        figures["over the bar"] = ", ".join(f"{name} {each}" for name, each in over.items())
    measurement = told(figures)
    if broken:
        measurement.verdict = "broken"
        measurement.reason = "; ".join(f"beside {name} {said}" for name, said in broken.items())
    return measurement


def _measured(
    neighbour: Neighbour, yards: Sequence[Yard], healthy: Healthy, rounds: int
) -> Figures:
    """Measure alone, beside one neighbour, and with it at another server if there is one, in turns."""
    for yard in yards:
        neighbour.prepare(yard)
        if neighbour.switched:
            yard.switch(False)
    alone: list[Figures] = []
    with_it: list[list[Figures]] = [[] for _ in yards]
    before = yards[0].service.rss_mb()
    watch = Watch(yards[0].service)
    watch.start()
    try:
        for _ in range(rounds):
            alone.append(healthy.round())
            for yard, found in zip(yards, with_it, strict=True):
                found.append(_round(neighbour, yard, healthy))
    finally:
        watch.end()
    figures: Figures = {"about": neighbour.about}
    for name in alone[0]:
        one, beside, *elsewhere = (
            statistics.median(each[name] for each in runs) for runs in (alone, *with_it)
        )
        unit = "" if name == "per second" else " ms"
        there = f", {elsewhere[0]:.2f} with it at another server" if elsewhere else ""
        figures[name] = f"{one:.2f}{unit} alone, {beside:.2f} beside{there}, {beside / one:.2f} x"
        if name == "end to end p99":
            figures["end to end p99 ratio"] = round(beside / one, 2)
            figures["of which the machine's"] = round(max([one, *elsewhere]) / one, 2)
    figures["rssMb"] = f"{before:.0f}, at most {watch.rss_mb:.0f}"
    figures["descriptors"] = f"at most {watch.descriptors}"
    figures["loop"] = _loop(yards[0].service)
    return figures


def _loop(service: Service) -> str:
    """Return how long a step of the server's loop was at most, since its start."""
    path = f"{service.url}/observability/throughput?environment=DEVELOPMENT"
    known = call("GET", path, key=service.key)["loop"]
    return (
        f"longest step {known['longestStepMs']:.1f} ms, {known['longSteps']} over "
        f"{known['limitMs']:.0f} ms, most CPU of a step {known['mostStepCpuMs']:.1f} ms"
    )


def _round(neighbour: Neighbour, yard: Yard, healthy: Healthy) -> Figures:
    """Measure while a neighbour is active."""
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
