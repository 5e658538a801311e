"""The counters by the minute. The settle statement, which records the outcomes of deliveries, writes the
counters too, so that both are committed together."""

from collections.abc import Sequence

from engine.core.minutes import MinuteDelta
from engine.core.vocabulary import ErrorCategory
from engine.ports import SettleGroup
from storage.database.columns import Arguments, Column, rows

ERRORS = len(ErrorCategory)
BUCKETS = 24
# An outcome is late if its minute ended longer ago than this. Only an outage of the database makes
# outcomes late: otherwise they are recorded within seconds. An hour can be rolled up when twice
# LATE_MINUTES have passed since its end.
LATE_MINUTES = 60

_MINUTE = (
    Column("environment", "integer", shared=True),
    Column("destination", "uuid", shared=True),
    Column("minute", "integer", shared=True),
    Column("attempts", "integer"),
    Column("retried", "integer"),
    Column("delivered", "integer"),
    Column("dead_lettered", "integer"),
    Column("failed", "integer"),
)
_PLACE = (Column("place", "integer"),)  # the offset of a minute's histograms in the flat argument
LATENCY = tuple(f"latency_{bucket:02}" for bucket in range(BUCKETS))
_ERROR = tuple(f"error_{code:02}" for code in range(1, ERRORS + 1))
COUNTERS = (*(column.name for column in _MINUTE[3:]), *_ERROR, *LATENCY)
_CLAUSE = """,
counted AS (
    INSERT INTO destination_minutes AS n ({names})
    SELECT {values} FROM owner, {source}
    WHERE true{condition}
    ON CONFLICT (environment, destination, minute) DO UPDATE SET {sums}
)"""
_REOPENED = """,
reopened AS (
    INSERT INTO destination_rolled AS r (environment, destination, through, reopened)
    SELECT {environment}, {destination}, 0, min({minute}) / 60 FROM owner, {source} GROUP BY 1, 2
    ON CONFLICT (environment, destination) DO UPDATE
        SET through = least(r.through, excluded.reopened), reopened = excluded.reopened
)"""


def early_minute(group: SettleGroup) -> int:
    """Return the first minute whose hour cannot be rolled up yet."""
    return max(group.now_ms, group.latest_ms) // 60_000 - LATE_MINUTES


def are_late(group: SettleGroup, minutes: Sequence[MinuteDelta]) -> bool:
    """Return True if some of the minutes can be in an hour that was already rolled up."""
    # The first run of a group that runs `again` can be long ago.
    early = early_minute(group)
    return bool(minutes) and (group.again or any(minute.minute < early for minute in minutes))


def minutes_clause(before: int, *, late: bool, uniform: bool, condition: str) -> tuple[str, int]:
    """Return the WITH query that adds minutes to the counters, and the number of its last parameter.

    If `late`, a second WITH query marks the hours from the earliest minute on as not rolled up, and the
    next roll-up sums them again. `condition` is appended to the first query's WHERE. All counts of
    latencies and errors are sent in one flat array, because an array for each column would be slower (see
    `storage.database.columns`).
    """
    minute = rows("m", _MINUTE + _PLACE, before, uniform=uniform)
    number = minute.parameters + 1
    value = {name: minute.value[name] for name in minute.value if name != "place"}
    for place, name in enumerate(LATENCY + _ERROR, 1):
        value[name] = f"(${number}::integer[])[m.place + {place}]"
    sums = ", ".join(f"{name} = n.{name} + excluded.{name}" for name in list(value)[3:])
    clause = _CLAUSE.format(
        names=", ".join(value),
        values=", ".join(value.values()),
        source=minute.source,
        condition=condition,
        sums=sums,
    )
    if late:
        clause += _REOPENED.format(source=minute.source, **value)
    return clause, number


def bind_minutes(arguments: Arguments, minutes: Sequence[MinuteDelta]) -> None:
    """Add the arguments of `minutes_clause`."""
    arguments.shared([m.environment for m in minutes])
    arguments.shared([m.destination for m in minutes])
    arguments.shared([m.minute for m in minutes])
    arguments.add(
        [m.attempts for m in minutes],
        [m.retried for m in minutes],
        [m.delivered for m in minutes],
        [m.dead_lettered for m in minutes],
        [m.failed for m in minutes],
    )
    flat: list[int] = []
    for minute in minutes:
        flat += minute.latency
        flat += minute.errors
    arguments.add(list(range(0, len(flat), BUCKETS + ERRORS)), flat)
