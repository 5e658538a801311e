"""Partitions of the delivery log: a day wide in UTC, by the time in UUIDv7 keys, made a week ahead.

A partition is created beside its table and then attached, so that no long lock is held. Which days
exist is read from PostgreSQL's catalog alone; nothing else remembers them.
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
DAYS_BACK = 1  # a clock that is behind ours, or was set back, still finds its partition
DAYS_AHEAD = 8  # a job that fails for a week is noticed before anything stops
_EPOCH = date(1970, 1, 1)
_NAME = re.compile(r"(?P<table>[a-z]+)_(?P<day>\d{8})\Z")


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table of the log: the column it is partitioned by, and its partitions' storage settings."""

    name: str
    key: str
    settings: str


# Autovacuum looks at a table when a share of it has changed. Of a day's partition that grows to
# millions of rows it would come late and then work long: a fixed number of rows, often, is smoother.
# Inserts count as well, since only vacuum marks pages all-visible.
_INSERTED = (
    "autovacuum_vacuum_insert_threshold = 200000, autovacuum_vacuum_insert_scale_factor = 0,"
    " autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.1"
)
TABLES = (
    PartitionedTable("events", "id", _INSERTED),
    PartitionedTable(
        "deliveries",
        "id",
        # Two thirds of each page are left for the new versions that successes make. A new version is up
        # to 2.3 times as long, since it includes the attempt. So none of these updates touches an index,
        # even if a whole page is settled at once. Dead versions are pruned as pages are visited: vacuum
        # need not hurry.
        "fillfactor = 30, autovacuum_vacuum_threshold = 100000,"
        " autovacuum_vacuum_scale_factor = 0.05, " + _INSERTED,
    ),
    PartitionedTable("attempts", "delivery", _INSERTED),
)


class State(Enum):
    """The state of one day's partition."""

    ATTACHED = auto()
    DETACHING = auto()  # a removal was interrupted half way; it must be finished
    LOOSE = auto()  # a table of its own, not dropped yet
    MISSING = auto()


@dataclass(frozen=True, slots=True)
class Partition:
    """One day of one table."""

    table: str
    day: date
    state: State = State.ATTACHED

    @property
    def name(self) -> str:
        """Such as `deliveries_20261121`."""
        return f"{self.table}_{self.day:%Y%m%d}"


@dataclass(frozen=True, slots=True)
class Range:
    """The instants, in milliseconds since the epoch, that all tables have partitions for."""

    floor_ms: int
    ceiling_ms: int  # exclusive


def lowest_id(instant_ms: int) -> str:
    """Return the lowest UUID whose first 48 bits are that instant: a bound between partitions."""
    stamp = f"{instant_ms:012x}"
    return f"{stamp[:8]}-{stamp[8:]}-0000-0000-000000000000"


def midnight_ms(day: date) -> int:
    """Return the beginning of a day in UTC, in milliseconds since the epoch."""
    return (day - _EPOCH).days * DAY_MS


def day_of(instant_ms: int) -> date:
    """Return the UTC day of an instant in milliseconds since the epoch."""
    return datetime.fromtimestamp(instant_ms / 1000, UTC).date()


async def existing_partitions(connection: Connection) -> list[Partition]:
    """Return all partitions, also those detached by an unfinished removal; other tables are not ours."""
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
    """Make the missing partitions from `back` days before now to `ahead` days after; return all of
    them."""
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
    """Return the days around `today` that every table has a partition for, without a gap."""
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
    """Finish the first step of an interrupted removal: the table is detached then."""
    await connection.execute(
        f"ALTER TABLE {partition.table} DETACH PARTITION {partition.name} FINALIZE"
    )


async def attach(connection: Connection, partition: Partition) -> None:
    """Attach a table of the right shape as a partition.

    Readers and writers do not notice the lock on the parent. CREATE TABLE ... PARTITION OF would wait
    for all of them, and hold up all later ones.
    """
    low, high = bounds_of(partition.day)
    await connection.execute(
        f"ALTER TABLE {partition.table} ATTACH PARTITION {partition.name}"
        f" FOR VALUES FROM ('{low}') TO ('{high}')"
    )


def bounds_of(day: date) -> tuple[str, str]:
    """Return the lowest id of a day, and that of the next."""
    start = midnight_ms(day)
    return lowest_id(start), lowest_id(start + DAY_MS)
