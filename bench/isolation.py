"""A healthy tenant alone, and beside the worst neighbours: its latency, and what the server holds.

Rounds are taken in turns, alone and beside, so that a noisy machine disturbs both alike. What is stated
is the ratio of the medians over the rounds.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme

from bench.checks import require
from bench.neighbours import Neighbour, Yard, named
from bench.posting import load
from bench.service import STOP_S, Figures, Receiver, Service

BAR = 1.5  # times its own p99 alone that the healthy one's may be, from request to receiver
DESTINATIONS = 10
CONNECTIONS = 64  # so many that none of its events waits for another's answer
SAMPLE_S = 0.2  # between two looks at memory and descriptors


class Neighbourhood(Service):
    """A server whose names hang below `hangs.test`, and which trusts an authority of the bench's own."""

    def __init__(self) -> None:
        self.papers = tempfile.TemporaryDirectory(prefix="angarium-papers-")
        folder = Path(self.papers.name)
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1")
        authority.cert_pem.write_to_path(folder / "authority.pem")
        certificate.cert_chain_pems[0].write_to_path(folder / "certificate.pem")
        certificate.private_key_pem.write_to_path(folder / "key.pem")
        super().__init__(
            settings={"SSL_CERT_FILE": str(folder / "authority.pem")}, program="bench.served"
        )

    def stop(self) -> None:
        """End the server and forget the certificates."""
        super().stop()
        self.papers.cleanup()

    @contextmanager
    def hostile(self) -> Iterator[dict[str, int]]:
        """Run a hostile receiver; give its ports."""
        folder = Path(self.papers.name)
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "bench.hostile_receiver"),
                *(str(folder / "certificate.pem"), str(folder / "key.pem")),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.root,
        )
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(STOP_S)
            process.stdout.close()


class Watch(threading.Thread):
    """Looks at the server's memory and descriptors until it is told to end."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._over = threading.Event()
        self.rss_mb = service.rss_mb()
        self.descriptors = service.descriptors()

    def run(self) -> None:
        """Keep the highest of what is seen."""
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
) -> Figures:
    """Measure beside each neighbour of `worst` (names with commas between, or `all`), which has `percent`
    of its full size. `held`: whether the bar is held, once all have been measured."""
    assert isinstance(service, Neighbourhood)
    healthy = Healthy(service, receiver, rate, seconds)
    healthy.round()  # warm
    figures: Figures = {}
    ratios: dict[str, float] = {}
    with service.hostile() as ports:
        for neighbour in named(worst):
            key = service.workspace(neighbour.name)
            yard = Yard(service, key, ports, seconds, percent)
            found = _beside(neighbour, yard, healthy, rounds)
            figures |= {f"{neighbour.name}: {name}": value for name, value in found.items()}
            ratios[neighbour.name] = found["end to end p99 ratio"]
    figures["worstRatio"] = max(ratios.values())
    over = {name: ratio for name, ratio in ratios.items() if ratio > BAR}
    require(not held or not over, f"p99 is more than {BAR} times its own alone: {over} {figures}")
    return figures


def _beside(neighbour: Neighbour, yard: Yard, healthy: Healthy, rounds: int) -> Figures:
    """Measure alone and beside one neighbour, in turns."""
    neighbour.prepare(yard)
    if neighbour.switched:
        yard.switch(False)
    alone: list[Figures] = []
    beside: list[Figures] = []
    before = yard.service.rss_mb()
    watch = Watch(yard.service)
    watch.start()
    try:
        for _ in range(rounds):
            alone.append(healthy.round())
            neighbour.refill(yard)
            if neighbour.switched:
                yard.switch(True)
            neighbour.begin(yard)
            try:
                beside.append(healthy.round())
            finally:
                yard.stop()
            if neighbour.switched:
                yard.switch(False)
    finally:
        watch.end()
    figures: Figures = {"about": neighbour.about}
    for name in alone[0]:
        one, other = (statistics.median(each[name] for each in runs) for runs in (alone, beside))
        unit = "" if name == "per second" else " ms"
        figures[name] = f"{one:.2f} alone, {other:.2f} beside{unit}, {other / one:.2f} x"
        if name == "end to end p99":
            figures["end to end p99 ratio"] = round(other / one, 2)
    figures["rssMb"] = f"{before:.0f}, at most {watch.rss_mb:.0f}"
    figures["descriptors"] = f"at most {watch.descriptors}"
    return figures
