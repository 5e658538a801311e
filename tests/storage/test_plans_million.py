"""Lists over a million rows. Whatever the filters are, the read of a page looks at a bounded number of
rows.

Because it takes long to fill the tables, a single test does all: it fills them, and looks at the plans of
the reads for all kinds of filters. Its connections have the settings of the control plane's connections.
"""

import re
from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
    Priority,
)
from engine.log.delivery_log import DeliveryFilter, EventFilter
from storage.backlog import reading as backlog
from storage.database.connection import Connection
from storage.database.profiles import LOG, UPKEEP
from storage.dead_letters.reading import COUNTED, range_statement
from storage.dead_letters.reading import EXAMINED as LOOKED_THROUGH
from storage.log import walk
from storage.log.deliveries import PostgresDeliveries
from storage.log.entries import EVENT_COLUMNS
from storage.log.partitions import day_of
from storage.log.selection import select
from storage.log.walk import HIGHEST, LOWEST, id_bounds
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import DAY_MS, ENVIRONMENT, World, identity, now_ms

ROWS = 1_000_000
EVENTS = 300_000
LOOK_AT = 200
SLACK = 100  # index pages and partitions' ends
A, B, ELSEWHERE = (identity.other() for _ in range(3))

# The ids are spread evenly over yesterday and today. Of each 100 deliveries, 84 are delivered, 4 wait for
# their first attempt, 4 wait for a retry, 4 are dead, 2 are discarded, and 2 are dry runs. One delivery
# in 1,000 is a replay, and one in 50,000 carries a file.
_IDS = """
n AS (
    SELECT n, lpad(to_hex($1::bigint + n::bigint * {span}::bigint / $2::integer), 12, '0')
        || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 12, '0') AS hex
    FROM generate_series(1, $2::integer) n
)"""
_DELIVERIES = f"""
WITH {_IDS.format(span="$6")}
INSERT INTO deliveries (environment, id, event, event_type, destination, customer, seq, class, priority,
    kind, origin, status, trouble, dlq_status, next_attempt_at_ms, attempt_count, error_category)
SELECT $3, (hex || '001')::uuid, (hex || '000')::uuid, 't.' || n % 5,
    CASE WHEN n % 1000 = 0 THEN $4::uuid ELSE $5::uuid END, CASE WHEN n % 4 = 0 THEN 'acme' END,
    (1 << 20) + n, 2, 1 + (n % 97 = 0)::integer, 1 + (n % 50000 = 0)::integer,
    CASE WHEN n % 1000 = 0 THEN 2 WHEN n % 1000 = 1 THEN 3 ELSE 1 END,
    CASE WHEN s < 84 THEN 2 WHEN s < 88 THEN 0 WHEN s < 92 THEN 4 WHEN s < 98 THEN 3 ELSE 5 END,
    CASE WHEN s BETWEEN 88 AND 91 THEN 1 WHEN s BETWEEN 92 AND 95 THEN 3 WHEN s IN (96, 97) THEN 2 END,
    CASE WHEN s BETWEEN 92 AND 95 THEN 1 WHEN s IN (96, 97) THEN 3 END,
    CASE WHEN s BETWEEN 88 AND 91 THEN n END, 1, CASE WHEN s BETWEEN 88 AND 97 THEN 1 + n % 9 END
FROM n, LATERAL (SELECT n * 7 % 100 AS s) state"""
_EVENTS = f"""
WITH {_IDS.format(span="$4")}
INSERT INTO events (environment, id, origin, type, occurred_at_ms, deliveries, customer, payload)
SELECT $3, (hex || '000')::uuid, 1, 't.' || n % 5, 0, 1, CASE WHEN n % 4 = 0 THEN 'acme' END, 'x'
FROM n"""

