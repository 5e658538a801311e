"""Kills of the server (signal 9) under full load. No accepted event may be lost or arrive out of order,
and no event may arrive that was not posted."""

import random
import time

from bench.checks import disorder, require
from bench.load import LANE_SPAN
from bench.posting import begun, ended
from bench.resting import recorded, resting
from bench.service import Figures, Receiver, Service

LOAD_S = (0.4, 1.2)  # the time of posting before a kill
BEGIN_S = 30.0  # the longest wait for a generator's first event


def kills(service: Service, receiver: Receiver, *, rounds: int, connections: int) -> Figures:
    """Kill the server under load once in each of `rounds` rounds. In every other round, also kill its
    database."""
    service.destination(
        receiver.url + "/hook",
        ["bench.*"],
        concurrency=64,
        ordering="KEY",
        retrySchedule=[1] * 20,
    )
    chance = random.Random(7)
    accepted: set[int] = set()
    doubtful: set[int] = set()
    moments: list[float] = []
    starts: list[float] = []
    for number in range(rounds):
        before = receiver.counts()["received"]
        generator = begun(service, **_plan(number, connections))
        _wait_arrivals(receiver, before)
        time.sleep(chance.uniform(*LOAD_S))
        moments.append(time.time())
        service.kill(database=number % 2 == 1)
        starts.append(service.start())
        sent = ended(generator, timeout_s=60)
        accepted.update(sent["acceptedNumbers"])
        doubtful.update(sent["doubtfulNumbers"])
    require(len(accepted) > 0, "nothing was accepted")
    receiver.wait_for(len(accepted))
    resting(service, lambda: recorded(service))  # doubtful events have then arrived, too
    return _verdict(receiver.log(), accepted, doubtful, moments) | {
        "rounds": rounds,
        "slowestStartS": round(max(starts), 2),
    }


def _wait_arrivals(receiver: Receiver, before: int) -> None:
    """Wait until the first event of a generator arrives, which can take a second. A kill before the first
    event would test nothing."""
    give_up = time.monotonic() + BEGIN_S
    while receiver.counts()["received"] == before and time.monotonic() < give_up:
        time.sleep(0.02)


def _plan(number: int, connections: int) -> Figures:
    return {
        "events": 1_000_000,
        "connections": connections,
        "own_lanes": True,
        "first": number * 100_000,
        "ids": True,
        "give_up_s": LOAD_S[1] + 0.5,
    }


def _verdict(
    log: list[tuple[str, int, float]],
    accepted: set[int],
    doubtful: set[int],
    moments: list[float],
) -> Figures:
    first_at: dict[int, float] = {}
    repeated: list[tuple[float, float]] = []
    for _, number, at in log:
        if number in first_at:
            repeated.append((first_at[number], at))
        else:
            first_at[number] = at
    lost = accepted - first_at.keys()
    invented = first_at.keys() - accepted - doubtful
    known = [entry for entry in log if entry[1] in accepted]
    out_of_order = disorder(known, lambda number: number // LANE_SPAN)
    # An event can arrive twice if the server is killed after the first arrival and before the server
    # records the delivery. A second arrival is an error if no kill was between the two arrivals.
    unexplained = [
        pair for pair in repeated if not any(pair[0] - 1 < at < pair[1] for at in moments)
    ]
    require(not lost, f"{len(lost)} accepted events lost: {sorted(lost)[:5]}")
    require(not invented, f"{len(invented)} events invented: {sorted(invented)[:5]}")
    require(out_of_order == 0, f"{out_of_order} out of order")
    require(not unexplained, f"{len(unexplained)} duplicates without a kill between them")
    return {
        "accepted": len(accepted),
        "unanswered": len(doubtful),
        "unansweredButDelivered": len(doubtful & first_at.keys() - accepted),
        "lost": 0,
        "invented": 0,
        "outOfOrder": 0,
        "duplicates": len(repeated),
    }
