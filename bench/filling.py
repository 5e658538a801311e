"""The filling of a server's database by SQL, as after long use.

Most deliveries are delivered; some are dead, discarded or retrying. The filling also adds an audit log,
schemas, finished replay jobs, and the counters of every minute for some destinations.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.profiles import UPKEEP
from storage.embedded.server import attached
from storage.log.partitions import make_partitions

COUNTED = 5
OTHERS = 1_000  # schemas, and replay jobs; the audit log has a hundred times as many entries
CUSTOMERS, TYPES = 500, 50
WRITERS = 2  # connections, each for a part of the deliveries: the database has two cores

# An ID in the format of `engine.model.identity`: the instant, random digits, and the given last digits.
_ID = """(lpad(to_hex({at}), 12, '0') || '7' || lpad(to_hex(g % 4096), 3, '0') || '8'
    || substr(md5('{salt}' || g::text), 1, 12) || '{end}')::uuid"""
_AT = "($1::bigint - ($3::bigint - g) * ($1::bigint - $2::bigint) / $3::bigint)"
_FROM = "FROM generate_series(1::bigint, $3::bigint) g"
_EVENT, _DELIVERY = (_ID.format(at=_AT, salt="e", end=end) for end in ("000", "001"))
_OTHER = _ID.format(at=_AT, salt="o", end="abc")
# Of 200 deliveries, 191 are delivered at the first attempt, 4 are dead letters, 2 are delivered after
# they were requeued, 2 are discarded, and 1 waits for a retry that is due in the year 2096.
_EVENTS = f"""
INSERT INTO events (occurred_at_ms, environment, deliveries, origin, id, type, payload, customer)
SELECT {_AT}, $4::integer, 1, 1, {_EVENT}, 'bench.' || g % {TYPES}, '{{"n":1}}', 'c' || g % {CUSTOMERS}
{_FROM}"""
_DELIVERIES = f"""
INSERT INTO deliveries (seq, environment, attempt_count, id, event, destination, class, kind, origin,
    priority, status, event_type, response_status, trouble, dlq_status, error_category,
    next_attempt_at_ms, delivered_at_ms, dead_lettered_at_ms, updated_at_ms, customer, only_duration_ms,
    only_version)
SELECT g, $4::integer, 1, {_DELIVERY}, {_EVENT}, ($5::uuid[])[1 + g % cardinality($5::uuid[])], 2, 1,
    CASE WHEN $6::boolean AND g % 100 = 3 THEN 2 ELSE 1 END, 1 + g % CASE WHEN $6 THEN 3 ELSE 2 END,
    CASE WHEN k < 6 THEN 3 WHEN k = 8 THEN 4 ELSE 2 END, 'bench.' || g % {TYPES},
    CASE WHEN k < 6 THEN 503 ELSE 200 END,
    CASE WHEN k < 4 THEN 3 WHEN k < 6 THEN 2 WHEN k < 8 THEN 4 WHEN k = 8 THEN 1 END,
    CASE WHEN k < 4 THEN 1 WHEN k < 6 THEN 3 WHEN k < 8 THEN 2 END,
    CASE WHEN k < 6 OR k = 8 THEN CASE WHEN $6 THEN 1 + g % 13 ELSE 6 + g % 8 END END,
    CASE WHEN k = 8 THEN 4000000000000 END,
    CASE WHEN k > 8 OR k BETWEEN 6 AND 7 THEN {_AT} + 9 END,
    CASE WHEN k < 8 THEN {_AT} + 9 END, {_AT} + 9, NULL, CASE WHEN k > 8 THEN 9 END,
    CASE WHEN k > 8 THEN 1 END
FROM (SELECT g, (hashint8(g) & 2147483647) % 200 AS k {_FROM}) s"""
# A delivery that succeeded at the first attempt has this attempt in its own row. The other deliveries
# have rows in `attempts`.
_ATTEMPTS = f"""
INSERT INTO attempts (started_at_ms, environment, number, duration_ms, destination_version, delivery,
    success, response_status)
SELECT {_AT}, $4::integer, 1, 9, 1, {_DELIVERY}, k >= 6, CASE WHEN k < 6 THEN 503 ELSE 200 END
FROM (SELECT g, (hashint8(g) & 2147483647) % 200 AS k {_FROM}) s WHERE k <= 8"""
_COUNTERS = """
INSERT INTO destination_minutes (environment, destination, minute, attempts, failed, retried, delivered,
    dead_lettered, error_09, latency_03, latency_05, latency_09)
SELECT $1::integer, d, $2::integer - g, 20, 1, 1, 19, 0, 1, 10, 5, 5
FROM unnest($3::uuid[]) d, generate_series(0, $4::integer * 1440) g"""
_AUDIT = f"""
INSERT INTO audit_log (workspace, id, environment, action, object_type, object_id, actor_type,
    actor_id, changes)
