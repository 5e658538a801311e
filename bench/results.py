"""What a run of the bench says: one document, written as JSON, read by reports and by `bench compare`.

A run is one scenario with its sizes, measured once or several times on one machine. Times are seconds,
milliseconds or CPU microseconds, as the last word of a name says. What `FORMAT` names does not change its
meaning; fields may be added.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

FORMAT = "angarium-bench/1"


class Machine(Struct, frozen=True, rename="camel"):
    """Where it ran."""

    cpu: str
    cores: int
    kernel: str
    python: str
    postgres: str


class Source(Struct, frozen=True, rename="camel"):
    """What ran: a commit of this repository, and whether the tree differed from it."""

    version: str
    commit: str
    changed: bool


class Floor(Struct, frozen=True, rename="camel"):
    """What the machine itself takes, measured in the same minutes."""

    send_micros: float  # CPU of a bare epoll and httptools client for one request and its answer
    insert_micros: float  # CPU of a bare client and PostgreSQL for one row of a group insert
    syscall_micros: float  # a system call's round trip


class Latency(Struct, frozen=True, rename="camel"):
    """A distribution in milliseconds. `encoded`: all of it in microseconds, HdrHistogram V2 as base64."""

    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    encoded: str = ""


class Sample(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The run at an instant, counted from its start. What is a count counts since the start."""

    at_s: float
    accepted: int = 0
    delivered: int = 0
    server_cpu_s: float = 0.0
    database_cpu_s: float = 0.0
    rss_mb: float = 0.0
    descriptors: int = 0
    depths: dict[str, int] = msgspec.field(default_factory=dict)  # of queues, by name


class Step(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One rate, concurrency or count of a run that goes through several."""

    name: str  # "rate", "concurrency", ...
    value: float
    figures: dict[str, float]
    latency: Latency | None = None


class Measurement(Struct, rename="camel", omit_defaults=True):
    """One run through a scenario.

    `figures` are numbers by name; what is compared is named in the scenario. `verdict`: `ok`; `broken`,
    something was lost, invented or out of order; `void`, generator or receiver was the bottleneck.
    """

    figures: dict[str, float]
    verdict: str = "ok"
    reason: str = ""
    floors: list[Floor] = msgspec.field(default_factory=list)  # before, between, after
    drifted: bool = False  # the floors differ by more than a run may stand on
    latencies: dict[str, Latency] = msgspec.field(default_factory=dict)  # "accept", "delivery", ...
    timeline: list[Sample] = msgspec.field(default_factory=list)
    steps: list[Step] = msgspec.field(default_factory=list)
    # CPU microseconds an event by what they are spent on: parse, commit, route, sign, send, settle ...
    split: dict[str, float] = msgspec.field(default_factory=dict)
    notes: dict[str, str] = msgspec.field(default_factory=dict)  # figures that are words


class Run(Struct, rename="camel", omit_defaults=True):
    """One scenario, measured. `bars`: what the project demands of figures, by name: `atMost` or `atLeast`
    a number; `better`: for each compared figure whether `less` or `more` of it is better."""

    scenario: str
    about: str
    at: str  # RFC 3339
    machine: Machine
    source: Source
    sizes: dict[str, Any]
    measurements: list[Measurement]
    better: dict[str, str] = msgspec.field(default_factory=dict)
    bars: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)


class Document(Struct, rename="camel"):
    """A file of runs."""

    runs: list[Run]
    format: str = FORMAT


def read(path: Path) -> Document:
    """Read a file of results. Raises ValueError with what is wrong with it."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=Document)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is no file of results: {error}") from None
    if document.format != FORMAT:
        raise ValueError(f"{path} has format {document.format!r}, not {FORMAT!r}")
    return document


def write(path: Path, document: Document) -> None:
    """Write a file of results."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