END_MS = now_ms()
START_MS = (END_MS // DAY_MS - 1) * DAY_MS
MIDDLE_MS = (START_MS + END_MS) // 2
# Only empty partitions may be read whole.
_DAYS = "|".join(day_of(at).strftime("%Y%m%d") for at in (START_MS, END_MS))
WHOLE = re.compile(rf"Seq Scan on [a-z]+_({_DAYS})")
# The filters of GET /deliveries, with common and rare values.
VALUES: dict[str, list[Any]] = {
    "events": [(identity.event(),), (identity.event(), identity.event())],
    "destinations": [(A,), (A, B), (ELSEWHERE,)],
    "statuses": [
        (DeliveryStatus.PENDING,),
        (DeliveryStatus.RETRYING,),
        (DeliveryStatus.DELIVERED,),
        (DeliveryStatus.RETRYING, DeliveryStatus.FAILED),
        (DeliveryStatus.FAILED,),
    ],
    "from_ms": [MIDDLE_MS],
    "to_ms": [MIDDLE_MS],
    "is_replay": [True, False],
    "error_categories": [(ErrorCategory.HTTP_4XX,), (ErrorCategory.INTERNAL,)],
    "priorities": [(Priority.CRITICAL,), (Priority.HIGH, Priority.CRITICAL)],
    "dlq_statuses": [(each,) for each in DlqStatus],
    "kinds": [(DeliveryKind.FILE,)],
    "origins": [(each,) for each in DeliveryOrigin],
    "event_types": [("t.1",), ("nothing",)],
    "customers": [("acme",), ("nobody",)],
}


def classes() -> Iterator[DeliveryFilter]:
    """Yield filters of all kinds: each value of a filter alone, each pair of filters, and each
    combination of those filters that have an index. Each such combination is yielded once alone, and once
    together with all filters that have no index."""
    yield DeliveryFilter()
    for name, values in VALUES.items():
        for value in values:
            yield DeliveryFilter(**{name: value})
    for first, second in combinations(VALUES, 2):
        yield DeliveryFilter(**{first: VALUES[first][0], second: VALUES[second][-1]})
    served = (
        "events",
        "destinations",
        "statuses",
        "from_ms",
        "is_replay",
        "dlq_statuses",
        "origins",
    )
    rest = {name: VALUES[name][0] for name in VALUES if name not in served and name != "to_ms"}
    for count in range(len(served) + 1):
        for chosen in combinations(served, count):
            named = {name: VALUES[name][-1] for name in chosen}
            yield DeliveryFilter(**named)
            yield DeliveryFilter(**{**rest, **named})
    for status in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING):
        yield DeliveryFilter(statuses=(status,), held=(A, B))


async def plan_of(connection: Connection, sql: str, *arguments: Any) -> str:
    await prepare(connection, sql, "asked")
    plan = await explain(connection, *arguments, name="asked")
    await connection.execute("DEALLOCATE asked")
    return plan


async def look_at_deliveries(connection: Connection, most: int) -> int:
    seen: set[tuple[str, str]] = set()
    for which in islice(classes(), most):
        selection = select(which)
        if selection is None or (key := (selection.sql, repr(selection.arguments))) in seen:
            continue
        seen.add(key)
        low, high = id_bounds(which.from_ms, which.to_ms, None)
        plan = await plan_of(
            connection, selection.sql, ENVIRONMENT, low, high, LOOK_AT, 21, *selection.arguments
        )
        assert most_rows(plan) <= selection.streams * LOOK_AT + SLACK, f"{which}:\n{plan}"
        assert not WHOLE.search(plan), f"{which}:\n{plan}"
    return len(seen)


async def look_at_events(connection: Connection) -> None:
    for which in (
        EventFilter(),
        EventFilter(types=("t.1",)),
        EventFilter(types=("nothing",)),
        EventFilter(customers=("acme",)),
        EventFilter(customers=("nobody",), from_ms=MIDDLE_MS),
        EventFilter(types=("t.1",), customers=("nobody",), to_ms=MIDDLE_MS),
    ):
        given = {"type": which.types, "customer": which.customers}
        named = {name: list(value) for name, value in given.items() if value is not None}
        matches = "".join(f" AND {name} = ANY(${n}::text[])" for n, name in enumerate(named, 6))
        sql = walk.step_statement([walk.stream("events")], EVENT_COLUMNS, matches)
        low, high = id_bounds(which.from_ms, which.to_ms, None)
        plan = await plan_of(connection, sql, ENVIRONMENT, low, high, LOOK_AT, 21, *named.values())
        assert most_rows(plan) <= LOOK_AT + SLACK, f"{which}:\n{plan}"
        assert not WHOLE.search(plan)


