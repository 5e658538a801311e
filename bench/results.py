"""The results of a run: a JSON document, which reports and `bench compare` read.

A run is one scenario with its sizes, measured once or several times on one machine. The name of a time
ends with its unit: `S`, `Ms`, or `Micros` for CPU microseconds. Within one `FORMAT`, names keep their
meaning, and fields can be added. `python -m bench.schema_page` writes docs/bench-results.md from this
module.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

FORMAT = "angarium-bench/1"


def _says(description: str) -> Meta:
    return Meta(description=description)


class Machine(Struct, frozen=True, rename="camel"):
    """The machine of the run."""

    cpu: Annotated[str, _says("the kernel's name of the processor model")]
    cores: Annotated[int, _says("processors that the bench can use")]
    kernel: Annotated[str, _says("operating system, its release and architecture")]
    python: Annotated[str, _says("implementation and version of the interpreter")]
    postgres: Annotated[str, _says("version of the embedded PostgreSQL")]


class Source(Struct, frozen=True, rename="camel"):
    """The measured source: a commit of this repository, and whether the source tree differed from it."""

    version: Annotated[str, _says("of the project")]
    commit: Annotated[str, _says("full hash; empty if the tree is not a repository")]
    changed: Annotated[bool, _says("the tree differed from its commit, or has no commit")]


class Floor(Struct, frozen=True, rename="camel"):
    """The floors of the machine, measured in the same minutes."""

    send_micros: Annotated[
        float, _says("CPU of a bare epoll and httptools client for one request and its answer")
    ]
    insert_micros: Annotated[
        float, _says("CPU of a bare client and PostgreSQL for one row of a group insert")
    ]
    syscall_micros: Annotated[float, _says("CPU of a system call's round trip, from Python")]


class Latency(Struct, frozen=True, rename="camel"):
    """A distribution in milliseconds."""

    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    encoded: Annotated[
        str, _says("the distribution in microseconds: HdrHistogram V2 as base64; empty if not kept")
    ] = ""


class Sample(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The state of the run at an instant. Times and counts begin at the start of the run."""

    at_s: float
    accepted: int = 0
    delivered: int = 0
    server_cpu_s: float = 0.0
    database_cpu_s: float = 0.0
    rss_mb: Annotated[float, _says("the server's resident memory, in MB of 10^6 bytes")] = 0.0
    descriptors: int = 0
    depths: Annotated[dict[str, int], _says("waiting items by name of the queue")] = msgspec.field(
        default_factory=dict
    )


class Step(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One rate, concurrency or count of a run with several."""

    name: Annotated[str, _says("name of the stepped size: `rate`, `concurrency`, ...")]
    value: float
    figures: dict[str, float]
    latency: Latency | None = None


class Measurement(Struct, rename="camel", omit_defaults=True):
    """One run through a scenario."""

    figures: Annotated[dict[str, float], _says("numbers by name; `better` names the compared ones")]
    verdict: Annotated[
        str,
        _says(
            "`ok`; `broken`: something was lost, invented or out of order; `void`: the generator or"
            " the receiver was the bottleneck; `failed`: the bench could not measure"
        ),
    ] = "ok"
    reason: Annotated[str, _says("the reason for another verdict than `ok`")] = ""
    floors: Annotated[list[Floor], _says("before, between and after")] = msgspec.field(
        default_factory=list
    )
    drifted: Annotated[bool, _says("the floors differ by more than a measurement tolerates")] = (
        False
    )
    latencies: Annotated[dict[str, Latency], _says("by name: `accept`, `delivery`, ...")] = (
        msgspec.field(default_factory=dict)
    )
    timeline: list[Sample] = msgspec.field(default_factory=list)
    steps: list[Step] = msgspec.field(default_factory=list)
    split: Annotated[
        dict[str, float],
        _says("CPU microseconds an event by stage: parse, commit, route, sign, send, settle, ..."),
    ] = msgspec.field(default_factory=dict)
    modules: Annotated[
        dict[str, float], _says("the same by module: the server's part, if it was profiled")
    ] = msgspec.field(default_factory=dict)
    allocations: Annotated[
        dict[str, float],
        _says("allocated memory blocks for an event, by module, if recorded"),
    ] = msgspec.field(default_factory=dict)
    stacks: Annotated[
        dict[str, int],
        _says("samples of the server by stack, with frames joined by `;`, if it was profiled"),
    ] = msgspec.field(default_factory=dict)
    notes: Annotated[dict[str, str], _says("figures in words")] = msgspec.field(
        default_factory=dict
    )


class Run(Struct, rename="camel", omit_defaults=True):
    """One scenario, measured."""

    scenario: str
    about: Annotated[str, _says("description of the scenario in one sentence")]
    at: Annotated[str, _says("start time, RFC 3339")]
    machine: Machine
    source: Source
    sizes: Annotated[dict[str, Any], _says("sizes of the scenario, by name")]
    measurements: Annotated[list[Measurement], _says("one for each repetition, in order")]
    better: Annotated[
        dict[str, str], _says("for each compared figure, `less` or `more`: the better direction")
    ] = msgspec.field(default_factory=dict)
    bars: Annotated[
        dict[str, dict[str, float]],
        _says(
            "the project's bars by figure: `atMost` or `atLeast` a number, and optionally"
            " `stretch`, the goal"
        ),
    ] = msgspec.field(default_factory=dict)
    tiny: Annotated[
        bool, _says("the sizes and floors only test that the scenario runs: no figure counts")
    ] = False


class Document(Struct, rename="camel"):
    """A file of runs."""

    runs: list[Run]
    format: Annotated[
        str, _says("format of this document with its version; others are refused")
    ] = FORMAT


def read(path: Path) -> Document:
    """Read a file of results. Raises ValueError if it cannot be read or is not a file of results."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=Document)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a file of results: {error}") from None
    if document.format != FORMAT:
        raise ValueError(f"{path} has format {document.format!r}, not {FORMAT!r}")
    return document


def write(path: Path, document: Document) -> None:
    """Write a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
