"""The scenarios that are programs, because a declaration cannot express them."""

from bench.backlogs import backlog
from bench.checks import require
from bench.interleaved import NEW_OVER_OLD, against, features
from bench.isolation import BAR, Neighbourhood, isolation
from bench.kills import kills
from bench.nodes import bars as bars_of_nodes
from bench.nodes import nodes
from bench.onlookers import (
    LISTENED_OVER_NONE,
    METERED_OVER_PLAIN,
    SCRAPE_MS,
    STEP_S,
    onlookers,
)
from bench.posting import load
from bench.producer import EVENTS_A_SECOND, MANY_OVER_ONE, MICROS_AN_EVENT, producer
from bench.rare import BAR_MS, rare
from bench.reads import reads
from bench.recovery import recovery
from bench.replays import replay
from bench.routing import BAR as MANY_OVER_FEW
from bench.routing import routing
from bench.saturation import overload, steps
from bench.scenario import Scenario, program
from bench.service import Figures, Receiver, Service
from bench.soak import Watched, soak
from bench.statements import statements
from bench.traced import SAMPLED_OVER_OFF, SHARE, traced
from bench.transforms import transforms
from bench.tune import adapting


def neighbour(
    service: Service, receiver: Receiver, *, stuck: int, rate: int, seconds: int
) -> Figures:
    """Measure a healthy destination: first alone, then together with a destination that never answers."""
    service.destination(receiver.url + "/hook", ["healthy"], concurrency=16)
    service.destination(receiver.url + "/never", ["stuck"], concurrency=16, timeoutMs=60_000)
    plan: Figures = {"connections": 4, "rate": rate, "event_type": "healthy"}
    load(service, events=rate, **plan)
    receiver.wait(rate)
    receiver.reset()
    load(service, events=rate * seconds, **plan)
    alone = receiver.wait(rate * seconds)
    load(service, events=stuck, connections=8, event_type="stuck")
    receiver.reset()
    load(service, events=rate * seconds, **plan)
    beside = receiver.wait(rate * seconds)
    require(beside["unique"] == rate * seconds, f"the healthy one got {beside['unique']}")
    return {
        "aloneP50Ms": alone["p50Ms"],
        "aloneP99Ms": alone["p99Ms"],
        "besideP50Ms": beside["p50Ms"],
        "besideP99Ms": beside["p99Ms"],
        "p99Ratio": round(beside["p99Ms"] / alone["p99Ms"], 2),
    }


# The sizes of the search for the knee, which is the highest rate that the server sustains. The first rate
# is below any server's knee. A step has thousands of events, because the p99 of fewer events is
# inaccurate.
_CLIMB = {
    "start": 2_000,
    "growth": 1.25,
    "most": 50_000,
    "seconds": 5,
    "connections": 128,
    "warm": 5_000,
}
_CLIMB_TINY = {
    "start": 50,
    "growth": 2.0,
    "most": 100,
    "seconds": 0.5,
    "connections": 8,
    "warm": 20,
}

