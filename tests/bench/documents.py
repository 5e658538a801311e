"""Documents of results for tests: a test gives the measurements, all else is constant."""

from collections.abc import Sequence

from bench.results import Document, Floor, Machine, Measurement, Run, Source

MACHINE = Machine("A Processor", 2, "Linux 6 x86_64", "CPython 3.11", "18.0")
SOURCE = Source("0.1.0", "a" * 40, False)
FLOOR = Floor(5.5, 4.0, 0.1)


def run(
    values: Sequence[float],
    *,
    scenario: str = "single",
    figure: str = "timesFloor",
    better: str = "less",
    floor: Floor = FLOOR,
    machine: Machine = MACHINE,
    source: Source = SOURCE,
    verdict: str = "ok",
    events: int = 100,
) -> Run:
    return Run(
        scenario,
        "about it",
        "2026-11-22T05:00:00Z",
        machine,
        source,
        {"events": events},
        [
            Measurement({figure: value}, verdict, "" if verdict == "ok" else "why", [floor] * 3)
            for value in values
        ],
        {figure: better},
    )


def document(*runs: Run) -> Document:
    return Document(list(runs))
