"""The kinds of connection, with their settings and time limits, and the log of slow statements."""

from dataclasses import dataclass, field

import structlog


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of a connection. All times are in seconds."""

    purpose: str  # shown in pg_stat_activity as `angarium <purpose>`
    # The server's limit is shorter than the driver's: if the server cancels the statement, the outcome is
    # known.
    statement_timeout_s: float | None
    command_timeout_s: float | None
    settings: dict[str, str] = field(default_factory=dict)
    # True: a statement connects if needed. False: only `ensure()` connects. An epoch that the caller
    # reads after `ensure()` is never older than the connection.
    connects_itself: bool = True
    # True: a cancelled statement is abandoned together with its connection. This is for long statements
    # that can be repeated.
    abandons: bool = False
    # True: prepared statements use `Crossing` (except over TLS). This is for thousands of statements a
    # second, and for queries that tenants can send at any rate.
    lean: bool = False

    def session_settings(self) -> dict[str, str]:
        milliseconds = (
            0 if self.statement_timeout_s is None else int(self.statement_timeout_s * 1000)
        )
        return {
            "statement_timeout": str(milliseconds),
            # After this time, the server releases the locks of a client that died within a transaction.
            "idle_in_transaction_session_timeout": "30000",
            "timezone": "UTC",
            "jit": "off",  # compilation takes longer than any of our statements
            # A 202 promises durability, even if the server's default is off.
            "synchronous_commit": "on",
            **self.settings,
        }


# How long a statement of intake or recorder waits for a locked row. Our own sessions hold a lock for
# milliseconds, a stranger's for any time. The statement's other rows must not wait for that.
LOCK_WAIT_MS = 100


def hot(purpose: str, *, lock_wait_ms: int = 0) -> Profile:
    """Return the profile of a connection for a few prepared statements. `lock_wait_ms` limits the wait
    for a lock; 0 is no limit."""
    return Profile(
        purpose,
        statement_timeout_s=8.0,  # a group takes at most 100 ms, unless the database is in trouble
        command_timeout_s=10.0,
        settings={
            "lock_timeout": str(lock_wait_ms),
            # A plan made for an empty table would later scan the full table: 3 ms an event.
            "enable_seqscan": "off",
            # One plan for all groups: a new plan for each costs more than the statement.
            "plan_cache_mode": "force_generic_plan",
            # Rows must be looked up by the index of their whole key. At the default cost of a comparison,
            # any index that begins with the environment looks as cheap while a table is small.
            "cpu_operator_cost": "0.1",
            # No row is looked up twice, so a cache of rows is useless.
            "enable_memoize": "off",
        },
        connects_itself=False,
        lean=True,
    )


INTAKE = hot("intake", lock_wait_ms=LOCK_WAIT_MS)
SETTLE = hot("settle", lock_wait_ms=LOCK_WAIT_MS)
# Queries of the control plane. They examine a bounded number of rows: 15 s means trouble.
POOL = Profile("control", statement_timeout_s=15.0, command_timeout_s=18.0, lean=True)
# Pages of the delivery log, on their own connections, so that they delay no command. The settings make
# them follow an index and read a bounded number of rows, even with outdated statistics.
LOG = Profile(
    "log",
    statement_timeout_s=10.0,
    command_timeout_s=12.0,
    lean=True,
    settings={
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_sort": "off",
        "enable_incremental_sort": "off",
    },
)
LOG_READERS = 4
# Searches of the delivery log for rare values. The planner chooses the index by the given values. The
# settings forbid reading rows in order until enough match, which would read them all.
SEARCH = Profile(
    "search",
    statement_timeout_s=0.1,  # 10 ms find 20 of 10,000,000 rows; a common value takes longer
    command_timeout_s=3.0,
    lean=True,
    settings={
        "plan_cache_mode": "force_custom_plan",
        "enable_seqscan": "off",
        "enable_indexscan": "off",
        "enable_indexonlyscan": "off",
        "max_parallel_workers_per_gather": "0",
    },
)
SEARCHERS = 2  # so that the searches of all tenants use at most two of the database's processors
# Migrations and partitions. They can rewrite a table, so their statements have no time limit. While such
# a statement waits for a lock, others queue behind it: the lock timeout limits that.
UPKEEP = Profile(
    "upkeep",
    statement_timeout_s=None,
    command_timeout_s=3600.0,
    settings={"lock_timeout": "60000"},
    abandons=True,
)
# After 5 s without an answer, requests are refused: a statement must fail sooner.
LISTENER = Profile(
    "listener", statement_timeout_s=3.0, command_timeout_s=3.5, connects_itself=False
)
# A heartbeat must fail before other nodes count this node as dead. It need not survive a crash of the
# database.
NODE = Profile(
    "node",
    statement_timeout_s=2.0,
    command_timeout_s=2.5,
    settings={"synchronous_commit": "off"},
    connects_itself=False,
    lean=True,
)


SLOW_S = 1.0  # a longer statement is logged

log = structlog.get_logger("angarium.database")


def note(profile: Profile, took_s: float) -> None:
    """Log a slow statement, unless its profile has no time limit."""
    if took_s > SLOW_S and profile.statement_timeout_s is not None:
        log.warning(
            "database.slow",
            purpose=profile.purpose,
            seconds=round(took_s, 1),
            limit_s=profile.statement_timeout_s,
            remedy="look at the load, locks and disk of PostgreSQL, and run `angarium doctor`",
        )
