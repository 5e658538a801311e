"""The lean SQL of the settle statement, for a group in which every delivery succeeds. If a delivery had
no earlier failures, this SQL changes no column that is in a B-tree index.

Most successes are first attempts with a small response. Such an attempt is stored in its delivery's row.
The view `attempt_log` has all attempts.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto

from msgspec import Struct

from engine.core.counters import BOUNDS_MS
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus
from engine.ports import SettleGroup
from storage.counters.minutes import LATENCY, early_minute
from storage.database.columns import Arguments, Column, rows
from storage.log.responses import lines_of_each

# A success is single if no other success of the group is for the same destination. `_CLAUSE` counts
# single successes cheaply, and cannot count others. If fewer than half of a group's successes are single,
# `_CLAUSE` costs more than it saves.
_ONE_IN = 2
# `width_bucket` needs the lowest duration of each latency bucket. A bucket includes its upper bound, so
# the next bucket begins at the following millisecond.
_BEYOND = ", ".join(str(int(bound) + 1) for bound in BOUNDS_MS)
SINGLES_COLUMNS = f"""d.environment, d.destination,
        ((o.started_at_ms + o.duration_ms) / 60000)::integer AS minute,
        ({{number}} > 1)::integer AS retried,
        width_bucket(o.duration_ms, '{{{{{_BEYOND}}}}}'::integer[]) AS bucket"""
_SUMS = ("attempts", "retried", "delivered", *LATENCY)
_CLAUSE = """,
single AS (
    INSERT INTO destination_minutes AS n (environment, destination, minute, {names})
    SELECT c.environment, c.destination, c.minute, 1, c.retried, 1, {buckets} FROM changed c{which}
    ON CONFLICT (environment, destination, minute) DO UPDATE SET {sums}
)"""


def _clause(which: str) -> str:
    return _CLAUSE.format(
        names=", ".join(_SUMS),
        buckets=", ".join(f"(c.bucket = {bucket})::integer" for bucket in range(len(LATENCY))),
        which=which,
        sums=", ".join(f"{name} = n.{name} + excluded.{name}" for name in _SUMS),
    )


SINGLES_CLAUSE = _clause("")
SINGLES_CLAUSE_OF_SOME = _clause(" WHERE c.single")


class Singles(Enum):
    """How many of a group's successes `_CLAUSE` counts: none, some or all."""

    NONE = auto()
    SOME = auto()
    ALL = auto()


def mark_singles(group: SettleGroup) -> tuple[Singles, list[bool]]:
    """Return how many of the group's successes `_CLAUSE` counts, and a mark for each success: True if
    `_CLAUSE` counts it. `_CLAUSE` counts a success if it is single: no other success of the group is for
    the same destination. But it does not count a destination's test, which the analytics leave out.

    The result is NONE, without marks, if `_CLAUSE` would count too few successes (`_ONE_IN`), or if one
    success is so old that its hour can already be rolled up.
    """
    settlements = group.settlements
    to = [settlement.delivery.destination for settlement in settlements]
    # There are at most as many single successes as destinations.
    if len(set(to)) * _ONE_IN < len(to) or _some_late(settlements, early_minute(group)):
        return Singles.NONE, []
    of, inspection = Counter(to), DeliveryOrigin.INSPECTION
    marks = [of[each] == 1 for each in to]
    for place, settlement in enumerate(settlements):
        if settlement.delivery.origin is inspection:
            marks[place] = False
    number = sum(marks)
    if number == len(marks):
        return Singles.ALL, marks
    return (Singles.SOME, marks) if number * _ONE_IN >= len(marks) else (Singles.NONE, [])


def _some_late(settlements: Sequence[Settlement], minute: int) -> bool:
    began = [each.attempt.outcome.started_at for each in settlements if each.attempt is not None]
    return min(began) < minute * 60


# A response is stored in its delivery's row if its headers and body have at most this many bytes. The
# fill factor in `storage.log.partitions` leaves room for them.
INLINE_BYTES = 160
_DELIVERED = DeliveryStatus.DELIVERED  # looking up a member costs more than a call

_MARK = (Column("single", "boolean"),)  # for a group with `Singles.SOME`
_SUCCESS = (
    Column("environment", "integer", shared=True),
    Column("delivery", "uuid"),
    Column("number", "integer", shared=True),
    Column("started_at_ms", "bigint"),
    Column("duration_ms", "integer"),
    Column("response_status", "smallint", shared=True),
)
_RESPONSE = (
    Column("destination_version", "integer", shared=True),
    Column("transform_version", "integer", shared=True),
    Column("response_headers", "bytea", shared=True),
    Column("response_body", "bytea", shared=True),
)
_RARE = (
    Column("response_truncated", "boolean", shared=True),
    Column("logs", "bytea", shared=True),
)
_MADE = """,
made AS (
    INSERT INTO attempts (success, {names})
    SELECT true, {values} FROM owner, {source}
)"""
_INLINE = """,
        only_duration_ms = o.duration_ms, only_version = {destination_version},
        only_transform = {transform_version}, only_headers = {response_headers},
        only_body = {response_body}"""
