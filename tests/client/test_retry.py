"""The retry decision: a table of cases."""

import pytest

from angarium.retry import RetryPolicy, retry_after_s

POLICY = RetryPolicy(retries=3, first_delay_s=1, longest_delay_s=4, longest_retry_after_s=60)


@pytest.mark.parametrize(
    ("status", "repeatable", "reached", "again"),
    [
        (429, False, True, True),
        (503, False, True, True),
        (500, True, True, True),
        (500, False, True, False),
        (502, True, True, True),
        (504, False, True, False),
        (408, True, True, True),
        (408, False, True, False),
        (400, True, True, False),
        (401, True, True, False),
        (404, True, True, False),
        (409, True, True, False),
        (301, True, True, False),
        (None, True, True, True),
        (None, False, True, False),
        (None, False, False, True),
    ],
)
def test_only_what_is_safe_is_repeated(
    status: int | None, repeatable: bool, reached: bool, again: bool
) -> None:
    delay = POLICY.delay_s(
        1, status=status, repeatable=repeatable, reached=reached, retry_after_s=None, jitter=0.0
    )
    assert (delay is not None) is again


@pytest.mark.parametrize(
    ("attempt", "asked", "jitter", "expected"),
    [
        (1, None, 0.0, 0.5),
        (1, None, 1.0, 1.0),
        (3, None, 1.0, 4.0),
        (4, None, 0.0, None),
        (1, 17.0, 0.5, 17.0),
        (1, 60.0, 0.0, 60.0),
        (1, 61.0, 0.0, None),
    ],
)
def test_delays_double_are_spread_and_heed_retry_after(
    attempt: int, asked: float | None, jitter: float, expected: float | None
) -> None:
    delay = POLICY.delay_s(
        attempt, status=503, repeatable=True, reached=True, retry_after_s=asked, jitter=jitter
    )
    assert delay == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [(None, None), ("7", 7.0), (" 7 ", 7.0), ("-1", None), ("soon", None), ("٣", None)],
)
def test_retry_after_is_read_as_seconds(header: str | None, expected: float | None) -> None:
    assert retry_after_s(header) == expected
