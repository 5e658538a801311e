"""The conversion of instants: ISO 8601 for callers, milliseconds since the epoch inside.

Callers can write any offset. Answers have one form: UTC with milliseconds and Z.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, Field

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)", re.ASCII
)


def _instant(value: object) -> object:
    """Return an ISO 8601 date-time with an offset as milliseconds since the epoch."""
    if not isinstance(value, str) or _INSTANT.fullmatch(value) is None:
        raise ValueError("must be a date-time with an offset, such as 2026-11-20T12:00:00.000Z")
    try:
        instant = datetime.fromisoformat(value.replace(",", ".").upper().replace(" ", "T"))
        # The conversion raises OverflowError if the year in UTC is before 1 or after 9999.
        instant = instant.astimezone(UTC)
        # Rounded up to a whole millisecond. Ids have whole milliseconds, so the ids before the rounded
        # instant are exactly the ids before the caller's instant.
        return min(-((_EPOCH - instant) // _MILLISECOND), _LAST_MS)
    except (ValueError, OverflowError):
        raise ValueError("is not an instant") from None


def at_ms(value: object) -> int | None:
    """Return a date-time in milliseconds since the epoch, None if the value is not a date-time."""
    try:
        found = _instant(value)
    except ValueError:
        return None
    return found if isinstance(found, int) else None


Instant = Annotated[
    int,
    BeforeValidator(_instant),
    Field(json_schema_extra={"type": "string", "format": "date-time"}),
]


@lru_cache(64)
def _second(second: int) -> str:
    # `fromtimestamp` is not used, because the platform's time_t and gmtime limit its range.
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


@lru_cache(4096)  # the events of one millisecond share it; each needs it twice
def iso(at_ms: int) -> str:
    """Return an instant, in ms since the epoch, as text such as 2026-11-20T12:00:00.000Z."""
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"


def iso_or_none(at_ms: int | None) -> str | None:
    """Return an instant as text; None for None."""
    return None if at_ms is None else iso(at_ms)
