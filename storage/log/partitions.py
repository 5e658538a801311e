"""The partitions of the delivery log: one for each UTC day of the UUIDv7 keys, made a week ahead.

A partition is created as a table and then attached, which needs no long lock. PostgreSQL's catalog is the
only record of the existing days.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum, auto

import structlog
from asyncpg import Record

from storage.database.connection import Connection
from storage.database.locks import Lock, locked

log = structlog.get_logger("angarium.storage")

DAY_MS = 86_400_000
DAYS_BACK = 1  # for ids from a clock that is behind ours, or was set back
DAYS_AHEAD = 8  # a job that fails for a week is noticed before the partitions end
_EPOCH = date(1970, 1, 1)
_NAME = re.compile(r"(?P<table>[a-z]+)_(?P<day>\d{8})\Z")


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table of the log: its partition key, and its partitions' storage settings."""

    name: str
    key: str
    settings: str


# By default, autovacuum runs when a share of a table has changed. For a partition of millions of rows,
# it would run late and long. With fixed numbers of rows, it runs often and briefly. Inserts count too,
# because only vacuum marks pages all-visible.
_INSERTED = (
    "autovacuum_vacuum_insert_threshold = 200000, autovacuum_vacuum_insert_scale_factor = 0,"
    " autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.1"
)
TABLES = (
    PartitionedTable("events", "id", _INSERTED),
    PartitionedTable(
        "deliveries",
        "id",
        # Inserts leave more than two thirds of each page free for new row versions. A success writes a
        # new version of its delivery's row. The new version includes the attempt, and is up to 2.3 times
        # as long as the old version. Even if all rows of a page are settled at once, the new versions fit
        # into the same page, so the updates touch no index. Later reads of the page remove the old
        # versions, so vacuum is not urgent.
        "fillfactor = 30, autovacuum_vacuum_threshold = 100000,"
        " autovacuum_vacuum_scale_factor = 0.05, " + _INSERTED,
    ),
    PartitionedTable("attempts", "delivery", _INSERTED),
)


class State(Enum):
    """The state of one day's partition."""

    ATTACHED = auto()
    DETACHING = auto()  # a removal was interrupted and must be finished
    LOOSE = auto()  # detached, but not dropped
    MISSING = auto()


@dataclass(frozen=True, slots=True)
class Partition:
    """One day of one table."""

    table: str
    day: date
    state: State = State.ATTACHED

    @property
    def name(self) -> str:
        """The table's name, such as `deliveries_20261121`."""
        return f"{self.table}_{self.day:%Y%m%d}"


@dataclass(frozen=True, slots=True)
class Range:
    """A range of time for which all tables have partitions. Both bounds are in milliseconds since the
    epoch."""

    floor_ms: int
    ceiling_ms: int  # exclusive


def lowest_id(instant_ms: int) -> str:
    """Return the lowest UUID whose first 48 bits are an instant."""
    stamp = f"{instant_ms:012x}"
    return f"{stamp[:8]}-{stamp[8:]}-0000-0000-000000000000"


def midnight_ms(day: date) -> int:
    """Return the beginning of a day in UTC, in milliseconds since the epoch."""
    return (day - _EPOCH).days * DAY_MS


def day_of(instant_ms: int) -> date:
    """Return the UTC day of an instant in milliseconds since the epoch."""
    return datetime.fromtimestamp(instant_ms / 1000, UTC).date()


async def existing_partitions(connection: Connection) -> list[Partition]:
    """Return all partitions, also those that an unfinished removal has detached."""
    rows = await connection.fetch(
        """
        SELECT child.relname AS name, parent.relname AS parent, inhdetachpending AS detaching
        FROM pg_class child
        LEFT JOIN pg_inherits ON inhrelid = child.oid
        LEFT JOIN pg_class parent ON parent.oid = inhparent
        WHERE child.relkind = 'r' AND child.relnamespace = (
            SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass
        )
        ORDER BY child.relname
        """
    )
    names = {table.name for table in TABLES}
    found = [(row, _NAME.match(row["name"])) for row in rows]
    return [
        Partition(match["table"], _parsed_day(match["day"]), _state_of(row))
        for row, match in found
        if match is not None and match["table"] in names
    ]


def _parsed_day(digits: str) -> date:
    return date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))


def _state_of(row: Record) -> State:
    if row["parent"] is None:
        return State.LOOSE
    return State.DETACHING if row["detaching"] else State.ATTACHED


async def make_partitions(
    connection: Connection, now_ms: int, back: int = DAYS_BACK, ahead: int = DAYS_AHEAD
) -> Range:
    """Make the missing partitions from `back` days before now to `ahead` days after now. Return the
    range that the partitions of all tables cover."""
    today = day_of(now_ms)
    days = [today + timedelta(days=offset) for offset in range(-back, ahead + 1)]
    async with locked(connection, Lock.PARTITIONS):
        present = {(p.table, p.day): p for p in await existing_partitions(connection)}
        wanted = [(table, day) for table in TABLES for day in days]
        made = 0
        for table, day in wanted:
            found = present.get((table.name, day), Partition(table.name, day, State.MISSING))
            if found.state is not State.ATTACHED:
                await _make(connection, table, found)
                made += 1
        covered = range_of(await existing_partitions(connection), today)
    if made:
        log.info("partitions.made", number=made, until=str(days[-1]))
    return covered


def range_of(partitions: Iterable[Partition], today: date) -> Range:
    """Return the days around `today` for which every table has a partition."""
    days_of = {
        table.name: {
            p.day for p in partitions if p.table == table.name and p.state is State.ATTACHED
        }
        for table in TABLES
    }
    common = set.intersection(*days_of.values())
    first = last = today
    while first - timedelta(days=1) in common:
        first -= timedelta(days=1)
    while last in common:
        last += timedelta(days=1)
    return Range(midnight_ms(first), midnight_ms(last))


async def _make(connection: Connection, table: PartitionedTable, partition: Partition) -> None:
    if partition.state is State.DETACHING:
        await finish_detaching(connection, partition)
    async with connection.transaction():
        if partition.state is State.MISSING:
            await connection.execute(f"""
                CREATE TABLE {partition.name} (
                    LIKE {table.name} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE
                ) WITH ({table.settings})
            """)
        await attach(connection, partition)


async def finish_detaching(connection: Connection, partition: Partition) -> None:
    """Finish the detaching of a partition whose removal was interrupted."""
    await connection.execute(
        f"ALTER TABLE {partition.table} DETACH PARTITION {partition.name} FINALIZE"
    )


async def attach(connection: Connection, partition: Partition) -> None:
    """Attach an existing table as a partition. The table must have the parent's columns.
    The lock that ATTACH takes on the parent does not conflict with reads and writes. CREATE TABLE ...
    PARTITION OF would wait for all running reads and writes, and delay all later ones.
    """
    low, high = bounds_of(partition.day)
    await connection.execute(
        f"ALTER TABLE {partition.table} ATTACH PARTITION {partition.name}"
        f" FOR VALUES FROM ('{low}') TO ('{high}')"
    )


def bounds_of(day: date) -> tuple[str, str]:
    """Return the lowest ids of a day and of the next day."""
    start = midnight_ms(day)
    return lowest_id(start), lowest_id(start + DAY_MS)
