"""The translation of errors of PostgreSQL and asyncpg to the engine's errors. Callers never see an error
of asyncpg.

The class of an error says what caused it: the database, its computer or the network (`StoreAwayError`),
the content of the rows (`PoisonError`), a race between sessions (`ContentionError`), or this program
(plain `StoreError`).
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
    """The server refuses the login: password, role or database is wrong."""


class PartitionMissingError(StoreAwayError):
    """No partition exists for the instant of a row. The row itself is valid."""


TRANSACTION_POOLING = (
    "the pooler in front of the database gives a session's transactions to any of its connections:"
    " set pool_mode = session for this database in PgBouncer, or connect to PostgreSQL directly"
)


class UnsuitableDatabaseError(StoreError):
    """The database cannot be used: it is too old, or has another encoding or another program's schema."""

    maybe_written = False


class MigrationError(StoreError):
    """A migration cannot be applied."""


# SQLSTATE classes, https://www.postgresql.org/docs/current/errcodes-appendix.html
_POISON_CLASSES = frozenset({"22", "23", "54"})  # data, constraint, a program limit
_CONTENTION = frozenset({"40001", "40P01"})  # serialisation, deadlock
_CANCELLED = "57014"  # `statement_timeout` cancelled the statement
_LOCKED = "55P03"  # lock not available
# A lock of another session causes one of these errors:
#
# - ContentionError if the whole table is locked, for example by a migration.
# - ContentionError if a row of the tables `_OURS` is locked: only Angarium's own sessions lock these
#   rows, and only for a short time.
# - BlockedError if any other row is locked.
#
# If a row is locked, the context of PostgreSQL's error has the row's position, such as "(0,5)". The text
# around the position is in the language of the PostgreSQL server.
_AT_A_ROW = re.compile(r"\(\d+,\d+\)")
_OURS = re.compile(
    r"\b(?:destination_backlog|destination_snapshots|processes|shard_leases)(?:_pkey)?\b"
)
# PostgreSQL's errors for a prepared statement that does not exist, or exists already. Their cause is a
# pooler that has given one session to several connections.
_SHARED = frozenset({"26000", "42P05"})
_DENIED_CLASSES = frozenset({"28", "3D"})  # authorisation, unknown database
_AWAY_CLASSES = frozenset({"08", "53", "57", "58"})  # connection, resources, intervention, system
# 25006: the server is a read-only replica. 25P03: the transaction was idle too long. 40003: the outcome
# of the statement is unknown.
_AWAY = frozenset({"25006", "25P03", "40003"})
# The driver's errors for arguments of a wrong type, size or encoding. The driver raises these errors
# before it sends anything.
_BAD_VALUES = (ValueError, TypeError, OverflowError)


def translated(error: Exception, *, closed: bool) -> StoreError:
    """Return the engine's error for an error of the driver. `closed`: the connection is closed."""
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
        return ContentionError(text)  # an outdated cached plan has not run either
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
    refused = StoreError(text)
    refused.maybe_written = False  # the server rolls back a statement that ends with an error
    return refused


def is_doubtful(cause: Exception) -> bool:
    """Return True if a connection must be discarded after `cause`.

    The server's ordinary errors leave the connection intact. A value that the driver cannot encode leaves
    the connection intact too.
    """
    if isinstance(cause, asyncpg.InvalidCachedStatementError):
        return True  # the connection's other prepared statements can be outdated as well
    if isinstance(cause, asyncpg.PostgresError):
        return (cause.sqlstate or "")[:2] in {"08", "57", "58", "XX"} or cause.sqlstate in _AWAY
    return not isinstance(cause, (asyncpg.DataError, *_BAD_VALUES)) or isinstance(
        cause, asyncpg.OutdatedSchemaCacheError
    )
