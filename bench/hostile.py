"""The worst known inputs, sent to a server while another workspace posts 20 events/s.

`python -m bench.hostile [ROW ...]` runs rows of `bench.inputs`. The exit code is 1 if a limit is
exceeded, and 2 for an unknown row.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.inputs import ROWS, Place
from bench.isolation import STEP_MS, Watch
from bench.posting import begun, ended
from bench.service import Receiver, Service, call

RATE = 20  # events a second of the other workspace
NEIGHBOUR_MS = 500.0  # the most p99 of the other workspace, from due time to answer
LEAST_S = 8  # of a row: enough events of the other workspace for a p99


@dataclass(frozen=True)
class Step:
    """A long step of the server's event loop: its duration and its CPU time. If the duration is far more
    than the CPU time, other programs used the processor during the step."""

    ms: float
    cpu_ms: float
    doing: str


@dataclass(frozen=True)
class Cost:
    """The cost of one kind of input (a row of `bench.inputs`) for the server. `grown_mib`: the server's
    highest memory while the bench sends this input, minus its memory before."""

    cpu_ms: float
    step: Step | None
    grown_mib: float
    neighbour_ms: float

    def line(self) -> str:
        """Return the cost as a part of a line."""
        step = f"<= {STEP_MS:.0f} ms"
        if self.step is not None:
            step = f"{self.step.ms:.0f} ms, {self.step.cpu_ms:.0f} of CPU ({self.step.doing})"
        return (
            f"CPU {self.cpu_ms:,.0f} ms, longest step {step}, memory +{self.grown_mib:.0f} MiB, "
            f"neighbour's p99 {self.neighbour_ms:.0f} ms"
        )


class Loop:
    """Finds the long steps of a server's event loop since the creation of this object. It reads the steps
    from the server's log and statistics."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._before = self._read()
        self._logged = service.log_file.stat().st_size

    def longest(self) -> Step | None:
        """Return the long step with the most CPU time, or None if there was no long step.

        The server logs at most one long step a second, so the longest step can be missing in the log.
        Therefore the maximum in the server's statistics is used, too.
        """
        now = self._read()
        lines = self._service.log_file.read_bytes()[self._logged :].splitlines()
        named = [json.loads(each) for each in lines if b"loop.step_held" in each]
        steps = [
            Step(each["step_ms"], each["cpu_ms"], each["doing"] or each["task"]) for each in named
        ]
        for name in ("longestStepMs", "mostStepCpuMs"):
            if now[name] > max(self._before[name], STEP_MS):
                cpu_ms = now["mostStepCpuMs"] if name == "mostStepCpuMs" else 0.0
                steps.append(Step(now["longestStepMs"], cpu_ms, "since the start"))
        return max(steps, key=lambda step: (step.cpu_ms, step.ms), default=None)

    def _read(self) -> dict[str, float]:
        path = f"{self._service.url}/observability/throughput?environment=DEVELOPMENT"
        found: dict[str, float] = call("GET", path, key=self._service.key)["loop"]
        return found


def measured(place: Place, act: Callable[[Place], str], seconds: int) -> tuple[str, Cost]:
    """Run a row while the neighbour posts."""
    service = place.service
    neighbour = begun(service, events=RATE * seconds, connections=8, rate=RATE, event_type="calm")
    loop, watch = Loop(service), Watch(service)
    before_mb, cpu = watch.rss_mb, service.cpu_s()[0]
    watch.start()
    try:
        answered = act(place)
        sent = ended(neighbour, timeout_s=seconds + 120)
    finally:
        watch.end()
        if neighbour.poll() is None:
            neighbour.kill()
            neighbour.communicate()
    cpu_ms = (service.cpu_s()[0] - cpu) * 1000
    grown = (watch.rss_mb - before_mb) * 1e6 / 2**20
    if sent["accepted"] != RATE * seconds:
        place.breaks.append(f"the neighbour's answers: {sent['answers']}")
    return answered, Cost(cpu_ms, loop.longest(), grown, sent["ackP99Ms"])


def main(names: Sequence[str]) -> int:
    known = [row.name for row in ROWS]
    if strange := [name for name in names if name not in known]:
        sys.stderr.write(f"unknown rows: {', '.join(strange)}; the rows are {', '.join(known)}\n")
        return 2
    broken = 0
    settings = {"ANGARIUM_LOOP_STEP": str(STEP_MS / 1000)}
    with Receiver() as receiver, Service(settings=settings) as service:
        service.destination(f"{receiver.url}/calm", ["calm"])
        place = Place(service, receiver.url, service.workspace("hostile"))
        for row in ROWS:
            if names and row.name not in names:
                continue
            if row.prepare is not None:
                row.prepare(place)
            place.breaks.clear()
            began = time.monotonic()
            answered, cost = measured(place, row.act, max(LEAST_S, row.seconds))
            breaks = [*place.breaks, *broken_bars(cost, row.most_mib)]
            broken += bool(breaks)
            verdict = f"NOT HELD: {'; '.join(breaks)}" if breaks else "held"
            sys.stdout.write(
                f"{row.name} ({time.monotonic() - began:.0f} s) {row.sent}: {answered}. {cost.line()}. "
                f"Bar: {row.bar}: {verdict}\n"
            )
            sys.stdout.flush()
    return int(broken > 0)


def broken_bars(cost: Cost, most_mib: float) -> list[str]:
    """Return the common bars of all rows that a cost misses."""
    found = []
    if cost.neighbour_ms > NEIGHBOUR_MS:
        found.append(f"neighbour's p99 {cost.neighbour_ms:.0f} ms")
    if cost.step is not None and cost.step.cpu_ms > STEP_MS:
        found.append(f"a step of {cost.step.cpu_ms:.0f} ms of CPU")
    if cost.grown_mib > most_mib:
        found.append(f"{cost.grown_mib:.0f} MiB more")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
