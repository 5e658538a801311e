"""Posting events and reading off what they cost, once all of them arrived and are recorded."""

from bench.checks import require, whole
from bench.limits import verdict
from bench.resting import recorded, resting
from bench.service import Figures, Module, Receiver, Service


def load(service: Service, **plan: object) -> Figures:
    """Run the load generator to its end."""
    found: Figures = Module.run("bench.load", plan={"url": service.url, "key": service.key, **plan})
    return found


def posted(service: Service, receiver: Receiver, *, events: int, **plan: object) -> Figures:
    """Post events to whatever exists, wait until all arrived and are recorded; return the figures."""
    floor = receiver.floor()
    cpu = service.cpu_s()
    sent = load(service, events=events, **plan)
    receiver.wait_for(sent["accepted"])
    ended = resting(service, lambda: recorded(service))
    stats = receiver.stats()
    server, database = (after - before for after, before in zip(ended, cpu, strict=True))
    require(
        sent["accepted"] == events, f"accepted {sent['accepted']} of {events}: {sent['answers']}"
    )
    whole(sent, stats)
    _, void = verdict(sent, stats)
    micros = (server + database) / events * 1e6
    span = stats["last"] - sent["began"]
    return {
        "events": events,
        "cpuMicrosPerEvent": round(micros, 1),
        "ofWhichDatabase": round(database / events * 1e6, 1),
        "floorMicros": floor,
        "timesFloor": round(micros / floor, 2),
        "acceptedPerSecond": sent["acceptedPerSecond"],
        "deliveredPerSecond": round(events / span, 1),
        "p50Ms": stats["p50Ms"],
        "p99Ms": stats["p99Ms"],
        "ackP50Ms": sent["ackP50Ms"],
        "ackP99Ms": sent["ackP99Ms"],
        "generatorBusy": sent["busy"],
        "receiverBusy": stats["busy"],
        **({"void": void} if void else {}),
    }
