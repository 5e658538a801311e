"""The driver's errors become errors of the engine. The result does not depend on the language of
PostgreSQL's messages."""

import asyncpg
import pytest

from storage.database.errors import BlockedError, ContentionError, StoreError, translated


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ('while locking tuple (0,1) in relation "idempotency"', BlockedError),
        ('while inserting index tuple (12,3) in relation "idempotency_pkey"', BlockedError),
        ("beim Sperren von Tupel (0,1) in Relation »idempotency«", BlockedError),
        ("lors du verrouillage de la ligne (0,1) dans la relation « idempotency »", BlockedError),
        ('while locking tuple (0,1) in relation "destination_backlog"', ContentionError),
        ("beim Aktualisieren von Tupel (0,1) in Relation »destination_backlog«", ContentionError),
        ('while inserting index tuple (0,1) in relation "destination_snapshots"', ContentionError),
        ('while inserting index tuple (0,1) in relation "processes_pkey"', ContentionError),
        ('while updating tuple (0,1) in relation "deliveries_20261127"', BlockedError),
        ("beim Sperren von Tupel (0,1) in Relation »shard_leases«", ContentionError),
        ("", ContentionError),  # a whole table
        (None, ContentionError),
    ],
)
def test_a_locked_row_is_told_apart_in_every_language(
    where: str | None, kind: type[StoreError]
) -> None:
    error = asyncpg.LockNotAvailableError("canceling statement due to lock timeout")
    error.context = where
    assert type(translated(error, closed=False)) is kind


@pytest.mark.parametrize(
    ("error", "maybe_written"),
    [
        (asyncpg.UndefinedTableError("no such table"), False),  # the server rolled back
        (asyncpg.DataCorruptedError("missing chunk"), False),
        (AttributeError("a mistake of the driver"), True),
        (asyncpg.ConnectionDoesNotExistError("closed"), True),
    ],
)
def test_only_a_refusal_of_the_server_says_that_nothing_was_written(
    error: Exception, maybe_written: bool
) -> None:
    assert translated(error, closed=False).maybe_written is maybe_written
