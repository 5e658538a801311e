"""The backlog of a disabled destination: the memory that it takes, and the speed at which it drains."""

import time

from bench.checks import require
from bench.posting import load
from bench.service import Figures, Receiver, Service


def backlog(service: Service, receiver: Receiver, *, deliveries: int, lanes: int) -> Figures:
    """Fill a disabled destination's backlog, then enable the destination. Every delivery must arrive
    once, and in order."""
    destination = service.destination(
        receiver.url + "/hook", ["bench.*"], concurrency=16, ordering="KEY"
    )
    service.api("POST", f"/destinations/{destination}/disable", {})
    load(service, events=1000, connections=1, batch=100, lanes=lanes)
    before = service.rss_mb()
    sent = load(
        service,
        events=deliveries - 1000,
        first=1000,
        connections=1,
        batch=100,
        lanes=lanes,
        give_up_s=600,
    )
    require(sent["accepted"] == deliveries - 1000, str(sent["answers"]))
    waiting = service.rss_mb()
    began = time.monotonic()
    service.api("POST", f"/destinations/{destination}/enable", {})
    stats = receiver.wait(deliveries)
    drained = service.rss_mb()
    took = time.monotonic() - began
    require(stats["unique"] == deliveries, f"received {stats['unique']} of {deliveries}")
    require(stats["duplicates"] == 0, f"{stats['duplicates']} duplicates")
    out_of_order = receiver.disorder(lanes=lanes)
    require(out_of_order == 0, f"{out_of_order} out of order")
    return {
        "deliveries": deliveries,
        "rssGrowthWaitingMb": round(waiting - before, 1),
        "rssGrowthDrainingMb": round(drained - before, 1),
        "drainedPerSecond": round(deliveries / took, 1),
        "outOfOrder": 0,
    }
