"""What an answer means for its delivery: category, message and Retry-After. Pure functions.

The status line decides. Where it says no, a body that broke off changes nothing; where it says yes, the
whole answer must have arrived.
"""

import math
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime

from engine.core.vocabulary import ErrorCategory

RETRY_AFTER_LIMIT_S = 366 * 86_400  # nobody means more; the schedule caps it further
RETRY_AFTER_STATUSES = (429, 503)


def judge(status: int) -> tuple[ErrorCategory | None, str | None]:
    """Return category and message of a whole answer; (None, None) is success."""
    if 200 <= status < 300:
        return None, None
    if status == 429:
        return ErrorCategory.RATE_LIMITED, "the receiver answered 429 (too many requests)"
    if status == 410:
        return ErrorCategory.DESTINATION_GONE, "the receiver answered 410 (gone)"
    if 300 <= status < 400:
        return ErrorCategory.REDIRECT, f"the receiver answered {status}; redirects are not followed"
    if 400 <= status < 500:
        return ErrorCategory.HTTP_4XX, f"the receiver answered {status}"
    if 500 <= status < 600:
        return ErrorCategory.HTTP_5XX, f"the receiver answered {status}"
    return ErrorCategory.PROTOCOL, f"the receiver answered {status}, which is no final HTTP status"


def retry_after_s(headers: Iterable[tuple[bytes, bytes]], now: float) -> float | None:
    """Return the seconds from `now` that a Retry-After asks for, None without a usable one."""
    for name, value in headers:
        if name.lower() == b"retry-after":
            return _delay(value.strip(), now)
    return None


def _delay(value: bytes, now: float) -> float | None:
    if value.isdigit():
        # More digits than the limit has cannot be less; int() of a long numeral is quadratic.
        return (
            RETRY_AFTER_LIMIT_S if len(value) > 9 else float(min(int(value), RETRY_AFTER_LIMIT_S))
        )
    try:
        date = parsedate_to_datetime(value.decode("ascii"))
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)  # asctime, one of HTTP's three forms, names no zone
        delay = date.timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(math.ceil(delay), 0.0), RETRY_AFTER_LIMIT_S)
