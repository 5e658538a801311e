"""A document of results with made-up numbers, for tests of the reports."""

import random

from bench.latency import histogram, latency
from bench.results import (
    Document,
    Floor,
    Latency,
    Machine,
    Measurement,
    Run,
    Sample,
    Source,
    Step,
)

MACHINE = Machine("A <processor>", 2, "Linux 6.1 x86_64", "CPython 3.11.7", "18.1")
SOURCE = Source("0.1.0", "0123456789abcdef", changed=True)
_SPLIT = {
    "parse": 9.1,
    "route": 2.2,
    "commit": 6.4,
    "actors": 8.0,
    "sign": 2.1,
    "send": 9.7,
    "settle": 4.4,
    "driver": 1.9,
    "loop": 4.8,
    "control": 0.4,
    "system calls, clients": 8.8,
    "system calls, receivers": 9.9,
    "system calls, database": 0.7,
    "system calls, waiting": 3.1,
    "PostgreSQL, intake": 14.8,
    "PostgreSQL, settle": 9.2,
    "PostgreSQL, log writer": 1.3,
    "other": 0.2,
}
_STACKS = {
    "trio:run;engine.runtime.reactor:Reactor.run;api.door.connection:Connection.ready;!sock.recv": 80,
    "trio:run;engine.runtime.reactor:Reactor.run;api.door.connection:Connection.ready": 91,
    "trio:run;engine.runtime.reactor:Reactor.run;engine.wire.connection:Connection.ready": 97,
    "trio:run;engine.intake.intake:Intake.run;storage.intake.store:Intake.accept;"
    "storage.database.columns:rows": 64,
}


def distribution(middle_ms: float, seed: int) -> Latency:
    chance = random.Random(seed)
    return latency(histogram(middle_ms / 1000 * chance.lognormvariate(0, 0.5) for _ in range(4000)))


def timeline() -> list[Sample]:
    return [
        Sample(
            at_s=number / 2,
            accepted=min(number * 4900, 60_000),
            delivered=max(0, min((number - 1) * 4700, 60_000)),
            server_cpu_s=number * 0.33,
            database_cpu_s=number * 0.12,
            rss_mb=90 + number * 0.4,
            descriptors=150,
            depths={"intake": 40 + number % 5 * 9, "in flight": 64, "recorder": 30 + number % 7},
        )
        for number in range(1, 15)
    ]


def single(place: int) -> Measurement:
    return Measurement(
        figures={
            "timesFloor": 13.2 + place * 0.4,
            "cpuMicrosPerEvent": 72.6 + place * 2,
            "deliveredPerSecond": 9_800 - place * 130,
            "p99Ms": 12.5 + place,
            "rssGrowthMb": 6.25,
        },
        floors=[Floor(5.5, 9.75, 0.21), Floor(5.6 + place / 10, 9.9, 0.22)],
        drifted=place == 2,
        latencies={
            "accept": distribution(4.1, place),
            "delivery": distribution(7.9, place + 10),
        },
        timeline=timeline(),
        split=_SPLIT,
        modules={
            "api.door.connection": 9.5,
            "engine.wire.connection": 14.2,
            "engine.intake.intake": 6.0,
        },
        allocations={"engine.ingest.ingest": 61.5, "api.door.connection": 38.0},
        stacks=_STACKS,
        notes={"profile": "with the server's own sampling"},
    )


def steps() -> Measurement:
    found = []
    for rate in (1000, 2000, 4000, 8000, 10_000, 12_000, 16_000):
        done = min(rate, 10_400)
        late = 1 + 3 * max(0.0, rate / 10_400 - 1) * 400
        found.append(
            Step(
                "rate",
                rate,
                {
                    "offeredPerSecond": rate,
                    "acceptedPerSecond": done,
                    "goodputPerSecond": done - 20.0,
                    "cpuMicrosPerEvent": 90 - rate / 1000,
                },
                distribution(1.5 * late, rate),
            )
        )
    return Measurement(figures={"kneePerSecond": 10_000.0}, steps=found)


def run(scenario: str, measurements: list[Measurement], **more: object) -> Run:
    return Run(
        scenario=scenario,
        about=f"what {scenario} does, & <b>nothing</b> else",
        at="2026-11-22T05:00:00Z",
        machine=MACHINE,
        source=SOURCE,
        sizes={"events": 60_000, "connections": 64},
        measurements=measurements,
        **more,  # type: ignore[arg-type]  # named in each call
    )


def document() -> Document:
    return Document(
        [
            run(
                "single",
                [single(place) for place in range(3)],
                better={"timesFloor": "less", "deliveredPerSecond": "more"},
                bars={
                    "timesFloor": {"atMost": 14, "stretch": 9},
                    "p99Ms": {"atMost": 5},
                    "deliveredPerSecond": {"atLeast": 9_000, "stretch": 9_500},
                },
            ),
            run("batch", [single(0)], better={"timesFloor": "less"}),
            run("knee", [steps()], better={"kneePerSecond": "more"}),
            run(
                "kills",
                [Measurement(figures={}, verdict="broken", reason="lost 1 of 200: </section> 17")],
            ),
        ]
    )
