"""`python -m bench drive`: put load on your own server, and check conditions. It only uses the API.

The command creates a destination and a rule, posts events, and counts the events that arrive at its
receiver. At the end, also after an interruption, it deletes the destination and the rule. Exit code 1: a
condition of --fail-if is met, an event was lost or had no answer, or the run is void. Exit code 2: the
run could not begin. Exit code 130: the run was interrupted (Ctrl-C, SIGTERM).
"""

import argparse
import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.checks import Broken, whole
from bench.latency import decoded, latency, latency_figures
from bench.limits import verdict
from bench.load.plan import Plan, own_payload
from bench.machine import machine, source
from bench.own_server import CONSENT, OwnServer, RefusedError, loopback
from bench.report.files import csv_text, svgs
from bench.report.table import show
from bench.results import Document, Measurement, Run, Step
from bench.runs import Files, failures
from bench.service import Module, Receiver
from bench.thresholds import bars
from bench.trust import trusting

BETTER = {
    "acceptedPerSecond": "more",
    "deliveredPerSecond": "more",
    "acceptP99Ms": "less",
    "deliveryP99Ms": "less",
}
EVENTS = 10_000  # the default of a closed loop
MOST_EVENTS = 5_000_000  # the receiver keeps 40 bytes of each
MOST_SECONDS = 3_600.0  # of all rates together
MOST_RATE = 100_000.0  # more than any generator of one thread posts
MOST_CONNECTIONS = 1_024
MOST_BATCH = 1_000
WARM = 500  # the first events are several times as expensive
INTERRUPTED = 130  # the exit code
STILL_S = 30.0  # after this time without an arrival, missing events count as lost


def main(arguments: Sequence[str]) -> int:
    given, parser = _given(arguments)
    try:
        with _ended_in_order():
            return _driven(given, parser)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was written\n")
        return INTERRUPTED


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C. CI ends a job with SIGTERM, and the run must then still delete its
    destination and its rule."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _driven(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    try:
        demanded = bars(given.fail_if)
        payloads = [path.read_text("utf-8") for path in given.payload]
        for text in payloads:
            own_payload(text)
        plan = _plan(given, payloads)
        _allowed(given)
        _make_room(given)
        measurement, environment = _measured(given, plan)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except RefusedError as error:
        parser.exit(2, f"{error}\n")
    run = Run(
        scenario="drive",
        about="your own server under load, through its API",
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        machine=machine(),
        source=source(),
        sizes={
            "url": given.url,
            "environment": environment,
            "rates": ", ".join(f"{rate:g}" for rate in given.rate) or "closed loop",
            "events": plan.events,
            "connections": plan.connections,
            "batch": plan.batch,
            "payloads": len(payloads) or "260 B",
        },
        measurements=[measurement],
        better=BETTER,
        bars=demanded,
    )
    show(run)
    _write(given, run)
    failed = failures([run], strict=True)
    for each in failed:
        sys.stderr.write(f"{each}\n")
    return int(bool(failed))


def _plan(given: argparse.Namespace, payloads: list[str]) -> Plan:
    """Raise ValueError if the plan is too large or contradictory."""
    rates, seconds = given.rate, given.duration
    if rates and given.events:
        raise ValueError("--rate and --duration determine the number of events: omit --events")
    if seconds is not None and not rates:
        raise ValueError("--duration needs --rate; without a rate give --events")
    seconds = 30.0 if seconds is None else seconds
    for value, most, name in (
        (max(rates, default=0), MOST_RATE, "--rate"),
        (seconds * len(rates), MOST_SECONDS, "--duration over all rates"),
        (given.connections, MOST_CONNECTIONS, "--connections"),
        (given.batch, MOST_BATCH, "--batch"),
    ):
        if value > most:
            raise ValueError(f"{name} is at most {most:g}")
    plan = Plan(
        url=given.url,
        key=given.key,
        cacert=given.cacert,
        events=0 if rates else given.events or EVENTS,
        steps=[[rate, seconds] for rate in rates],
        connections=given.connections,
        batch=given.batch,
        payloads=payloads,
        event_type=given.event_type or f"bench.drive.{secrets.token_hex(4)}",
        first=WARM,
        hdr=True,
        give_up_s=MOST_SECONDS + STILL_S,
    )
    if plan.events > MOST_EVENTS:
        raise ValueError(f"{plan.events} events are more than {MOST_EVENTS}")
    return plan


