"""Counters a minute, as a part of the settle statement: they move with the rows that they count."""

from collections.abc import Sequence

from engine.ports import MinuteDelta
from storage.columns import Arguments, Column, rows

ERRORS = 13  # one for each ErrorCategory
BUCKETS = 24  # of latency

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
_LATENCY = tuple(f"latency_{bucket:02}" for bucket in range(BUCKETS))
_ERROR = tuple(f"error_{code:02}" for code in range(1, ERRORS + 1))
_CLAUSE = """,
counted AS (
    INSERT INTO destination_minutes AS n ({names})
    SELECT {values} FROM owner, {source}
    WHERE true{gate}
    ON CONFLICT (environment, destination, minute) DO UPDATE SET {sums}
)"""


def minutes_clause(before: int, *, uniform: bool, failures: bool, gate: str) -> tuple[str, int]:
    """Return the clause that adds minutes, and the number of its last parameter.

    `gate` is a further condition. Histograms come as one flat array: 37 arrays would cost more to
    carry than everything else that is written.
    """
    columns = _MINUTE + _FAILED if failures else _MINUTE
    minute = rows("m", columns, before, uniform=uniform, ordinal=True)
    number = minute.parameters + 1
    values = [*minute.value.values(), *_elements(number, len(_LATENCY))]
    names = [*minute.value, *_LATENCY]
    if failures:
        number += 1
        values += _elements(number, len(_ERROR))
        names += _ERROR
    sums = ", ".join(f"{name} = n.{name} + excluded.{name}" for name in names[3:])
    clause = _CLAUSE.format(
        names=", ".join(names),
        values=", ".join(values),
        source=minute.source,
        gate=gate,
        sums=sums,
    )
    return clause, number


def _elements(parameter: int, width: int) -> list[str]:
    return [
        f"(${parameter}::integer[])[(m.ordinal::integer - 1) * {width} + {place}]"
        for place in range(1, width + 1)
    ]


def bind_minutes(arguments: Arguments, minutes: Sequence[MinuteDelta], *, failures: bool) -> None:
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
    if failures:
        arguments.add([m.failed for m in minutes])
    arguments.add([count for m in minutes for count in m.latency])
    if failures:
        arguments.add([count for m in minutes for count in m.errors])
