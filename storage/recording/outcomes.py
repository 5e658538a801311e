"""The settle statement: its SQL for each kind of group, and its arguments.

A group of successes has a lean SQL of its own (`storage.recording.successes`). If all deliveries of a
group are in the partition of one day, the statement updates this partition. An update of the parent table
would cost 3 us more for each outcome.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from operator import attrgetter
from typing import Any

from msgspec import Struct

from engine.core.minutes import ended_at_ms, minute_deltas
from engine.core.records import Attempt, Settlement
from engine.model.identity import created_at_ms
from engine.ports import ReplayDelta, SettleGroup
from storage.counters.minutes import are_late, bind_minutes, minutes_clause
from storage.database.columns import Arguments, Column, Rows, rows
from storage.database.plan_refresh import KNOWN
from storage.log.partitions import Partition, day_of
from storage.log.responses import lines_of_each, text_bytes
from storage.ownership import SETTLE_OWNER
from storage.recording.successes import (
    Successes,
    are_successes,
    bind_successes,
    mark_singles,
    success_clauses,
)

_MARK = (
    Column("environment", "integer"),
    Column("destination", "uuid"),
    Column("low_seq", "bigint"),
    Column("next_due_at_ms", "bigint"),
)
_SNAPSHOT = (
    Column("environment", "integer"),
    Column("destination", "uuid"),
    Column("state", "bytea"),
)
# `marked` updates rows of `destination_backlog`, and does not insert a missing row. Another statement
# inserts the row of a destination: the statement that adds unsettled deliveries to the destination.
_CLAUSES = """,
marked AS (
    UPDATE destination_backlog b
    SET low_seq = greatest(b.low_seq, w.low_seq), next_due_at_ms = w.next_due_at_ms
    FROM owner, {mark.source}
    WHERE b.environment = w.environment AND b.destination = w.destination
),
saved AS (
    INSERT INTO destination_snapshots ({snapshot.names}, taken_at_ms)
    SELECT {snapshot.values}, ${now}::bigint FROM owner, {snapshot.source}
    ON CONFLICT (environment, destination) DO UPDATE
    SET state = excluded.state, taken_at_ms = excluded.taken_at_ms
)"""


def checkpoint_clauses(before: int) -> str:
    """Return the clauses that raise the `low_seq` of backlog rows, and replace snapshots."""
    mark = rows("w", _MARK, before, uniform=False)
    snapshot = rows("s", _SNAPSHOT, mark.parameters, uniform=False)
    return _CLAUSES.format(mark=mark, snapshot=snapshot, now=snapshot.parameters + 1)


def bind_checkpoints(arguments: Arguments, group: SettleGroup) -> None:
    """Add the arguments of `checkpoint_clauses`."""
    by_place = attrgetter("environment", "destination")  # the order in which statements lock rows
    marks = sorted(group.marks, key=by_place)
    snapshots = sorted(group.snapshots, key=by_place)
    arguments.add(
        [m.environment for m in marks],
        [m.destination for m in marks],
        [m.low_seq for m in marks],
        [m.next_due_at_ms for m in marks],
        [s.environment for s in snapshots],
        [s.destination for s in snapshots],
        [s.state for s in snapshots],
        group.now_ms,
    )


_ATTEMPT = (
    Column("environment", "integer", shared=True),
    Column("delivery", "uuid"),
    Column("number", "integer"),
    Column("started_at_ms", "bigint"),
    Column("duration_ms", "integer"),
    Column("success", "boolean", shared=True),
    Column("destination_version", "integer", shared=True),
    Column("transform_version", "integer", shared=True),
    Column("response_status", "smallint", shared=True),
    Column("error_category", "smallint", shared=True),
    Column("response_truncated", "boolean", shared=True),
    Column("error_message", "bytea", shared=True),
    Column("response_headers", "bytea", shared=True),
    Column("response_body", "bytea", shared=True),
    Column("logs", "bytea", shared=True),
)
_STATE = (
    Column("environment", "integer", shared=True),
    Column("id", "uuid"),
    Column("expects", "integer"),
    Column("seq", "bigint"),
    Column("attempt_count", "integer"),
    Column("at_ms", "bigint"),
    Column("status", "smallint", shared=True),
    Column("response_status", "smallint", shared=True),
    Column("error_category", "smallint", shared=True),
    Column("last_error", "bytea", shared=True),
    Column("next_attempt_at_ms", "bigint"),
    Column("dlq_status", "smallint", shared=True),
    Column("dead_lettered", "boolean", shared=True),
    Column("skipped", "boolean", shared=True),
)

_OWNER = "WITH " + SETTLE_OWNER.format(process="$1", epoch="$2", shards="$3")
_MADE_ATTEMPTS = """,
made AS (
    INSERT INTO attempts ({attempt.names})
    SELECT {attempt.values} FROM owner, {attempt.source}{again}
)"""
# A delivery keeps its dead-letter status unless the settlement changes this status. `trouble` depends on
# the dead-letter status after the change. The statement changes no FAILED delivery, with one exception: a
# delivery in the dead-letter queue (`dlq_status` 1) can be discarded (`dlq_status` 3).
_CHANGED_STATES = """,
changed AS (
    UPDATE {table} d SET
        status = {status}, attempt_count = o.attempt_count, updated_at_ms = o.at_ms,
        delivered_at_ms = CASE WHEN {status} = 2 THEN o.at_ms END,
        dead_lettered_at_ms = CASE WHEN {dead_lettered} THEN o.at_ms ELSE d.dead_lettered_at_ms END,
        next_attempt_at_ms = o.next_attempt_at_ms,
        dlq_status = {dlq},
        trouble = CASE {status}
            WHEN 4 THEN 1
            WHEN 3 THEN CASE WHEN {dlq} = 1 THEN 3 ELSE 2 END
            ELSE CASE WHEN {dlq} = 2 THEN 4 END END,
        response_status = {response_status}, error_category = {error_category},
        last_error = {last_error}, skipped = {skipped}
    FROM owner, {source}
    WHERE d.environment = {environment} AND d.id = o.id AND d.attempt_count = o.expects
      AND d.seq = o.seq AND (d.status IN (0, 4) OR (d.dlq_status = 1 AND {dlq_status} = 3))
    RETURNING {status} <> 4 OR o.attempt_count <> o.expects AS lasting
)"""
# An archived or discarded delivery becomes FAILED without a new attempt. It keeps the response and the
# error of its last attempt.
_KEPT = """CASE WHEN {status} = 3 AND o.attempt_count = o.expects
        THEN coalesce({new}, d.{name}) ELSE {new} END"""
_RESULT = """
SELECT CASE WHEN {whole} THEN c.changed
       ELSE ('deliveries changed: ' || c.changed || ' of ' || $4::integer)::integer END
