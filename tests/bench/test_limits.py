"""Void runs. The generator or the receiver was the bottleneck, so no figure describes the server."""

from typing import Any

import pytest

import bench.limits
from bench.limits import Limit, Limits, measure, verdict
from bench.service import Receiver

LIMITS = Limits(Limit(micros=25, measured=30_000), Limit(micros=20, measured=30_000))
CLOSED = {"requests": 10_000, "wallS": 1.0, "busy": 0.3, "ackP99Ms": 5.0}
OPEN = {**CLOSED, "lateP99Ms": 0.3}
STATS = {"requests": 10_000, "busy": 0.3, "first": 100.0, "last": 101.0}


@pytest.mark.parametrize(
    ("sent", "stats", "why"),
    [
        (CLOSED, STATS, ""),
        (OPEN, STATS, ""),
        (CLOSED | {"requests": 33_000}, STATS, "33000 requests/s is 82% of the generator"),
        (CLOSED | {"busy": 0.9}, STATS, "generator was busy for 90%"),
        (OPEN | {"busy": 0.9}, STATS, ""),  # busy, but never late
        (
            OPEN | {"busy": 0.9, "lateP99Ms": 1.5},
            STATS,
            "busy for 90% of the time, and 1.5 ms late",
        ),
        (
            OPEN | {"lateP99Ms": 3.0},
            STATS,
            "3.0 ms of the p99 of 5.0 ms are delay of the generator",
        ),
        (OPEN | {"lateP99Ms": 3.0, "ackP99Ms": 50.0}, STATS, ""),
        (OPEN | {"ackP99Ms": 0.4}, STATS, ""),  # late by an unimportant amount
        (CLOSED, STATS | {"busy": 0.85}, "receiver was busy for 85%"),
        (CLOSED, STATS | {"last": 100.2}, "requests arrived at 100% of the receiver's limit"),
        (CLOSED | {"requests": 900, "busy": 1.0}, STATS | {"requests": 900, "busy": 1.0}, ""),
    ],
)
def test_a_run_is_void_when_the_bench_was_the_bottleneck(
    sent: dict[str, Any], stats: dict[str, Any], why: str
) -> None:
    judged, reason = verdict(sent, stats, LIMITS)
    assert judged == ("void" if why else "ok")
    assert why in reason
    assert bool(why) == bool(reason)


def test_without_limits_what_was_busy_is_found_still() -> None:
    assert verdict(CLOSED | {"requests": 39_000}, STATS) == ("ok", "")
    assert verdict(CLOSED | {"busy": 0.95}, STATS)[0] == "void"
    assert verdict(CLOSED, STATS | {"busy": 0.95})[0] == "void"


def test_a_step_is_judged_by_itself_and_an_overloaded_one_may_be_late() -> None:
    well, late, lost = (
        {**OPEN, "rate": rate, "lateP99Ms": late, "busy": busy}
        for rate, late, busy in ((1_000, 0.2, 0.2), (20_000, 4.0, 0.5), (40_000, 4.0, 0.9))
    )
    assert verdict({**OPEN, "lateP99Ms": 4.0, "steps": [well, late]}, STATS)[0] == "ok"
    judged, reason = verdict({**OPEN, "steps": [well, late, lost]}, STATS)
    assert judged == "void"
    assert "at 40000/s" in reason


def test_the_limits_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.limits, "REQUESTS", 400)
    with Receiver() as receiver:
        found = measure(receiver, {"batch": 2, "sizes": [[200, 1], [2_000, 1]], "rate": 10})
        assert receiver.counts()["requests"] == 0
    for limit in (found.generator, found.receiver):
        assert limit.measured > 0
        assert limit.per_second == pytest.approx(1e6 / limit.micros)