PROGRAMS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        program(
            "neighbour",
            "a healthy destination beside one that never answers",
            neighbour,
            {"stuck": 5_000, "rate": 20, "seconds": 20},
            {"stuck": 50, "rate": 20, "seconds": 1},
            better={"p99Ratio": "less"},
        ),
        program(
            "backlog",
            "deliveries wait for a disabled destination, then drain in order",
            backlog,
            {"deliveries": 1_000_000, "lanes": 1_000},
            {"deliveries": 2_000, "lanes": 20},
            better={"rssGrowthWaitingMb": "less", "drainedPerSecond": "more"},
            bars={"rssGrowthWaitingMb": {"atMost": 80.0, "stretch": 30.0}},
            minutes=3.0,
        ),
        program(
            "recovery",
            "kill -9 with unsettled deliveries: seconds to the first delivery, by their number",
            recovery,
            {"backlogs": "1000,10000,100000"},
            {"backlogs": "20,200"},
            better={"firstDeliveryS": "less", "lastDeliveryS": "less"},
            bars={"firstDeliveryS": {"atMost": 2.0, "stretch": 0.5}},
            minutes=1.0,
        ),
        program(
            "steps",
            "rising rates, open loop, until the server does not keep up: the knee",
            steps,
            _CLIMB,
            _CLIMB_TINY,
            better={"kneePerSecond": "more", "kneeTimesFloor": "less"},
            minutes=2.0,
        ),
        program(
            "overload",
            "twice the rate of the knee, open loop: goodput, and the latency of accepted requests",
            overload,
            _CLIMB | {"times": 2.0, "overload_connections": 1_024},
            _CLIMB_TINY | {"times": 2.0, "overload_connections": 16},
            better={"goodputOverKnee": "more", "answerP99OverLine": "less"},
            bars={
                "goodputOverKnee": {"atLeast": 0.95, "stretch": 1.0},
                "answerP99OverLine": {"atMost": 3.0, "stretch": 2.0},
            },
            minutes=3.0,
        ),
        program(
            "kills",
            "kill -9 under full load, every other time with the database",
            kills,
            {"rounds": 20, "connections": 16},
            {"rounds": 2, "connections": 4},
            minutes=2.0,
        ),
        program(
            "replay",
            "a replay of all past deliveries, during live events",
            replay,
            {"deliveries": 1_000_000, "rate": 100, "seconds": 20},
            {"deliveries": 500, "rate": 20, "seconds": 1},
            better={"replayedPerSecond": "more", "besideP99Ms": "less", "rssGrowthMb": "less"},
            minutes=6.0,
        ),
        program(
            "reads",
            "every list, filter and view of a log, compared with GET /livez",
            reads,
            {"deliveries": 1_000_000, "days": 29, "requests": 100},
            {"deliveries": 400, "days": 1, "requests": 2},
            better={"worstTimesLivez": "less", "worstViewTimesLivez": "less"},
            minutes=4.0,
        ),
        program(
            "rare",
            "the first page of every filtered list, for a value in twenty rows",
            rare,
            {"deliveries": 10_000_000, "days": 29, "requests": 40},
            {"deliveries": 2_000, "days": 1, "requests": 1},
            better={"worstP95Ms": "less"},
            bars={"worstP95Ms": {"atMost": BAR_MS}},
            minutes=6.0,
        ),
        program(
            "features",
            "events with a filter and an active schema, over events without",
            features,
            {"events": 30_000, "connections": 64, "rounds": 6},
            {"events": 200, "connections": 8, "rounds": 1},
            better={"ratio": "less"},
            minutes=2.5,
        ),
        program(
            "transforms",
            "destinations with scripts, over plain ones; then next to hostile scripts",
            transforms,
            {
                "destinations": 20,
                "events": 30_000,
                "connections": 64,
                "rounds": 6,
                "rate": 50,
                "seconds": 20,
                "hostile_rate": 40,
            },
            {
                "destinations": 4,
                "events": 200,
                "connections": 8,
                "rounds": 1,
                "rate": 20,
                "seconds": 1,
                "hostile_rate": 10,
            },
            better={"ratio": "less", "plainP99Ratio": "less", "madeP99Ratio": "less"},
            minutes=8.0,
        ),
        program(
            "isolation",
            "a healthy tenant alone, and with each of the worst neighbours, or with worst=NAME",
            isolation,
            {
                "worst": "all",
                "rate": 200,
                "seconds": 10,
                "rounds": 3,
                "percent": 100,
                "held": 1,
                "nodes": 1,
            },
            {
                "worst": "names,lists",
                "rate": 20,
                "seconds": 1,
                "rounds": 1,
                "percent": 1,
                "held": 0,
                "nodes": 2,
            },
            serve=Neighbourhood,
            better={"worstRatio": "less"},
            bars={"worstRatio": {"atMost": BAR}},
            minutes=30.0,
        ),
        program(
            "soak",
            "half of the full rate with flapping receivers: growth an hour",
            soak,
            {"minutes": 30, "rate": 5_000, "flapping_percent": 10},
            {"minutes": 3, "rate": 60, "flapping_percent": 10, "seconds": 1},
            serve=Watched,
            minutes=35.0,
        ),
        program(
            "adapting",
            "automatic concurrency, compared with fixed ones, at three receivers",
            adapting,
            {"receivers": "fixed,varying,narrow", "seconds": 8.0, "warm": 4.0, "finding": 20.0},
            {"receivers": "narrow", "seconds": 0.3, "warm": 0.3, "finding": 0.3},
            better={"narrowAutoOfBest": "more", "narrowAutoP99OfKnee": "less"},
            bars={"narrowAutoOfBest": {"atLeast": 0.9}, "narrowAutoP99OfKnee": {"atMost": 1.5}},
            minutes=4.0,
        ),
        program(
            "producer",
            "the client library: a producer's events, and single sends of one task and of many",
            producer,
            {"events": 100_000, "singles": 2_000, "tasks": 64},
            {"events": 300, "singles": 30, "tasks": 8},
            better={
                "eventsPerSecond": "more",
                "clientMicrosPerEvent": "less",
                "manyOverOne": "less",
            },
            bars={
                "eventsPerSecond": {"atLeast": EVENTS_A_SECOND},
                "clientMicrosPerEvent": {"atMost": MICROS_AN_EVENT},
                "manyOverOne": {"atMost": MANY_OVER_ONE},
            },
            minutes=1.0,
        ),
        program(
            "against",
            "this source tree over that of ANGARIUM_BENCH_BASE, both running",
            against,
            {"events": 30_000, "connections": 64, "batch": 1, "rate": 0, "rounds": 6},
            {"events": 200, "connections": 8, "batch": 1, "rate": 0, "rounds": 1},
            better={"ratio": "less"},
            bars={"ratio": {"atMost": NEW_OVER_OLD}},
            minutes=2.5,
        ),
        program(
            "traced",
            "spans for one request in a hundred, over no spans",
            traced,
            {"events": 20_000, "connections": 64, "rounds": 6, "share": SHARE},
            {"events": 200, "connections": 4, "rounds": 1, "share": 1.0},
            better={"ratio": "less"},
            bars={"ratio": {"atMost": SAMPLED_OVER_OFF}},
            minutes=2,
        ),
        program(
            "onlookers",
            "metrics on over off, sixteen listeners to the live stream over none, and scrapes",
            onlookers,
            {
                "events": 20_000,
                "rate": 5_000,
                "connections": 64,
                "listeners": 16,
                "rounds": 6,
                "destinations": 20_000,
                "scrapes": 20,
            },
            {
                "events": 200,
                "rate": 200,
                "connections": 4,
                "listeners": 2,
                "rounds": 1,
                "destinations": 8,
                "scrapes": 1,
            },
            better={
                "meteredRatio": "less",
                "listenedRatio": "less",
                "scrapeMs": "less",
                "stepCpuMs": "less",
            },
            bars={
                "meteredRatio": {"atMost": METERED_OVER_PLAIN},
                "listenedRatio": {"atMost": LISTENED_OVER_NONE},
                "scrapeMs": {"atMost": SCRAPE_MS},
                "stepCpuMs": {"atMost": STEP_S * 1000},
            },
            minutes=5.0,
        ),
        program(
            "nodes",
            "two and four workers over one process, in turns; and requests to the wrong worker",
            nodes,
            {
                "workspaces": 32,
                "events": 40_000,
                "connections": 256,
                "batches": 100_000,
                "batch_connections": 32,
                "hot": 20_000,
                "rounds": 4,
                "warm": 1,
                "rate": 200,
                "seconds": 20,
            },
            {
                "workspaces": 4,
                "events": 80,
                "connections": 4,
                "batches": 400,
                "batch_connections": 4,
                "hot": 40,
                "rounds": 1,
                "warm": 0,
                "rate": 20,
                "seconds": 1,
            },
            better={
                "twoOverOne": "less",
                "fourOverOne": "less",
                "twoOverOneBatches": "less",
                "fourOverOneBatches": "less",
                "fourOverOneHot": "more",
                "twoOverOnePerSecond": "more",
                "relayedP50Ms": "less",
                "relayedP99Ms": "less",
            },
            bars=bars_of_nodes(),
            minutes=6.0,
        ),
        Scenario(
            "routing",
            "routing of a new event type among 1,000,000 rules, over 1,000 rules",
            routing,
            {"rules": 1_000_000, "types": 200, "rounds": 21},
            {"rules": 2_000, "types": 10, "rounds": 2},
            better={"ratio": "less"},
            bars={"ratio": {"atMost": MANY_OVER_FEW}},
            minutes=1.0,
        ),
        Scenario(
            "statements",
            "only the accept and settle statements, by group size: CPU of both sides, and log",
            statements,
            {"deliveries": 6_400, "rounds": 6, "fan_out": 1, "destinations": 20_000},
            {"deliveries": 16, "rounds": 1, "fan_out": 1, "destinations": 100},
            better={
                "accept64Database": "less",
                "settle64Database": "less",
                "settle64ManyDatabase": "less",
                "logBytes64": "less",
            },
            minutes=3.0,
        ),
    )
}