SELECT $5::uuid, {_OTHER}, $4::integer,
    'destination.' || CASE WHEN g % 50 = 0 THEN 'archive' ELSE 'update' END,
    'destination', ($6::text[])[1 + g % cardinality($6::text[])], 'API_KEY', 'key ' || g % 20,
    '{{"name":{{"from":"a","to":"b"}}}}'
{_FROM}"""
_SCHEMAS = f"""
WITH types AS (
    INSERT INTO event_schema_types (environment, event_type, last_version)
    SELECT $4::integer, 'schema.' || g, 1 {_FROM}
)
INSERT INTO event_schemas (environment, id, event_type, version, weight, document)
SELECT $4::integer, {_OTHER}, 'schema.' || g, 1, 1, '{{"type":"object"}}' {_FROM}"""
_JOBS = f"""
INSERT INTO replay_jobs (environment, id, status, dry_run, from_ms, started_at_ms, finished_at_ms)
SELECT $4::integer, {_OTHER}, 3, false, 0, {_AT}, {_AT} {_FROM}"""
_PORTION = 100_000  # rows of one statement: a stopped bench ends soon


@dataclass(frozen=True)
class Filled:
    """The content of the filled database."""

    workspace: str
    environment: int
    destinations: Sequence[str]


def fill(
    folder: Path, filled: Filled, deliveries: int, days: float, *, log_alone: bool = False
) -> None:
    """Fill the database of a running server with deliveries over a number of days. `log_alone`: create
    only deliveries, events and attempts."""
    with attached(folder) as url:
        trio.run(_fill, url, filled, deliveries, days, log_alone)


async def _fill(url: str, filled: Filled, deliveries: int, days: float, log_alone: bool) -> None:
    async with open_bridge(url) as bridge:
        now = await fill_log(bridge, filled, deliveries, days)
        connection = bridge.connection(UPKEEP)
        if not log_alone:
            await _others(connection, filled, deliveries, now, days)
        await tidy(connection)


async def fill_log(
    bridge: Bridge, filled: Filled, deliveries: int, days: float, *, varied: bool = True
) -> int:
    """Create only deliveries, events and attempts. Return the end of the time over which the deliveries
    are distributed, in milliseconds.

    `varied`: 1 % of the deliveries are replays, a third are CRITICAL, and the errors have the categories
    1 to 13. Otherwise there are no replays, no CRITICAL deliveries, and only the categories 6 to 13.
    """
    now = int(time.time() * 1000) - 60_000
    await make_partitions(bridge.connection(UPKEEP), now, back=math.ceil(days) + 1)
    log = _Log(filled, deliveries, now - int(days * 86_400_000), now, varied)
    async with trio.open_nursery() as nursery:
        for part in range(WRITERS):
            nursery.start_soon(log.fill, bridge.connection(UPKEEP), part)
    return now


@dataclass(frozen=True)
class _Log:
    """The deliveries are evenly distributed from `start` to `now` (milliseconds)."""

    filled: Filled
    deliveries: int
    start: int
    now: int
    varied: bool

    async def fill(self, connection: Connection, part: int) -> None:
        """Write one of the equal parts, in the order of IDs."""
        of_part = math.ceil(self.deliveries / WRITERS)
        end = min(of_part * (part + 1), self.deliveries)
        for first in range(of_part * part, end, _PORTION):
            await self._portion(connection, first, min(_PORTION, end - first))

    async def _portion(self, connection: Connection, first: int, number: int) -> None:
        environment, span = self.filled.environment, self.now - self.start
        since = self.start + span * first // self.deliveries
        until = self.start + span * (first + number) // self.deliveries
        place = (until, since, number, environment)
        await connection.fetch(_EVENTS, *place)
        ids = list(self.filled.destinations)
        await connection.fetch(_DELIVERIES, *place, ids, self.varied)
        await connection.fetch(_ATTEMPTS, *place)


async def _others(
    connection: Connection, filled: Filled, deliveries: int, now: int, days: float
) -> None:
    environment, ids = filled.environment, list(filled.destinations)
    start = now - int(days * 86_400_000)
    minute = now // 60_000
    await connection.fetch(_COUNTERS, environment, minute, ids[:COUNTED], math.ceil(days))
    others = max(1, min(OTHERS, deliveries))
    place = (now, start, others * 100, environment, filled.workspace, ids)
    await connection.fetch(_AUDIT, *place)
    await connection.fetch(_SCHEMAS, now, start, others, environment)
    await connection.fetch(_JOBS, now, start, others, environment)


async def tidy(connection: Connection) -> None:
    """Vacuum now, instead of autovacuum later."""
    await connection.execute("VACUUM ANALYZE")