FROM owner, (SELECT count(*)::integer AS changed FROM changed) c"""
_WHOLE = "c.changed = $4::integer"
# A group's statement runs a second time if the result of its first run is unknown. The second run raises
# no error in two cases:
#
# - The first run wrote nothing. The second run must then change all deliveries and insert all attempts.
# - The first run wrote everything. The second run must then insert no attempt and make no lasting change.
#
# A change is not lasting if it only sets the time of a retry. If the first run made such a change, the
# second run makes it again. If the first run made a lasting change, the second run cannot make it again,
# because the delivery's row no longer meets the conditions of `changed`.
_WHOLE_AGAIN = f"({_WHOLE} AND a.made = $5::integer) OR (a.made = 0 AND a.lasting = 0)"
_MADE = """, (SELECT (SELECT count(*) FROM made) AS made,
         (SELECT count(*) FROM changed WHERE lasting) AS lasting) a"""
# The condition for an attempt that a second run (see above) inserts into `attempts`. The first run can
# have stored the attempt in its delivery's row instead (`only_duration_ms` is then not null). In this
# case, the second run must not insert the attempt. LIMIT makes the planner look up each delivery by its
# key.
_AGAIN = """
    WHERE (SELECT d.only_duration_ms FROM {table} d
           WHERE d.environment = {environment} AND d.id = t.delivery LIMIT 1) IS NULL
    ON CONFLICT (environment, delivery, number) DO NOTHING RETURNING 1"""
_ONLY_IF_CHANGED = " AND (SELECT count(*) FROM changed) = $4::integer"


class Shape(Struct, frozen=True):
    """The properties of a group that determine the SQL of its statement."""

    table: str
    successes: Successes | None  # None unless the lean SQL covers the group
    uniform: bool
    again: bool
    counted: bool  # the group changes counters by the minute
    late: bool  # some of these minutes can be in a rolled-up hour
    checkpoint: bool
    replays: bool


class Statement(Struct, frozen=True):
    """A statement's SQL and its arguments from the fourth on."""

    sql: str
    arguments: Sequence[Any]


