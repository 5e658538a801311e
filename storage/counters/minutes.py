"""Counters a minute, as a part of the settle statement: they move with the rows that they count."""

from collections.abc import Sequence

from msgspec import Struct

from engine.core.minutes import MinuteDelta
from engine.ports import SettleGroup
from storage.database.columns import Arguments, Column, rows

ERRORS = 13  # one for each ErrorCategory
BUCKETS = 24  # of latency
_SMALL = 255  # what a byte holds
# An outcome is recorded within seconds of its end, unless the database was away. What is counted into
# an earlier minute than this says so; hours are rolled up when they ended twice as long ago.
LATE_MINUTES = 60

_MINUTE = (
    Column("environment", "integer", shared=True),
    Column("destination", "uuid", shared=True),
    Column("minute", "integer", shared=True),
    Column("attempts", "integer"),
    Column("retried", "integer"),
    Column("delivered", "integer"),
    Column("dead_lettered", "integer"),
)
_FAILED = (Column("failed", "integer"),)
_PLACE = (Column("place", "integer"),)  # where a minute's histograms begin in the flat argument
LATENCY = tuple(f"latency_{bucket:02}" for bucket in range(BUCKETS))
_ERROR = tuple(f"error_{code:02}" for code in range(1, ERRORS + 1))
# All that a row of counters counts.
COUNTERS = (*(column.name for column in _MINUTE[3:] + _FAILED), *_ERROR, *LATENCY)
_CLAUSE = """,
counted AS (
    INSERT INTO destination_minutes AS n ({names})
    SELECT {values} FROM owner, {source}
    WHERE true{condition}
    ON CONFLICT (environment, destination, minute) DO UPDATE SET {sums}
)"""
# Hours may have been rolled up that these minutes belong to: see `storage.counters.hours`.
_REOPENED = """,
reopened AS (
    INSERT INTO destination_rolled AS r (environment, destination, through, reopened)
    SELECT {environment}, {destination}, 0, min({minute}) / 60 FROM owner, {source} GROUP BY 1, 2
    ON CONFLICT (environment, destination) DO UPDATE
        SET through = least(r.through, excluded.reopened), reopened = excluded.reopened
)"""


class Counted(Struct, frozen=True):
    """What the text of the clause depends on."""

    failures: bool  # some attempts failed
    small: bool  # no count of the histograms is above 255
    late: bool  # some minute may be in an hour that is rolled up


def early_minute(group: SettleGroup) -> int:
    """Return the first minute whose hour is rolled up in no case yet."""
    return group.now_ms // 60_000 - LATE_MINUTES


def counted(group: SettleGroup, minutes: Sequence[MinuteDelta]) -> Counted | None:
    """Return how minutes of a group are to be counted, None where there are none."""
    if not minutes:
        return None
    # A group that is run again is as old as its first run, which nobody knows here.
    early = early_minute(group)
    return Counted(
        any(minute.failed for minute in minutes),
        all(max(minute.latency) <= _SMALL >= max(minute.errors) for minute in minutes),
        group.again or any(minute.minute < early for minute in minutes),
    )


def minutes_clause(before: int, kind: Counted, *, uniform: bool, condition: str) -> tuple[str, int]:
    """Return the clause that adds minutes, and the number of its last parameter.

    `condition` is appended to the WHERE. The histograms come as one flat argument, if possible as bytes:
    in groups of many destinations they are most of what is sent, and an array of integers costs 6 us an
    outcome.
    """
    columns = _MINUTE + _FAILED if kind.failures else _MINUTE
    minute = rows("m", columns + _PLACE, before, uniform=uniform)
    number = minute.parameters + 1
    value = {name: minute.value[name] for name in minute.value if name != "place"}
    for place, name in enumerate(LATENCY + _ERROR if kind.failures else LATENCY):
        if kind.small:
            value[name] = f"get_byte(${number}::bytea, m.place + {place})"
        else:
            value[name] = f"(${number}::integer[])[m.place + {place + 1}]"
    sums = ", ".join(f"{name} = n.{name} + excluded.{name}" for name in list(value)[3:])
    clause = _CLAUSE.format(
        names=", ".join(value),
        values=", ".join(value.values()),
        source=minute.source,
        condition=condition,
        sums=sums,
    )
    if kind.late:
        clause += _REOPENED.format(source=minute.source, **value)
    return clause, number


def bind_minutes(arguments: Arguments, minutes: Sequence[MinuteDelta], kind: Counted) -> None:
    """Add the arguments of `minutes_clause`."""
    arguments.shared([m.environment for m in minutes])
    arguments.shared([m.destination for m in minutes])
    arguments.shared([m.minute for m in minutes])
    arguments.add(
        [m.attempts for m in minutes],
        [m.retried for m in minutes],
        [m.delivered for m in minutes],
        [m.dead_lettered for m in minutes],
    )
    flat: list[int] = []
    for minute in minutes:
        flat += minute.latency
        if kind.failures:
            flat += minute.errors
    width = BUCKETS + ERRORS if kind.failures else BUCKETS
    if kind.failures:
        arguments.add([m.failed for m in minutes])
    arguments.add(list(range(0, len(flat), width)), bytes(flat) if kind.small else flat)