_CHANGED = """,
changed AS (
    UPDATE {table} d SET
        status = 2, attempt_count = {number}, response_status = {response_status},
        delivered_at_ms = o.started_at_ms + o.duration_ms,
        updated_at_ms = o.started_at_ms + o.duration_ms,
        trouble = CASE WHEN d.dlq_status IS NOT NULL THEN 4 END,
        error_category = NULL, last_error = NULL, next_attempt_at_ms = NULL{inline}
    FROM owner, {source}
    WHERE d.environment = {environment} AND d.id = o.delivery
      AND d.attempt_count = {number} - 1 AND d.status IN (0, 4)
    RETURNING {returned}
)"""


class Successes(Struct, frozen=True):
    """The properties of a group of successes that determine the SQL of `success_clauses`."""

    inline: bool  # all successes are first attempts with small responses
    single: Singles


def success_clauses(
    before: int, table: str, kind: Successes, *, uniform: bool
) -> tuple[list[str], int]:
    """Return the clauses that write successes, and the number of their last parameter."""
    mark = _MARK if kind.single is Singles.SOME else ()
    columns = mark + _SUCCESS + _RESPONSE + (() if kind.inline else _RARE)
    response = rows("o", columns, before, uniform=uniform)
    parts: list[str] = []
    if kind.inline:
        success = response
        inline = _INLINE.format(**response.value)
    else:
        success = rows("o", mark + _SUCCESS, before, uniform=uniform)
        inline = ""
        stored = {name: response.value[name] for name in response.value if name != "single"}
        names, values = ", ".join(stored), ", ".join(stored.values())
        parts.append(_MADE.format(names=names, values=values, source=response.source))
    returned = "1"
    if kind.single is not Singles.NONE:
        returned = SINGLES_COLUMNS.format(**success.value) + (", o.single" if mark else "")
    parts.append(
        _CHANGED.format(
            table=table, source=success.source, inline=inline, returned=returned, **success.value
        )
    )
    if kind.single is Singles.ALL:
        parts.append(SINGLES_CLAUSE)
    elif kind.single is Singles.SOME:
        parts.append(SINGLES_CLAUSE_OF_SOME)
    return parts, response.parameters


def are_successes(settlements: Sequence[Settlement]) -> bool:
    """Return True if the lean SQL covers these settlements."""
    for settlement in settlements:
        attempt = settlement.attempt
        if (
            attempt is None
            or settlement.status is not _DELIVERED
            or not attempt.outcome.success
            or attempt.number != settlement.expects + 1
            or attempt.outcome.message is not None
            or settlement.skipped
        ):
            return False
    return True


def bind_successes(
    arguments: Arguments, settlements: Sequence[Settlement], marks: Sequence[bool], single: Singles
) -> Successes:
    """Add the arguments of `success_clauses`. Return the properties of the group that determine the SQL
    of these clauses.

    `single` and `marks` are the result of `mark_singles`.
    """
    attempts = [s.attempt for s in settlements if s.attempt is not None]
    deliveries = [s.delivery for s in settlements]
    outcomes = [a.outcome for a in attempts]
    numbers = [a.number for a in attempts]
    lines = lines_of_each([outcome.headers for outcome in outcomes])
    bodies = [o.body for o in outcomes]
    small = max(map(len, lines)) + max(map(len, bodies)) <= INLINE_BYTES or all(
        len(line) + len(body) <= INLINE_BYTES for line, body in zip(lines, bodies, strict=True)
    )
    inline = small and numbers.count(1) == len(numbers)
    inline = inline and not [o for o in outcomes if o.truncated or o.logs is not None]
    if single is Singles.SOME:
        arguments.add(marks)
    arguments.shared([d.event.environment for d in deliveries])
    arguments.add([d.id for d in deliveries])
    arguments.shared(numbers)
    arguments.add([int(o.started_at * 1000) for o in outcomes], [o.duration_ms for o in outcomes])
    arguments.shared([o.status for o in outcomes])
    arguments.shared([a.destination_version for a in attempts])
    arguments.shared([o.transform_version for o in outcomes])
    arguments.shared(lines)
    arguments.shared(bodies)
    if not inline:
        arguments.shared([o.truncated for o in outcomes])
        arguments.shared([o.logs for o in outcomes])
    return Successes(inline, single)
