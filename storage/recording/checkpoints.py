"""What recovery starts from, as a part of the settle statement: backlog marks and snapshots."""

from operator import attrgetter

from engine.ports import SettleGroup
from storage.database.columns import Arguments, Column, rows

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
# A row that is not there is not made: only the intake knows when a destination becomes dirty.
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
    """Return the clauses that raise backlog rows and replace snapshots."""
    mark = rows("w", _MARK, before, uniform=False)
    snapshot = rows("s", _SNAPSHOT, mark.parameters, uniform=False)
    return _CLAUSES.format(mark=mark, snapshot=snapshot, now=snapshot.parameters + 1)


def bind_checkpoints(arguments: Arguments, group: SettleGroup) -> None:
    """Add the arguments of `checkpoint_clauses`."""
    by_place = attrgetter("environment", "destination")  # the order in which all lock these rows
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
