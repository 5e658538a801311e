"""The rate limit. A destination never gets more deliveries than the rate allows, plus one burst. A burst
is the deliveries of one second, or one delivery if the rate is below one per second."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.throttle import TokenBucket
from tests.core.making import NOW


@given(
    st.floats(0.001, 1000),
    st.lists(st.tuples(st.floats(0, 5), st.integers(1, 300)), min_size=1, max_size=60),
)
def test_no_span_of_time_sees_more_than_its_share_and_a_burst(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    bucket = TokenBucket(rate, NOW)
    now = NOW
    sent: list[float] = []
    for passed, wanted in steps:
        now += passed
        count = min(wanted, bucket.available(now))
        bucket.spend(count)
        sent += [now] * count
    for first in range(0, len(sent), max(1, len(sent) // 20)):
        for last in range(first, len(sent), max(1, len(sent) // 20)):
            allowed = max(1.0, rate) + rate * (sent[last] - sent[first])
            assert last - first + 1 <= allowed + 0.01 + rate * 1e-6


@given(st.floats(0.001, 1000), st.floats(0, 1))
def test_what_is_waited_for_is_there(rate: float, tokens: float) -> None:
    bucket = TokenBucket(rate, NOW, tokens)
    if bucket.available(NOW):
        return
    due = bucket.next_at(NOW)
    assert NOW < due <= NOW + 1 / rate + 2e-3
    flowed_in = rate * 1e-3  # during the round-up to a whole millisecond
    assert 1 <= bucket.available(due) <= 1 + flowed_in + 0.01


def test_it_begins_with_a_seconds_worth() -> None:
    assert TokenBucket(20, NOW).available(NOW) == 20
    assert TokenBucket(3.7, NOW).available(NOW) == 3
    assert TokenBucket(0.01, NOW).available(NOW) == 1


def test_a_slow_one_waits_its_whole_interval() -> None:
    bucket = TokenBucket(0.01, NOW)
    bucket.spend(1)
    assert bucket.available(NOW + 99.9) == 0
    assert bucket.next_at(NOW + 99.9) == NOW + 100
    assert bucket.available(NOW + 100) == 1
    assert bucket.available(NOW + 1e6) == 1, "no more than one is ever saved up"


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = TokenBucket(1, NOW)
    bucket.spend(1)
    assert bucket.available(NOW - 1000) == 0
    assert bucket.available(NOW + 1) == 1
