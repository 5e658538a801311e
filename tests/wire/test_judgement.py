"""The meaning of a status and of a Retry-After."""

import pytest

from engine.core.vocabulary import ErrorCategory as Error
from engine.wire.failure import RETRY_AFTER_LIMIT_S, judge, retry_after_s

NOW = 1_700_000_000.5  # Tue, 14 Nov 2023 22:13:20 GMT


def expected(status: int) -> Error | None:
    if 200 <= status < 300:
        return None
    special = {410: Error.DESTINATION_GONE, 429: Error.RATE_LIMITED}
    by_hundred = {3: Error.REDIRECT, 4: Error.HTTP_4XX, 5: Error.HTTP_5XX}
    return special.get(status) or by_hundred.get(status // 100, Error.PROTOCOL)


def test_every_status_has_its_category() -> None:
    for status in range(1000):
        category, message = judge(status)
        assert category is expected(status), status
        assert (message is None) is (category is None)
        assert message is None or str(status) in message


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"0", 0),
        (b"120", 120),
        (b" 7 ", 7),
        (b"007", 7),
        (b"Tue, 14 Nov 2023 22:13:50 GMT", 30),
        (b"Tuesday, 14-Nov-23 22:13:50 GMT", 30),
        (b"Tue Nov 14 22:13:50 2023", 30),
        (b"Tue, 14 Nov 2023 23:13:50 +0100", 30),
        (b"Tue, 14 Nov 2023 22:13:00 GMT", 0),
        (b"Thu, 01 Jan 1970 00:00:00 GMT", 0),
        (b"Fri, 31 Dec 9999 23:59:59 GMT", RETRY_AFTER_LIMIT_S),
        (b"99999999", RETRY_AFTER_LIMIT_S),
        (b"9" * 5000, RETRY_AFTER_LIMIT_S),
        (b"", None),
        (b"-5", None),
        (b"1.5", None),
        (b"soon", None),
        (b"Tue, 99 Nov 2023 22:13:50 GMT", None),
        (b"\xff", None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(value: bytes, seconds: float | None) -> None:
    assert retry_after_s([(b"X", b"1"), (b"Retry-AFTER", value)], NOW) == seconds


def test_without_the_field_there_is_none() -> None:
    assert retry_after_s([(b"content-length", b"0")], NOW) is None
