"""A replay of all past deliveries during live events: its effect on the latency of the live events, and
the memory that it takes."""

import time

from bench.checks import require
from bench.posting import load
from bench.service import Figures, Receiver, Service

FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


def replay(
    service: Service, receiver: Receiver, *, deliveries: int, rate: int, seconds: int
) -> Figures:
    """Measure the latency of live events without a replay. Then measure it during the replay of all past
    deliveries of another destination."""
    target = service.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
    filled = load(service, events=deliveries, connections=8, batch=100, give_up_s=900)
    require(filled["accepted"] == deliveries, f"filler: {filled['answers']}")
    receiver.wait(deliveries, 120)
    require(service.settled(120), "filler stays unrecorded")
    with Receiver() as live:
        service.destination(live.url + "/live", ["live"], concurrency=16)
        plan: Figures = {"connections": 4, "rate": rate, "event_type": "live"}
        load(service, events=rate, **plan)
        live.wait(rate)
        live.reset()
        load(service, events=rate * seconds, **plan)
        alone = live.wait(rate * seconds)
        live.reset()
        receiver.reset()
        before = service.rss_mb()
        began = time.monotonic()
        job = service.api("POST", "/replay-jobs", {"destinationId": target})["id"]
        while service.api("GET", f"/replay-jobs/{job}")["status"] == "PENDING":
            time.sleep(0.05)
        counted_s = time.monotonic() - began
        load(service, events=rate * seconds, **plan)
        beside = live.wait(rate * seconds)
        during = service.api("GET", f"/replay-jobs/{job}/progress")
        peak = service.rss_mb()
        while (shown := service.api("GET", f"/replay-jobs/{job}"))["status"] not in FINISHED:
            peak = max(peak, service.rss_mb())
            time.sleep(0.1)
    took = time.monotonic() - began - counted_s
    stats = receiver.wait(deliveries)
    require(beside["unique"] == rate * seconds, f"live: {beside['unique']}")
    require(shown["status"] == "COMPLETED", f"the job is {shown['status']}: {shown['error']}")
    require(shown["delivered"] == deliveries, f"{shown['delivered']} of {deliveries} are delivered")
    require(stats["unique"] == deliveries, f"received {stats['unique']} of {deliveries}")
    require(stats["duplicates"] == 0, f"{stats['duplicates']} duplicates")
    return {
        "deliveries": deliveries,
        "countedSeconds": round(counted_s, 2),
        "replayedPerSecond": round(deliveries / took, 1),
        "percentWhenLiveEnded": during["percent"],
        "rssGrowthMb": round(peak - before, 1),
        "aloneP50Ms": alone["p50Ms"],
        "aloneP99Ms": alone["p99Ms"],
        "besideP50Ms": beside["p50Ms"],
        "besideP99Ms": beside["p99Ms"],
    }
