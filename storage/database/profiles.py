"""The kinds of connection, with their settings and time limits, and the log of slow statements."""

from dataclasses import dataclass, field

import structlog


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of a connection. All times are in seconds."""

    purpose: str  # shown in pg_stat_activity as `angarium <purpose>`
    # PostgreSQL enforces `statement_timeout_s`, and the driver enforces `command_timeout_s`. PostgreSQL's
    # limit is shorter, because a statement that PostgreSQL cancels has written nothing. If the driver
    # stops waiting, the outcome of the statement is unknown.
    statement_timeout_s: float | None
    command_timeout_s: float | None
    settings: dict[str, str] = field(default_factory=dict)
    # True: a statement opens a lost connection again. False: only `ensure()` and `listen()` open it. The
    # hot path needs False: its statements contain the epoch of `Ownership`, which each reconnection
    # renews. So their caller calls `ensure()`, then reads the epoch, then runs the statement.
    connects_itself: bool = True
    # True: if the caller is cancelled, the statement is cancelled and the connection is closed. This is
    # for long statements that can be repeated. False: the statement runs to its end.
    abandons: bool = False
    # True: prepared statements use `Crossing`, which saves processor time. (Over TLS, `Crossing` is not
    # used.) This is for connections with thousands of statements a second, and for connections with
    # queries that tenants can send at any rate.
    lean: bool = False

    def session_settings(self) -> dict[str, str]:
        milliseconds = (
            0 if self.statement_timeout_s is None else int(self.statement_timeout_s * 1000)
        )
        return {
            "statement_timeout": str(milliseconds),
            # A client can die within a transaction. After this time, PostgreSQL ends the client's
            # session, which releases its locks.
            "idle_in_transaction_session_timeout": "30000",
            "timezone": "UTC",
            "jit": "off",  # compilation takes longer than any of our statements
            # A 202 promises durability, even if the server's default is off.
            "synchronous_commit": "on",
            **self.settings,
        }


# How long a statement of the intake or the recorder waits for a locked row. Angarium's own sessions hold
# a lock for milliseconds. The session of another program can hold a lock for any time. After this wait,
# the statement fails. Its caller can then write the other rows of the statement without the locked row.
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
            # Without this setting, a plan made for an empty table would scan the whole table. After the
            # table has grown to 100,000 rows, this scan would take 3 ms for each event.
            "enable_seqscan": "off",
            # All executions of a statement share one plan, because planning costs more than execution.
            "plan_cache_mode": "force_generic_plan",
            # With this cost of a comparison, the planner chooses the index that has the whole key of the
            # rows. With the default cost and a small table, all indexes that begin with the environment
            # would seem equally cheap to the planner.
            "cpu_operator_cost": "0.1",
            # No row is looked up twice, so a cache of rows is useless.
            "enable_memoize": "off",
        },
        connects_itself=False,
        lean=True,
    )


INTAKE = hot("intake", lock_wait_ms=LOCK_WAIT_MS)
SETTLE = hot("settle", lock_wait_ms=LOCK_WAIT_MS)
# Queries of the control plane. They examine a bounded number of rows, so a query of 15 s shows that the
# database is in trouble.
POOL = Profile("control", statement_timeout_s=15.0, command_timeout_s=18.0, lean=True)
# Pages of the delivery log. They have their own connections, so that they delay no command. The settings
# make each query follow an index and read a bounded number of rows, even if the statistics of the tables
# are outdated.
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
# Searches of the delivery log for rare values. Each search gets its own plan, so the planner knows the
# values when it chooses an index. The settings forbid scans in the order of the ids. Such a scan reads
# rows until enough of them match, so for a rare value it would read all rows.
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
# Migrations and the upkeep of partitions. Their statements can rewrite a table, so each can take up to an
# hour. While such a statement waits for a lock on a table, the later statements on this table wait behind
# it. `lock_timeout` limits this wait.
UPKEEP = Profile(
    "upkeep",
    statement_timeout_s=None,
    command_timeout_s=3600.0,
    settings={"lock_timeout": "60000"},
    abandons=True,
)
# The listener checks its connection with statements. If no check succeeds for 5 s, admission refuses
# requests. A hanging statement must fail sooner, so that the listener can reconnect in time.
LISTENER = Profile(
    "listener", statement_timeout_s=3.0, command_timeout_s=3.5, connects_itself=False
)
# The writes of heartbeats. A heartbeat that hangs must fail before other nodes count this node as dead.
# `synchronous_commit` is off, because a heartbeat need not survive a crash of the database.
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
