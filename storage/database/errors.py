"""The errors of PostgreSQL and its driver in the engine's words: no error of asyncpg leaks.

Errors are told apart by whose fault they are: the environment's (`StoreAwayError`), the rows'
(`PoisonError`), a race without a fault (`ContentionError`), or this program's (plain `StoreError`).
"""

import re

import asyncpg

from engine.ports import (
    BlockedError,
    ContentionError,
    OwnershipLostError,
    PoisonError,
    StoreAwayError,
    StoreError,
    TooSlowError,
)

__all__ = [
    "AccessDeniedError",
    "BlockedError",
    "ContentionError",
    "MigrationError",
    "OwnershipLostError",
    "PartitionMissingError",
    "PoisonError",
    "StoreAwayError",
    "StoreError",
    "TooSlowError",
    "UnsuitableDatabaseError",
    "is_doubtful",
    "translated",
]


class AccessDeniedError(StoreAwayError):
    """The server refuses the login: password, role or database is wrong. A start reports it; later it
    is waited out."""


class PartitionMissingError(StoreAwayError):
    """A row's instant has no partition. It is not the row's fault, so the writer waits for one."""


TRANSACTION_POOLING = (
    "the pooler in front of the database gives a session's transactions to any of its connections:"
    " set pool_mode = session for this database in PgBouncer, or connect to PostgreSQL directly"
)


class UnsuitableDatabaseError(StoreError):
    """The database cannot be used in its present state: too old, another encoding, or another program's
    schema."""


class MigrationError(StoreError):
    """A migration cannot be applied; the message says in what state the database is."""


# SQLSTATE classes, https://www.postgresql.org/docs/current/errcodes-appendix.html
_POISON_CLASSES = frozenset({"22", "23", "54"})  # data, constraint, a program limit
_CONTENTION = frozenset({"40001", "40P01"})  # serialisation, deadlock
_CANCELLED = "57014"  # by its own time limit: nothing else cancels a statement of ours
_LOCKED = "55P03"  # lock not available
# The place of a row in the context of an error: the statement waited for a row that its own rows need.
# The words and quotation marks around the place are in the server's language. Waiting for a whole table
# (beside a migration), or for a row that our own sessions lock for each other, is no fault of a group.
_AT_A_ROW = re.compile(r"\(\d+,\d+\)")
_OURS = re.compile(r"\b(?:destination_backlog|processes|shard_leases)(?:_pkey)?\b")
# A prepared statement does not exist, or exists already. Only we give names in our session, so a pooler
# has given this session to several connections' transactions.
_SHARED = frozenset({"26000", "42P05"})
_DENIED_CLASSES = frozenset({"28", "3D"})  # authorisation, unknown database
_AWAY_CLASSES = frozenset({"08", "53", "57", "58"})  # connection, resources, intervention, system
# The server became a read-only replica; the transaction was idle too long; the outcome is unknown.
_AWAY = frozenset({"25006", "25P03", "40003"})
# The errors that the driver raises for arguments of a wrong type, size or encoding, before it sends
# anything.
_BAD_VALUES = (ValueError, TypeError, OverflowError)


def translated(error: Exception, *, closed: bool) -> StoreError:
    """Return the engine's error for an error of the driver. `closed`: the connection is gone."""
    if isinstance(error, asyncpg.PostgresError):
        return _of_server(error)
    if isinstance(error, asyncpg.OutdatedSchemaCacheError):
        return StoreAwayError(f"the schema changed meanwhile: {error}")
    if isinstance(error, (TimeoutError, OSError, asyncpg.InternalClientError)) or closed:
        return StoreAwayError(f"{type(error).__name__}: {error}")
    if isinstance(error, (asyncpg.InterfaceError, *_BAD_VALUES)):
        return PoisonError(f"a value cannot be sent: {error}")
    return StoreError(f"{type(error).__name__}: {error}")


def _of_server(error: asyncpg.PostgresError) -> StoreError:
    state = error.sqlstate or ""
    text = f"{state} {error.args[0] if error.args else error}"
    if isinstance(error, asyncpg.InvalidCachedStatementError) or state in _CONTENTION:
        return ContentionError(text)  # a cached plan that is out of date has not run either
    if state == _LOCKED:
        where = error.context or ""
        blocked = _AT_A_ROW.search(where) and not _OURS.search(where)
        return BlockedError(text) if blocked else ContentionError(text)
    if state == "23514" and error.server_source_function == "ExecFindPartition":
        return PartitionMissingError(text)
    if state[:2] in _POISON_CLASSES:
        return PoisonError(text)
    if state in _SHARED:
        return UnsuitableDatabaseError(TRANSACTION_POOLING)
    if state[:2] in _DENIED_CLASSES:
        return AccessDeniedError(text)
    if state == _CANCELLED:
        return TooSlowError(text)
    if state in _AWAY or state[:2] in _AWAY_CLASSES:
        return StoreAwayError(text)
    return StoreError(text)


def is_doubtful(cause: Exception) -> bool:
    """Return True if a connection must be discarded after `cause`: after anything but a plain answer of
    the server.

    A value that the driver could not encode leaves the connection intact: nothing was sent.
    """
    if isinstance(cause, asyncpg.InvalidCachedStatementError):
        return True  # its other prepared statements may be out of date as well
    if isinstance(cause, asyncpg.PostgresError):
        return (cause.sqlstate or "")[:2] in {"08", "57", "58", "XX"} or cause.sqlstate in _AWAY
    return not isinstance(cause, (asyncpg.DataError, *_BAD_VALUES)) or isinstance(
        cause, asyncpg.OutdatedSchemaCacheError
    )