def _allowed(given: argparse.Namespace) -> None:
    """Raise RefusedError if the options are wrong. A server on another machine needs the option
    `--i-own-this-server`."""
    if urlsplit(given.url).scheme not in ("http", "https"):
        raise RefusedError("--url must begin with http:// or https://")
    if given.cacert and urlsplit(given.url).scheme == "http":
        raise RefusedError("--cacert is for https, and the URL has http.")
    ours = loopback(given.url)
    if not ours and not given.consent:
        raise RefusedError(
            f"{given.url} is not this machine. If it is your server, and its operator knows of the "
            f"load, say {CONSENT}."
        )
    if not ours and given.receiver_url is None:
        raise RefusedError("Say --receiver-url: the server there cannot reach 127.0.0.1 here.")


def _measured(given: argparse.Namespace, plan: Plan) -> tuple[Measurement, str]:
    host, port = given.receiver_bind
    with Receiver(host=host, port=port) as receiver:
        hook = (given.receiver_url or receiver.url).rstrip("/") + "/drive"
        trust = trusting(given.cacert) if urlsplit(given.url).scheme == "https" else None
        with OwnServer(
            given.url, given.key, hook, plan.event_type, given.concurrency, trust
        ) as server:
            warm = {
                "events": WARM,
                "steps": [],
                "first": 0,
                "connections": min(8, plan.connections),
            }
            sent = Module.run("bench.load", plan=_fields(plan) | warm)
            if not sent["accepted"]:
                raise RefusedError(f"The server accepted no event: {sent['answers']}")
            if receiver.wait(sent["accepted"], STILL_S)["unique"] == 0:
                raise RefusedError(
                    f"The server accepted events, but none arrived at {hook}. Read the deliveries in "
                    "the console: ANGARIUM_EGRESS_ALLOW must have the receiver's network."
                )
            receiver.reset()
            sent = Module.run("bench.load", plan=_fields(plan), timeout_s=MOST_SECONDS + 60)
            stats = receiver.wait(sent["accepted"], STILL_S)
            steps = [_step(each, receiver, plan.batch) for each in sent.get("steps", ())]
            return _judged(sent, stats, steps), server.environment


def _fields(plan: Plan) -> dict[str, Any]:
    """With steps, the generator computes the number of events."""
    fields = dict(vars(plan))
    return fields | ({"events": 0} if plan.steps else {})


def _judged(sent: Mapping[str, Any], stats: Mapping[str, Any], steps: list[Step]) -> Measurement:
    """Return the measurement. Its verdict is `broken` if an event was lost or invented, `failed` if an
    event had no answer, and `void` if the bench was the bottleneck."""
    offered = sent["accepted"] + sent["doubtful"] + _refused(sent) + sent.get("unsent", 0)
    arriving = stats["last"] - sent["began"]
    accept, delivery = decoded(sent["ack"]), decoded(stats["latency"])
    figures: dict[str, float | None] = {
        "acceptedPerSecond": sent["acceptedPerSecond"],
        "deliveredPerSecond": stats["unique"] / arriving if arriving > 0 else 0.0,
        "accepted": sent["accepted"],
        "delivered": stats["unique"],
        "duplicates": stats["duplicates"],
        "refusedPercent": 100 * _refused(sent) / max(1, offered),
        "unsentPercent": 100 * sent.get("unsent", 0) / max(1, offered),
        "wallS": sent["wallS"],
        **latency_figures(accept, "accept"),
        **latency_figures(delivery, "delivery"),
    }
    found = Measurement(
        figures={name: value for name, value in figures.items() if value is not None},
        latencies={"accept": latency(accept), "delivery": latency(delivery)},
        steps=steps,
        notes={
            "answers": ", ".join(f"{name}: {n}" for name, n in sent["answers"].items()),
            "tls": sent["tls"] or "none",
        },
    )
    found.verdict, found.reason = verdict(sent, stats)
    if unanswered := {name: n for name, n in sent["answers"].items() if not name.isdecimal()}:
        said = ", ".join(f"{name}: {n}" for name, n in unanswered.items())
        found.verdict = "failed"
        found.reason = f"{sum(unanswered.values())} events had no answer: {said}"
    try:
        whole(sent, stats, repeats=True)
    except Broken as broken:
        found.verdict, found.reason = "broken", str(broken)
    return found


