"""The log of slow statements: a line a minute for each kind of connection (`api.logs`)."""

import structlog

from storage.database.profiles import Profile

SLOW_S = 1.0  # a statement of a profile with a time limit takes milliseconds

log = structlog.get_logger("angarium.database")


def note(profile: Profile, took_s: float) -> None:
    """Log a statement that was slow, unless its profile lets it take any time."""
    if took_s > SLOW_S and profile.statement_timeout_s is not None:
        log.warning(
            "database.slow",
            purpose=profile.purpose,
            seconds=round(took_s, 1),
            limit_s=profile.statement_timeout_s,
            remedy="look at the load, locks and disk of PostgreSQL, and run `angarium doctor`",
        )
