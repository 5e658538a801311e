"""The failures of attempts: each has a category that customers filter by, and a plain sentence."""

import errno
import math
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime

from engine.core.vocabulary import ErrorCategory

_WORDS = {
    errno.ECONNREFUSED: "the connection was refused",
    errno.ECONNRESET: "the connection was reset",
    errno.EPIPE: "the connection was reset",
    errno.ECONNABORTED: "the connection was aborted",
    errno.EHOSTUNREACH: "the host is unreachable",
    errno.ENETUNREACH: "the network is unreachable",
    errno.ETIMEDOUT: "the connection timed out",
    errno.EADDRNOTAVAIL: "no local port is free",
}
RETRY_AFTER_LIMIT_S = 366 * 86_400  # no receiver needs more; the retry schedule has a lower cap
RETRY_AFTER_STATUSES = (429, 503)


class WireError(Exception):
    """The attempt cannot continue."""

    def __init__(self, category: ErrorCategory, message: str) -> None:
        super().__init__(message)
        self.category = category
        self.message = message


def connection_error(error: OSError | None) -> WireError:
    """Return the failure for a system error. `error` is None if the peer has closed the connection."""
    if error is None:
        return WireError(ErrorCategory.CONNECTION, "the connection was closed before an answer")
    # If `_WORDS` has no words for the error, the message contains the error's symbol (such as ENOBUFS).
    # The message never contains the system's text for the error, which could include an address.
    symbol = errno.errorcode.get(error.errno or 0, "unknown")
    words = _WORDS.get(error.errno or 0) or f"the connection failed ({symbol})"
    return WireError(ErrorCategory.CONNECTION, words)


def judge(status: int) -> tuple[ErrorCategory | None, str | None]:
    """Return the error category and the message for an answer that was received completely. Both are None
    if the answer means success."""
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
    """Return the delay from `now`, in seconds, that the header Retry-After asks for. Return None if there
    is no usable Retry-After."""
    for name, value in headers:
        if name.lower() == b"retry-after":
            return _delay(value.strip(), now)
    return None


def _delay(value: bytes, now: float) -> float | None:
    if value.isdigit():
        # A number of more than nine digits is always above RETRY_AFTER_LIMIT_S. It is not converted,
        # because int() takes time that grows with the square of the number of digits.
        return (
            RETRY_AFTER_LIMIT_S if len(value) > 9 else float(min(int(value), RETRY_AFTER_LIMIT_S))
        )
    try:
        date = parsedate_to_datetime(value.decode("ascii"))
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)  # asctime, one of HTTP's three date forms, has no zone
        delay = date.timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(math.ceil(delay), 0.0), RETRY_AFTER_LIMIT_S)