async def look_at_the_queue(connection: Connection) -> None:
    ids = [identity.event() for _ in range(1_000)]
    ways: dict[str, tuple[Any, ...]] = {"in order": (), "of one": (A,), "named": (ids,)}
    for way, also in ways.items():
        for filters in ((), ("event_types",), ("error_categories",), ("event_types", "customers")):
            given = {"event_types": ["t.1"], "error_categories": [3], "customers": ["acme"]}
            values = [given[name] for name in filters]
            for look_at in (LOOKED_THROUGH, COUNTED):
                plan = await plan_of(
                    connection,
                    range_statement(way, filters),
                    *(ENVIRONMENT, LOWEST, LOWEST, HIGHEST, look_at, 500, *also, *values),
                )
                assert most_rows(plan) <= look_at + SLACK, f"{way} {filters}:\n{plan}"
                assert not WHOLE.search(plan)


async def look_at_a_backlog(connection: Connection) -> None:
    """Check the reads of an actor whose destination has no rows. They must not look at the rows of other
    destinations."""
    everything = list(DeliveryClass)
    reads: dict[str, tuple[Any, ...]] = {
        backlog._DEAD: (100,),
        backlog._DUE: (1 << 44, 100, -1),
        backlog._FIRST_RETRY: (),
        backlog._WAITING: (0, everything),
        backlog._LAST_SEQS: (everything,),
    }
    for sql, arguments in reads.items():
        plan = await plan_of(connection, sql, ENVIRONMENT, ELSEWHERE, *arguments)
        assert most_rows(plan) <= SLACK, f"{sql}:\n{plan}"
        assert not WHOLE.search(plan)


async def fill(world: World) -> None:
    """Fill the tables, and create their indexes afterwards. This takes a third of the time that tables
    with indexes would need."""
    connection = world.bridge.connection(UPKEEP)
    await connection.execute("SET maintenance_work_mem = '256MB'")
    indexes = await connection.fetch(
        "SELECT indexname, indexdef FROM pg_indexes"
        " WHERE tablename = 'deliveries' AND indexname <> 'deliveries_pkey'"
    )
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['indexname']}")
    await connection.fetch(_DELIVERIES, START_MS, ROWS, ENVIRONMENT, A, B, END_MS - START_MS)
    for index in indexes:
        await connection.execute(index["indexdef"].replace(" ON ONLY ", " ON "))
    await connection.fetch(_EVENTS, START_MS, EVENTS, ENVIRONMENT, END_MS - START_MS)


async def test_every_list_looks_at_a_bounded_number_of_a_million_rows(world: World) -> None:
    pool = world.bridge.pool
    await fill(world)
    for known in (False, True):  # without and with statistics on the values' frequencies
        if known:
            await pool.execute("ANALYZE deliveries; ANALYZE events")
        connection = world.bridge.connection(LOG)
        assert await look_at_deliveries(connection, 1_000 if known else 40) > (150 if known else 25)
        await look_at_events(connection)
        await look_at_the_queue(connection)
        await look_at_a_backlog(world.bridge.connection(backlog.BACKLOG))
    log = PostgresDeliveries(world.bridge.make_pool(LOG, 1))
    for which, expected in (
        (DeliveryFilter(kinds=(DeliveryKind.FILE,)), ROWS // 50_000),
        (DeliveryFilter(is_replay=True), ROWS // 1_000),
        (DeliveryFilter(dlq_statuses=(DlqStatus.IN_DLQ,), event_types=("nothing",)), 0),
    ):
        found, below, pages = 0, None, 0
        while True:
            page = await log.deliveries(ENVIRONMENT, which, below, 100)
            found, pages = found + len(page.items), pages + 1
            if page.below is None:
                break
            below = page.below
        assert found == expected
        assert pages <= ROWS // walk.EXAMINED + expected // 100 + 2
