"""The bench's checks: each fault in a log is found."""

from typing import Any

import pytest

from bench.checks import Broken, disorder, require, whole
from bench.kills import _verdict
from bench.load import LANE_SPAN


def arrivals(*numbers: int) -> list[tuple[str, int, float]]:
    return [("/hook", number, float(at)) for at, number in enumerate(numbers)]


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [((0, 1, 2, 3), 0), ((1, 0, 3, 2), 0), ((2, 0), 1), ((0, 4, 2, 0), 1), ((4, 2, 0), 2)],
)
def test_disorder_counts_first_arrivals_behind_a_later_one_of_their_lane(
    numbers: tuple[int, ...], wrong: int
) -> None:
    assert disorder(arrivals(*numbers), lambda number: number % 2) == wrong


def test_a_true_run_is_told_in_figures() -> None:
    figures = _verdict(arrivals(0, 1, LANE_SPAN, 1), {0, 1, LANE_SPAN}, {2}, [2.5])
    assert (figures["accepted"], figures["duplicates"], figures["unanswered"]) == (3, 1, 1)


@pytest.mark.parametrize(
    ("numbers", "accepted", "moments", "verdict"),
    [
        ((0,), {0, 1}, [], "lost"),
        ((0, 7), {0}, [], "invented"),
        ((1, 0), {0, 1}, [], "out of order"),
        ((0, 1, 1), {0, 1}, [50.0], "without a kill"),
    ],
)
def test_a_broken_promise_is_a_verdict(
    numbers: tuple[int, ...], accepted: set[int], moments: list[float], verdict: str
) -> None:
    with pytest.raises(Broken, match=verdict):
        _verdict(arrivals(*numbers), accepted, set(), moments)


def test_require_lets_truth_pass() -> None:
    require(True, "never said")


SENT = {"accepted": 10, "doubtful": 0, "answers": {"202": 10}}


@pytest.mark.parametrize(
    ("sent", "stats", "given", "why"),
    [
        ({}, {}, {}, ""),
        ({}, {"unique": 30}, {"fanout": 3}, ""),
        ({}, {"unique": 9}, {}, "1 lost of 10"),
        ({}, {"unique": 29}, {"fanout": 3}, "1 lost of 30"),
        ({}, {"unique": 11}, {}, "1 deliveries beyond 10"),
        ({"doubtful": 1}, {"unique": 11}, {}, ""),
        ({"doubtful": 1}, {"unique": 12}, {}, "2 deliveries beyond"),
        ({}, {"duplicates": 2}, {}, "2 duplicates"),
        ({}, {"duplicates": 2}, {"repeats": True}, ""),
        ({}, {}, {"disorder": 3}, "3 out of order"),
    ],
)
def test_a_run_is_whole_when_all_that_was_accepted_arrived_and_nothing_else(
    sent: dict[str, int], stats: dict[str, int], given: dict[str, Any], why: str
) -> None:
    arrived = {"unique": 10, "duplicates": 0} | stats
    if why:
        with pytest.raises(Broken, match=why):
            whole(SENT | sent, arrived, **given)
    else:
        whole(SENT | sent, arrived, **given)
