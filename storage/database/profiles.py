"""Kinds of connection: their session settings, their time limits, and the log of slow statements."""

from dataclasses import dataclass, field

import structlog


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of a connection. All times are in seconds."""

    purpose: str  # shown in pg_stat_activity as `angarium <purpose>`
    # The server gives up first, so that an answer is definite; the driver's limit is for a server
    # that does not answer at all.
    statement_timeout_s: float | None
    command_timeout_s: float | None
    settings: dict[str, str] = field(default_factory=dict)
    # Whether a statement connects where needed. If not, only `ensure()` does, so that what the
    # statement was made of (an epoch) cannot be older than the connection that it runs on.
    connects_itself: bool = True
    # Whether a cancelled statement is given up together with its connection, instead of awaited: for
    # statements that can take long and can be repeated.
    abandons: bool = False
    # Whether its statements take the lean crossing (except over TLS). This is for thousands of statements
    # a second, and for queries that a tenant can send as fast as it likes: each turn of the loop that
    # they take is taken from others.
    lean: bool = False

    def session_settings(self) -> dict[str, str]:
        """Return the settings of a session; they hold before any other statement runs."""
        milliseconds = (
            0 if self.statement_timeout_s is None else int(self.statement_timeout_s * 1000)
        )
        return {
            "statement_timeout": str(milliseconds),
            # A client that died within a transaction holds its locks no longer than this.
            "idle_in_transaction_session_timeout": "30000",
            "timezone": "UTC",
            "jit": "off",  # compiling costs more than any of our statements
            # A 202 promises durability, whatever the server's default is.
            "synchronous_commit": "on",
            **self.settings,
        }


# How long a statement of the intake waits for a row that another session has locked. Our own sessions
# hold a lock for some milliseconds. A longer lock must delay only its own request: the intake finds
# that request by halving the group.
LOCK_WAIT_MS = 100


def hot(purpose: str, *, lock_wait_ms: int = 0) -> Profile:
    """Return the profile of a connection for a few prepared statements. `lock_wait_ms`: 0 to wait as
    long as the statement's own limit."""
    return Profile(
        purpose,
        statement_timeout_s=8.0,  # a group takes 100 ms at most; 8 s is a server in trouble
        command_timeout_s=10.0,
        settings={
            "lock_timeout": str(lock_wait_ms),
            # A plan made while a table was empty scans it for ever: 3 ms an event later on.
            "enable_seqscan": "off",
            # One plan for all groups: planning again for each costs more than the statement.
            "plan_cache_mode": "force_generic_plan",
            # Rows are looked up by the whole of their key. Where a comparison costs next to nothing, as
            # by default, any index that begins with the environment is as good while a table is small.
            "cpu_operator_cost": "0.1",
            # No row is looked up twice, so a cache of found rows would be filled in vain.
            "enable_memoize": "off",
        },
        connects_itself=False,
        lean=True,
    )


INTAKE = hot("intake", lock_wait_ms=LOCK_WAIT_MS)
SETTLE = hot("settle")
# Queries of the control plane; lists examine a bounded number of rows, so 15 s is trouble.
POOL = Profile("control", statement_timeout_s=15.0, command_timeout_s=18.0, lean=True)
# Pages of the delivery log, on connections of their own, so that none of them holds up a command. They
# follow an index and read a bounded number of rows; the planner would choose by outdated statistics.
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
LOG_READERS = 4  # pages take some milliseconds each
# Searches of the delivery log for what is rare. The planner chooses among indexes by the values that are
# asked for. It must not read rows in order until enough have passed: that would read them all.
SEARCH = Profile(
    "search",
    statement_timeout_s=0.1,  # 10 ms find 20 of 10,000,000 rows; what takes longer is a common value
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
SEARCHERS = 2  # so that searches of all tenants use two of the database's processors at most
# Migrations and partitions: may rewrite a table, but must not queue others behind a lock for long.
UPKEEP = Profile(
    "upkeep",
    statement_timeout_s=None,
    command_timeout_s=3600.0,
    settings={"lock_timeout": "60000"},
    abandons=True,
)
# The connection is checked every second. Requests are refused once it was silent for five, so its
# statements must fail sooner.
LISTENER = Profile(
    "listener", statement_timeout_s=3.0, command_timeout_s=3.5, connects_itself=False
)
# A heartbeat every half second: it must fail before others think that this node is dead. A beat that is
# lost in a crash of the database is no loss.
NODE = Profile(
    "node",
    statement_timeout_s=2.0,
    command_timeout_s=2.5,
    settings={"synchronous_commit": "off"},
    connects_itself=False,
    lean=True,
)


SLOW_S = 1.0  # a statement of a profile with a time limit takes milliseconds

log = structlog.get_logger("angarium.database")


def note(profile: Profile, took_s: float) -> None:
    """Log a slow statement, unless its profile allows it any time."""
    if took_s > SLOW_S and profile.statement_timeout_s is not None:
        log.warning(
            "database.slow",
            purpose=profile.purpose,
            seconds=round(took_s, 1),
            limit_s=profile.statement_timeout_s,
            remedy="look at the load, locks and disk of PostgreSQL, and run `angarium doctor`",
        )