# The cache has a limit, because each day's partition has its own statements, with 7 to 10 kB each. The
# cache drops the statements of past days.
@lru_cache(KNOWN)
def settle_statement(shape: Shape) -> str:
    """Return the statement for groups of a shape."""
    number = 5 if shape.again else 4
    parts = [_OWNER]
    if shape.successes is not None:
        clauses, number = success_clauses(
            number, shape.table, shape.successes, uniform=shape.uniform
        )
        parts += clauses
    else:
        attempt = rows("t", _ATTEMPT, number, uniform=shape.uniform)
        state = rows("o", _STATE, attempt.parameters, uniform=shape.uniform)
        number = state.parameters
        again = _AGAIN.format(table=shape.table, **attempt.value) if shape.again else ""
        parts.append(_MADE_ATTEMPTS.format(attempt=attempt, again=again))
        parts.append(_changed_states(shape.table, state))
    if shape.counted:
        condition = _ONLY_IF_CHANGED if shape.again else ""
        clause, number = minutes_clause(
            number, late=shape.late, uniform=shape.uniform, condition=condition
        )
        parts.append(clause)
    if shape.replays:
        condition = _ONLY_IF_CHANGED if shape.again else ""
        clause, number = tallies_clause(number, condition)
        parts.append(clause)
    if shape.checkpoint:
        parts.append(checkpoint_clauses(number))
    parts.append(_RESULT.format(whole=_WHOLE_AGAIN if shape.again else _WHOLE))
    if shape.again:
        parts.append(_MADE)
    return "".join(parts)


def _changed_states(table: str, state: Rows) -> str:
    value = state.value
    kept = {
        name: _KEPT.format(name=name, new=value[name], status=value["status"])
        for name in ("response_status", "error_category", "last_error")
    }
    dlq = f"coalesce({value['dlq_status']}, d.dlq_status)"
    return _CHANGED_STATES.format(table=table, source=state.source, dlq=dlq, **{**value, **kept})


def bind(group: SettleGroup) -> Statement:
    """Return the statement for a group."""
    settlements = group.settlements
    arguments = Arguments()
    arguments.add(len(settlements))
    successes: Successes | None = None
    summed = settlements
    if settlements and not group.again and are_successes(settlements):
        single, marks = mark_singles(group)
        successes = bind_successes(arguments, settlements, marks, single)
        if marks:
            summed = [each for each, mark in zip(settlements, marks, strict=True) if not mark]
    else:
        attempts = [(s, s.attempt) for s in settlements if s.attempt is not None]
        if group.again:
            arguments.add(len(attempts))
        _bind_attempts(arguments, attempts)
        _bind_states(arguments, settlements)
    minutes = minute_deltas(summed)
    if minutes:
        bind_minutes(arguments, minutes)
    if group.replays:
        bind_tallies(arguments, group.replays)
    checkpoint = bool(group.marks or group.snapshots)
    if checkpoint:
        bind_checkpoints(arguments, group)
    shape = Shape(
        _table(settlements),
        successes,
        arguments.uniform,
        group.again,
        bool(minutes),
        are_late(group, minutes),
        checkpoint,
        bool(group.replays),
    )
    return Statement(settle_statement(shape), arguments.bound())


