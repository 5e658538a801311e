"""Tallies of replay jobs, as a part of the settle statement: they move with the rows that they count."""

from collections.abc import Sequence
from operator import attrgetter

from engine.ports import ReplayDelta
from storage.database.columns import Arguments, Column, rows

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
    """Return the clause that moves tallies, and the number of its last parameter. `condition` is appended
    to the WHERE."""
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
