"""The time from a kill of the server to its next delivery, for several sizes of its backlog."""

import time

from bench.checks import require, whole
from bench.posting import load
from bench.resting import recorded, resting
from bench.results import Measurement, Step
from bench.service import Receiver, Service

TIMEOUT_MS = 60_000  # no attempt ends before the kill, so all accepted deliveries are unsettled


def recovery(service: Service, receiver: Receiver, *, backlogs: str | int) -> Measurement:
    """Kill a server that has unsettled deliveries, start it again, and measure the times to the first and
    to the last delivery.

    `backlogs`: comma-separated numbers of unsettled deliveries. The times begin when the new process is
    started, so they include the start of the interpreter, the migrations and the takeover.
    """
    service.destination(
        receiver.url + "/hook", ["bench.*"], concurrency=64, timeoutMs=TIMEOUT_MS, retrySchedule=[]
    )
    steps: list[Step] = []
    first = 0
    for number in map(int, str(backlogs).split(",")):
        receiver.reset({"dead": True})
        batch = min(100, number)
        sent = load(service, events=number, first=first, connections=8, batch=batch, give_up_s=600)
        require(sent["accepted"] == number, f"accepted {sent['accepted']} of {number}")
        first += number
        service.kill()
        receiver.reset()
        began = time.time()
        ready_s = service.start()
        receiver.wait_for(number)
        stats = receiver.stats()
        whole(sent, stats)
        resting(service, lambda: recorded(service))
        steps.append(
            Step(
                "unsettled",
                number,
                {
                    "firstDeliveryS": round(stats["first"] - began, 3),
                    "readyS": round(ready_s, 3),
                    "lastDeliveryS": round(stats["last"] - began, 3),
                    "drainedPerSecond": round(
                        number / max(0.001, stats["last"] - stats["first"]), 1
                    ),
                },
            )
        )
    return Measurement(figures={"unsettled": steps[-1].value, **steps[-1].figures}, steps=steps)