def _table(settlements: Sequence[Settlement]) -> str:
    if not settlements:
        return "deliveries"
    ids = [settlement.delivery.id for settlement in settlements]
    first = day_of(created_at_ms(min(ids)))
    if first != day_of(created_at_ms(max(ids))):
        return "deliveries"
    return Partition("deliveries", first).name


def _bind_attempts(arguments: Arguments, attempts: Sequence[tuple[Settlement, Attempt]]) -> None:
    deliveries = [s.delivery for s, _ in attempts]
    outcomes = [a.outcome for _, a in attempts]
    arguments.shared([d.event.environment for d in deliveries])
    arguments.add(
        [d.id for d in deliveries],
        [a.number for _, a in attempts],
        [int(o.started_at * 1000) for o in outcomes],
        [o.duration_ms for o in outcomes],
    )
    arguments.shared([o.success for o in outcomes])
    arguments.shared([a.destination_version for _, a in attempts])
    arguments.shared([a.outcome.transform_version for _, a in attempts])
    arguments.shared([o.status for o in outcomes])
    arguments.shared([o.category for o in outcomes])
    arguments.shared([o.truncated for o in outcomes])
    arguments.shared([text_bytes(o.message) for o in outcomes])
    arguments.shared(lines_of_each([o.headers for o in outcomes]))
    arguments.shared([o.body for o in outcomes])
    arguments.shared([o.logs for o in outcomes])


def _bind_states(arguments: Arguments, settlements: Sequence[Settlement]) -> None:
    arguments.shared([s.delivery.event.environment for s in settlements])
    arguments.add(
        [s.delivery.id for s in settlements],
        [s.expects for s in settlements],
        [s.delivery.seq for s in settlements],
        [s.expects if s.attempt is None else s.attempt.number for s in settlements],
        [ended_at_ms(s) for s in settlements],
    )
    arguments.shared([s.status for s in settlements])
    arguments.shared([s.response_status for s in settlements])
    arguments.shared([s.error_category for s in settlements])
    arguments.shared([text_bytes(s.last_error) for s in settlements])
    # Rounded up, so that no attempt is early after a restart.
    arguments.column(
        [None if s.next_attempt_at is None else ceil(s.next_attempt_at * 1000) for s in settlements]
    )
    arguments.shared([s.dlq_status for s in settlements])
    arguments.shared([s.dead_lettered for s in settlements])
    arguments.shared([s.skipped for s in settlements])


_TALLY = (
    Column("environment", "integer"),
    Column("job", "uuid"),
    Column("delivered", "integer"),
    Column("failed", "integer"),
)
_CLAUSE = """,
tallied AS (
    INSERT INTO replay_tallies AS y ({tally.names})
    SELECT {tally.values} FROM owner, {tally.source}
    WHERE true{condition}
    ON CONFLICT (environment, job) DO UPDATE
    SET delivered = y.delivered + excluded.delivered, failed = y.failed + excluded.failed
)"""


def tallies_clause(before: int, condition: str) -> tuple[str, int]:
    """Return the clause that adds to the tallies of replay jobs, and the number of its last parameter.
    `condition` is added to the clause's WHERE."""
    tally = rows("r", _TALLY, before, uniform=False)
    return _CLAUSE.format(tally=tally, condition=condition), tally.parameters


def bind_tallies(arguments: Arguments, replays: Sequence[ReplayDelta]) -> None:
    """Add the arguments of `tallies_clause`."""
    ordered = sorted(replays, key=attrgetter("environment", "job"))
    arguments.add(
        [each.environment for each in ordered],
        [each.job for each in ordered],
        [each.delivered for each in ordered],
        [each.failed for each in ordered],
    )
