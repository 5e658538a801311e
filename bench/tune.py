"""`python -m bench tune`: find the best concurrency for a receiver. It tries several fixed settings,
then `auto`.

Each setting has its own destination on one server. Without `--rate`, a destination gets more events than
it can deliver. With `--rate`, it gets this number of events a second. Arrivals are counted after a
warm-up.
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, structs
from rich.console import Console
from rich.table import Table

from bench.checks import require
from bench.latency import decoded, latency
from bench.machine import machine, source
from bench.measure import named
from bench.posting import begun, ended
from bench.receiver.behaviour import written
from bench.results import Document, Measurement, Run, Step, write
from bench.service import Receiver, Service

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
AUTO = "auto"
ABOUT_KNEE = "aboutKnee"
WARM_S = 4.0  # until a fixed setting is stable: several answers of up to a second
FINDING_S = 15.0  # until `auto` has found its concurrency
MEASURED_S = 8.0
BATCH = 100
CONNECTIONS = 8
MOST_EVENTS = 120_000  # waiting events of one setting; posting more takes too long
NEARLY = 0.95  # a setting with this share of the best throughput counts as equally good
SETTLE_S = 70.0  # for attempts in flight: more than the longest timeout
BETTER = {"autoOfBest": "more", "autoP99OfKnee": "less"}
BARS = {"autoOfBest": {"atLeast": 0.9}, "autoP99OfKnee": {"atMost": 1.5}}


class Wanted(Struct, frozen=True):
    """The settings to try. `rate`: events a second; 0: more events than can be delivered."""

    receiver: dict[str, Any]
    widths: tuple[int, ...] = WIDTHS
    rate: float = 0.0
    seconds: float = MEASURED_S
    warm_s: float = WARM_S
    finding_s: float = FINDING_S

    def __post_init__(self) -> None:
        written(self.receiver)
        if not all(1 <= width <= WIDTHS[-1] for width in self.widths):
            raise ValueError(f"a concurrency is 1 to {WIDTHS[-1]}")
        if self.rate < 0 or self.seconds <= 0:
            raise ValueError("rate must be 0 or more, and seconds more than 0")

    def events(self, width: int | str, seconds: float) -> int:
        """Return the number of events to post: with a rate, the events of `seconds`; without a rate, more
        than the destination can deliver in `seconds`, up to `MOST_EVENTS`."""
        if self.rate:
            return max(1, round(self.rate * seconds))
        taken = WIDTHS[-1] if isinstance(width, str) else width
        taken = min(taken, self.receiver.get("places") or taken)
        each_s: float = self.receiver["latency"].get("ms", 0) / 1000
        if not each_s:
            return MOST_EVENTS
        return min(MOST_EVENTS, math.ceil(taken / each_s * seconds * 1.3) + BATCH)


def latency_of(text: str) -> dict[str, Any]:
    """Read a latency of the form `KIND:MS[:SIGMA or ALPHA]`. Raises ValueError for any other text."""
    kind, *numbers = text.split(":")
    names = {"none": (), "fixed": ("ms",), "lognormal": ("ms", "sigma"), "pareto": ("ms", "alpha")}
    if kind not in names or not bool(names[kind]) <= len(numbers) <= len(names[kind]):
        raise ValueError("a latency is none, fixed:MS, lognormal:MS:SIGMA or pareto:MS:ALPHA")
    given = zip(names[kind], numbers, strict=False)
    return {"kind": kind, **{name: float(number) for name, number in given}}


class Trying:
    """The trial of settings on a server and a receiver."""

    def __init__(
        self, service: Service, receiver: Receiver, wanted: Wanted, stem: str = ""
    ) -> None:
        """`stem` becomes a part of the paths and event types. With different stems, several receivers
        get different paths and event types."""
        self._service = service
        self._receiver = receiver
        self._wanted = wanted
        self._stem = stem

    def tried(self, width: int | str) -> Step:
        """Try one setting."""
        wanted, service, receiver = self._wanted, self._service, self._receiver
        warm_s = wanted.finding_s if width == AUTO else wanted.warm_s
        kind = f"tune{self._stem}.{width}"
        receiver.reset(wanted.receiver)
        made = service.destination(
            f"{receiver.url}/{kind}", [kind], concurrency=width, timeoutMs=60_000, retrySchedule=[]
        )
        load = begun(service, **self._plan(kind, width, warm_s + wanted.seconds))
        time.sleep(warm_s)
        receiver.wait_for(1)  # a generator on a busy machine takes seconds to begin
        if not wanted.rate:  # posting would use CPU of the deliveries
            load.wait()
        receiver.reset(wanted.receiver)
        before, began = receiver.counts(), time.monotonic()
        time.sleep(wanted.seconds)
        after, over = receiver.counts(), time.monotonic()
        stats, health = receiver.stats(), service.api("GET", f"/destinations/{made}/health")
        service.api("POST", f"/destinations/{made}/disable")
        ended(load, SETTLE_S)
        self._settle(made)
        require(after["duplicates"] == 0, f"{after['duplicates']} duplicates")
        held, health_ms = latency(decoded(stats["held"])), health["latencyMs"]
        figures = {
            "deliveredPerSecond": (after["received"] - before["received"]) / (over - began),
            "answerP50Ms": held.p50_ms if held.count else health_ms["p50"] or 0,
            "answerP99Ms": held.p99_ms if held.count else health_ms["p99"] or 0,
            "concurrency": health["queue"]["concurrency"],
            "suggested": health["queue"]["suggestedConcurrency"] or 0,
            "failed": after["failed"],
        }
        if wanted.rate:
            figures |= {"eventP50Ms": stats["p50Ms"] or 0, "eventP99Ms": stats["p99Ms"] or 0}
        value = health["queue"]["concurrency"] if isinstance(width, str) else width
        name = AUTO if isinstance(width, str) else "concurrency"
        rounded = {key: round(float(figure), 2) for key, figure in figures.items()}
        return Step(name, value, rounded, held if held.count else None)

    def _plan(self, kind: str, width: int | str, seconds: float) -> dict[str, Any]:
        events = self._wanted.events(width, seconds)
        plan: dict[str, Any] = {"event_type": kind}
        if self._wanted.rate:
            return plan | {"events": events, "rate": self._wanted.rate, "connections": CONNECTIONS}
        return plan | {"events": events, "batch": BATCH, "connections": CONNECTIONS}

    def _settle(self, destination: str) -> None:
        give_up = time.monotonic() + SETTLE_S
        while time.monotonic() < give_up:
            health = self._service.api("GET", f"/destinations/{destination}/health")
            if not health["queue"]["inFlight"]:
                return
            time.sleep(0.05)


def knee_of(steps: Sequence[Step], *, rate: float = 0.0) -> Step:
    """Return the smallest fixed setting with at least `NEARLY` of the best throughput. If the events were
    posted at a `rate`, the p99 of their latency must also be at most twice the best p99."""
    fixed = sorted((step for step in steps if step.name != AUTO), key=lambda step: step.value)
    most = max(step.figures["deliveredPerSecond"] for step in fixed)
    good = [step for step in fixed if step.figures["deliveredPerSecond"] >= NEARLY * most]
    if rate:
        soonest = min(step.figures["eventP99Ms"] for step in good)
        good = [step for step in good if step.figures["eventP99Ms"] <= 2 * soonest]
    return good[0]


def not_reached(steps: Sequence[Step], *, rate: float = 0.0) -> str:
    """Return a note if the best setting is the highest tried setting, because a higher setting could be
    better. Return "" if another setting is best, or if the best setting already sustains the rate."""
    highest = max(step.value for step in steps if step.name != AUTO)
    knee = knee_of(steps, rate=rate)
    if knee.value < highest or (rate and knee.figures["deliveredPerSecond"] >= NEARLY * rate):
        return ""
    return f"the knee was not reached: the best setting is the highest one, {highest:g}"


def judged(steps: Sequence[Step], *, rate: float = 0.0) -> dict[str, float]:
    """Return the comparison of `auto` with the best fixed setting."""
    knee = knee_of(steps, rate=rate)
    auto = next(step for step in steps if step.name == AUTO)
    best = max(s.figures["deliveredPerSecond"] for s in steps if s.name != AUTO)
    figures = {
        "knee": knee.value,
        "bestPerSecond": best,
        "suggestedAtKnee": knee.figures["suggested"],
        "autoConcurrency": auto.value,
        "autoPerSecond": auto.figures["deliveredPerSecond"],
        "autoOfBest": round(auto.figures["deliveredPerSecond"] / best, 3) if best else 0.0,
    }
    p99 = "eventP99Ms" if rate else "answerP99Ms"
    if knee.figures[p99]:
        figures["autoP99OfKnee"] = round(auto.figures[p99] / knee.figures[p99], 3)
    return figures


def swept(trying: Trying, wanted: Wanted) -> Measurement:
    """Try every setting, then `auto`."""
    steps = [trying.tried(width) for width in wanted.widths] + [trying.tried(AUTO)]
    said = not_reached(steps, rate=wanted.rate)
    notes = {ABOUT_KNEE: said} if said else {}
    return Measurement(figures=judged(steps, rate=wanted.rate), steps=steps, notes=notes)


RECEIVERS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "fixed": ({"latency": {"kind": "fixed", "ms": 200}}, (64, 256)),
    "varying": ({"latency": {"kind": "lognormal", "ms": 200, "sigma": 0.5}}, (64, 256)),
    "narrow": ({"latency": {"kind": "fixed", "ms": 100}, "places": 16}, (8, 16, 64)),
}


def adapting(
    service: Service,
    receiver: Receiver,
    *,
    receivers: str,
    seconds: float,
    warm: float,
    finding: float,
) -> Measurement:
    """Measure the concurrency `auto` (adapted by the server) and a few fixed concurrencies, at each of
    several receivers."""
    figures: dict[str, float] = {}
    notes: dict[str, str] = {}
    steps: list[Step] = []
    for name in receivers.split(","):
        behaviour, widths = RECEIVERS[name]
        wanted = Wanted(behaviour, widths, 0.0, seconds, warm, finding)
        found = swept(Trying(service, receiver, wanted, f".{name}"), wanted)
        steps += [structs.replace(step, name=f"{name} {step.name}") for step in found.steps]
        figures |= {named(name, key): each for key, each in found.figures.items()}
        notes |= {named(name, key): each for key, each in found.notes.items()}
    return Measurement(figures=figures, steps=steps, notes=notes)


def show(wanted: Wanted, measurement: Measurement, console: Console | None = None) -> None:
    """Print the results of the settings, and the conclusions."""
    rows = {"deliveredPerSecond": "events/s"}
    if wanted.rate:
        rows |= {"eventP50Ms": "event p50, ms", "eventP99Ms": "p99"}
    rows |= {"answerP50Ms": "answer p50, ms", "answerP99Ms": "p99", "suggested": "suggested"}
    knee = knee_of(measurement.steps, rate=wanted.rate)
    unseen = measurement.notes.get(ABOUT_KNEE)
    table = Table(title="results by concurrency", title_justify="left")
    table.add_column("concurrency")
    for words in rows.values():
        table.add_column(words, justify="right")
    for step in measurement.steps:
        label = f"{step.value:.0f}" + (" knee" if step is knee and not unseen else "")
        label = f"auto, at last {step.value:.0f}" if step.name == AUTO else label
        table.add_row(label, *(f"{step.figures[name]:g}" for name in rows))
    console = console or Console()
    console.print(table)
    for name, figure in measurement.figures.items():
        shown = unseen if unseen and name == "knee" else f"{figure:g}"
        console.print(f"{name:18} {shown}", highlight=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Exit code 2: it is invalid."""
    parser = argparse.ArgumentParser(prog="python -m bench tune", description=__doc__)
    parser.add_argument(
        "--destination-latency", default="lognormal:200:0.5", metavar="KIND:MS[:NUMBER]",
        help="the receiver's latency: none, fixed:MS, lognormal:MS:SIGMA, pareto:MS:ALPHA",
    )  # fmt: skip
    parser.add_argument(
        "--places", type=int, default=0, metavar="N",
        help="requests that the receiver handles at once; others wait; 0: all",
    )  # fmt: skip
    parser.add_argument(
        "--rate", type=float, default=0.0, metavar="N",
        help="events a second; 0: more than can be delivered",
    )  # fmt: skip
    parser.add_argument(
        "--concurrency", default=",".join(map(str, WIDTHS)), metavar="N,...",
        help="the fixed settings",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=MEASURED_S, help="seconds of each measurement"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    given = parser.parse_args(arguments)
    try:
        behaviour = {"latency": latency_of(given.destination_latency), "places": given.places}
        widths = tuple(int(each) for each in given.concurrency.split(","))
        wanted = Wanted(behaviour, widths, given.rate, given.seconds)
    except ValueError as error:
        parser.error(str(error))
    run = Run(
        scenario="tune",
        about="Several concurrencies, one after another, and then auto",
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        machine=machine(),
        source=source(),
        sizes={"receiver": behaviour, "rate": given.rate, "seconds": given.seconds},
        measurements=[],
        better=BETTER,
        bars=BARS,
    )
    with Receiver() as receiver, Service() as service:
        run.measurements.append(swept(Trying(service, receiver, wanted), wanted))
    show(wanted, run.measurements[0])
    if given.json is not None:
        write(given.json, Document([run]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
