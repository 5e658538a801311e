"""Instants as text: ISO 8601 in UTC with milliseconds and Z, the one form that the API speaks."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(64)
def _second(second: int) -> str:
    # not fromtimestamp(): it is limited to what the platform's time_t and gmtime can do
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


@lru_cache(4096)  # the events of one millisecond share it, each asking twice
def iso(at_ms: int) -> str:
    """Return an instant, in ms since the epoch, as text such as 2026-11-20T12:00:00.000Z."""
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"
