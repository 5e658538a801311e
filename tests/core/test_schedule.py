"""The times of retries, and the longest hold of a destination."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.destination import DEFAULT_RETRY_SCHEDULE_S
from engine.core.schedule import exhausted, longest_wait_s, retry_after_s, retry_at
from tests.core.making import NOW, a_delivery, a_destination


def test_the_default_schedule_is_that_of_standard_webhooks() -> None:
    assert DEFAULT_RETRY_SCHEDULE_S == (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)


@given(
    st.lists(st.integers(1, 86_400), max_size=20),
    st.integers(1, 25),
    st.floats(0, 1, exclude_max=True),
)
def test_a_retry_is_within_a_fifth_of_its_delay(
    schedule: list[int], failures: int, chance: float
) -> None:
    config = a_destination(retry_schedule_s=tuple(schedule))
    due = retry_at(config, failures, NOW, chance)
    if failures > len(schedule):
        assert due is None
        return
    assert due is not None
    delay = schedule[failures - 1]
    assert 0.8 * delay - 1e-6 <= due - NOW <= 1.2 * delay + 0.002
    assert due - NOW < longest_wait_s(config)
    assert abs(due * 1000 - round(due * 1000)) < 1e-3, "whole milliseconds, as rows have them"
    assert int(due * 1000 + 0.5) / 1000 >= NOW + 0.8 * delay - 1e-6


def test_jitter_spreads_evenly() -> None:
    config = a_destination(retry_schedule_s=(100,))
    chance = Random(1)
    waits = [(retry_at(config, 1, NOW, chance.random()) or 0) - NOW for _ in range(2000)]
    assert min(waits) < 81
    assert max(waits) > 119
    assert 99 < sum(waits) / len(waits) < 101


@pytest.mark.parametrize(
    ("attempts", "since", "schedule", "wanted"),
    [
        (0, 0, (), False),
        (1, 0, (), True),
        (1, 0, (5,), False),
        (2, 0, (5,), True),
        (7, 6, (5,), False),
        (8, 6, (5,), True),
    ],
)
def test_attempts_are_one_more_than_the_schedule_is_long(
    attempts: int, since: int, schedule: tuple[int, ...], wanted: bool
) -> None:
    delivery = a_delivery(1, attempt_count=attempts, schedule_start=since)
    assert exhausted(delivery, a_destination(retry_schedule_s=schedule)) is wanted


@pytest.mark.parametrize(
    ("schedule", "asked", "granted"),
    [
        ((5, 300), 10, 10),
        ((5, 300), 3000, 300),
        ((300, 5), 3000, 300),
        ((), 3000, 60),
        ((), 7, 7),
        ((5,), -3, 0),
        ((5,), float("inf"), 5),
    ],
)
def test_retry_after_is_capped_at_the_longest_delay(
    schedule: tuple[int, ...], asked: float, granted: float
) -> None:
    assert retry_after_s(a_destination(retry_schedule_s=schedule), asked) == granted
