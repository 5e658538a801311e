"""The limits of generator and receiver alone, and the detection of runs that reach them.

The generator and the receiver each have a single thread, so each is limited by one core. On a machine
with two cores, they share the cores with the server and its database. The throughput and latency of a
run then depend on all these programs. The CPU time for an event counts only the server and its
database. A run with a saturated generator or receiver is void.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.programs import Module, serving
from bench.service import Receiver

# A generator or receiver that is busy for a larger share of the time can make the run void, because its
# queue lengthens the latencies. At a share of 0.8, a request waits on average for the time of two
# requests (an M/D/1 queue), which is about 50 us. At 0.9, it waits for the time of 4.5 requests.
BUSY = 0.8
NEAR = 0.8  # the same bound for throughput, as a share of the limit
LATE_MS = 1.0  # a later request affects a p99 of a few milliseconds
OWN_SHARE = 0.5  # the largest share of a p99 that the generator's delay can have in a valid run
LEAST_REQUESTS = 1_000  # fewer are a burst
REQUESTS = 20_000  # a measurement of half a second
LEAST_MEASURED = 200
LARGE = 16_384  # bytes of a payload above which copying takes longer than the request
_SHAPE = {  # these fields of a plan determine the CPU of its requests
    *("connections", "batch", "sizes", "types", "zipf", "stem", "event_type"),
    *("lanes", "own_lanes", "seed"),
}


class Limit(Struct, frozen=True, rename="camel"):
    """The most requests a second that the generator can send, or the receiver can answer. `micros`: the
    program's CPU time for a request. `measured`: the requests a second in a measurement in which other
    programs used the cores, too."""

    micros: float
    measured: float

    @property
    def per_second(self) -> float:
        """Requests a second if the program has a core of its own."""
        return 1e6 / self.micros


class Limits(Struct, frozen=True, rename="camel"):
    """The limits of generator and receiver."""

    generator: Limit
    receiver: Limit


def measure(receiver: Receiver, plan: Mapping[str, Any] | None = None) -> Limits:
    """Measure the limits, then reset the receiver.

    For the generator's limit, the generator posts to a server that does nothing. For the receiver's
    limit, `bench.calibration` posts to the receiver.
    """
    posting = generator(plan or {})
    fed = Module.run("bench.calibration", f"{receiver.url}/floor", str(REQUESTS))
    cost = receiver.stats()["cpuMicrosPerRequest"]
    receiver.reset()
    return Limits(posting, Limit(float(cost), float(fed["perSecond"])))


def generator(plan: Mapping[str, Any]) -> Limit:
    """Measure the generator with a server that does nothing, in a closed loop."""
    shape = {name: value for name, value in plan.items() if name in _SHAPE}
    batch, sizes = int(shape.get("batch", 1)), shape.get("sizes", 0)
    weights = sum(weight for _, weight in sizes) if isinstance(sizes, list) else 1
    mean = (
        sum(size * weight for size, weight in sizes) / weights if isinstance(sizes, list) else sizes
    )
    requests = max(LEAST_MEASURED, int(REQUESTS / batch / (1 + mean / LARGE)))
    with serving("bench.null_server") as ports:
        whole = {**shape, "url": f"http://127.0.0.1:{ports['port']}", "key": "none"}
        sent = Module.run("bench.load", plan={**whole, "events": requests * batch})
    return Limit(sent["cpuS"] / sent["requests"] * 1e6, sent["requests"] / sent["wallS"])


def verdict(
    sent: Mapping[str, Any], stats: Mapping[str, Any], limits: Limits | None = None
) -> tuple[str, str]:
    """Return `void` and the reason if the generator or the receiver was the bottleneck; else `ok` and an
    empty text."""
    parts = sent.get("steps") or [sent]
    reason = next(filter(None, (_generator(part, limits) for part in parts)), "")
    if not reason and not sent.get("steps"):
        reason = _lateness(sent)
    reason = reason or _receiver(stats, limits)
    return ("void", reason) if reason else ("ok", "")


def _generator(part: Mapping[str, Any], limits: Limits | None) -> str:
    if part["requests"] < LEAST_REQUESTS:
        return ""
    at = f" at {part['rate']:g}/s" if "rate" in part else ""
    busy = part["busy"] > BUSY
    worked = f"the generator was busy for {part['busy']:.0%} of the time{at}"
    if (late := part.get("lateP99Ms")) is not None:
        if busy and late > LATE_MS:
            return f"{worked}, and {late:.1f} ms late"
        return ""
    per_second = part["requests"] / part["wallS"]
    if limits is not None and per_second > NEAR * limits.generator.per_second:
        return (
            f"{per_second:.0f} requests/s is {per_second / limits.generator.per_second:.0%} of"
            " the generator's limit"
        )
    return worked if busy else ""


def _lateness(sent: Mapping[str, Any]) -> str:
    late, whole = sent.get("lateP99Ms"), sent.get("ackP99Ms")
    if late is None or whole is None or late <= max(LATE_MS, OWN_SHARE * whole):
        return ""
    return f"{late:.1f} ms of the p99 of {whole:.1f} ms are delay of the generator"


def _receiver(stats: Mapping[str, Any], limits: Limits | None) -> str:
    if stats["requests"] < LEAST_REQUESTS:
        return ""
    if stats["busy"] > BUSY:
        return f"the receiver was busy for {stats['busy']:.0%} of the time"
    span = stats["last"] - stats["first"]
    if limits is None or span <= 0:
        return ""
    share = stats["requests"] / span / limits.receiver.per_second
    return f"requests arrived at {share:.0%} of the receiver's limit" if share > NEAR else ""


def main(arguments: Sequence[str]) -> int:
    argparse.ArgumentParser(prog="python -m bench limits", description=__doc__).parse_args(
        arguments
    )
    shapes: dict[str, dict[str, Any]] = {
        "generator, single events": {},
        "generator, batches of 100": {"connections": 8, "batch": 100},
        "generator, payloads of 200 KiB": {"connections": 8, "sizes": 204_800},
    }
    limits = {name: generator(plan) for name, plan in shapes.items()}
    with Receiver() as receiver:
        limits["receiver"] = measure(receiver).receiver
    table = Table(title="the limits of generator and receiver alone", title_justify="left")
    table.add_column("")
    for name in ("CPU, us a request", "requests/s with a core of its own", "requests/s now"):
        table.add_column(name, justify="right")
    for name, limit in limits.items():
        table.add_row(
            name, f"{limit.micros:.1f}", f"{limit.per_second:,.0f}", f"{limit.measured:,.0f}"
        )
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