def _refused(sent: Mapping[str, Any]) -> int:
    return sum(n for status, n in sent["answers"].items() if status != "202")


def _step(part: Mapping[str, Any], receiver: Receiver, batch: int) -> Step:
    first = part["first"]
    found = decoded(receiver.stats(first, first + part["begun"] + batch)["latency"])
    figures = {
        "acceptedPerSecond": part["acceptedPerSecond"],
        "unsent": part["unsent"],
        **latency_figures(decoded(part["ack"]), "accept"),
        **latency_figures(found, "delivery"),
    }
    kept = {name: value for name, value in figures.items() if value is not None}
    return Step("rate", part["rate"], kept, latency(found))


def _make_room(given: argparse.Namespace) -> None:
    """An OSError must come before the measurement."""
    for path in filter(None, (given.json, given.csv, given.html)):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise ValueError(f"{path} cannot be written")
    if given.plots is not None:
        given.plots.mkdir(parents=True, exist_ok=True)


def _write(given: argparse.Namespace, run: Run) -> None:
    Files(given.json, given.html).write(Document([run]))
    if given.csv is not None:
        given.csv.write_text(csv_text(run), "utf-8")
    if given.plots is not None:
        for name, text in svgs(run):
            (given.plots / name).write_text(text, "utf-8")


def _given(arguments: Sequence[str]) -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(prog="python -m bench drive", description=__doc__)
    add = parser.add_argument
    add("--url", required=True, help="the server: http://127.0.0.1:8080, or https://...")
    add("--cacert", default="", metavar="FILE",
        help="authorities (PEM) of an https server (default: the system's)")  # fmt: skip
    add("--key", required=True, help="an API key with scope manage, for the environment under load")
    add(
        CONSENT, dest="consent", action="store_true", help="allow a server that is not this machine"
    )
    add("--rate", type=_above, action="append", default=[], metavar="N",
        help="events a second, open loop; several rates run one after another")  # fmt: skip
    add("--duration", type=_above, metavar="SECONDS", help="of each rate (default: 30)")
    add("--events", type=_count, metavar="N", help=f"of a closed loop (default: {EVENTS})")
    add("--connections", type=_count, default=64, metavar="N", help="to the server (default: 64)")
    add("--batch", type=_count, default=1, metavar="N", help="events a request (default: 1)")
    add("--payload", type=Path, action="append", default=[], metavar="FILE",
        help="a payload, a JSON object; {{n}} is the event's number; several take turns")  # fmt: skip
    add("--event-type", metavar="TYPE", help="of the events (default: one of its own)")
    add("--concurrency", type=_count, default=64, metavar="N",
        help="of the destination (default: 64)")  # fmt: skip
    add("--receiver-bind", type=_bind, default="127.0.0.1:0", metavar="HOST:PORT",
        help="where the receiver listens (default: 127.0.0.1:0, any port)")  # fmt: skip
    add("--receiver-url", metavar="URL", help="where the server reaches the receiver")
    add("--fail-if", action="append", default=[], metavar="CONDITION",
        help="exit 1 if met: p99>50ms, accept.p99>20ms, delivered<1000/s, refused>1%%")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write the results there")
    add("--csv", type=Path, metavar="FILE", help="write the figures there")
    add("--html", type=Path, metavar="FILE", help="write the report there")
    add("--plots", type=Path, metavar="FOLDER", help="write the plots there, as SVG")
    return parser.parse_args(arguments), parser


def _above(text: str) -> float:
    if (value := float(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0")
    return value


def _bind(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
