"""Plans of the statements on scripts and files. PostgreSQL plans a statement while the table is still
empty, and keeps this plan when the table has grown. Even with this plan, the statement must not read all
rows."""

from typing import Any

from storage.configuration import transforms
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.profiles import POOL
from storage.files import rows as files
from storage.retention import removal as retention
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import identity, now_ms

ROWS = 50_000
SLACK = 100  # index pages and partitions' ends
ENVIRONMENT = 1
_FILES = """
INSERT INTO files (environment, id, event, size, position, state, purpose, source, sha256, due_ms)
SELECT $3, (hex || '001')::uuid, (hex || '000')::uuid, CASE WHEN n % 10 > 0 THEN 5 END, 0,
    CASE WHEN n % 10 > 0 THEN 2 ELSE 1 END, 1, 1,
    CASE WHEN n % 10 > 0 THEN sha256(n::text::bytea) END, CASE WHEN n % 1000 = 0 THEN n END
FROM (
    SELECT n, lpad(to_hex($1::bigint + n / 30), 12, '0')
        || '7' || lpad(to_hex(n % 30), 3, '0') || '8' || lpad(to_hex(n), 12, '0') AS hex
    FROM generate_series(1, $2::integer) n
) n"""
_SUSPECTS = """
INSERT INTO file_suspects SELECT $1, sha256(n::text::bytea) FROM generate_series(1, $2::integer) n"""
_DESTINATIONS = """
INSERT INTO destinations (environment, id, version, status, name, url, concurrency, ordering, timeout_ms,
    dry_run, retry_schedule_s, algorithm, headers, sealed, updated_at_ms)
SELECT $1, lpad(to_hex(n), 32, '0')::uuid, 1, 1, 'd', 'https://a/', 8, 0, 1000, false, '{}', 1, '[]',
    's', 0
FROM generate_series(1, $2::integer) n"""
_SCRIPTS = """
INSERT INTO transform_scripts (environment, id, destination, version, name, source)
SELECT $1, lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n / 10), 32, '0')::uuid, n % 10, 's', 'f'
FROM generate_series(1, $2::integer) n"""


def _id(number: int) -> str:
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


async def _loaded(
    bridge: Bridge, connection: Connection, statements: list[tuple[str, Any]]
) -> None:
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    for index, (sql, arguments) in enumerate(statements):
        await prepare(connection, sql, f"s{index}")
        await explain(connection, *arguments, name=f"s{index}")
    await bridge.pool.fetch(_FILES, now_ms() - 4_000, ROWS, ENVIRONMENT)
    await bridge.pool.fetch(_SUSPECTS, ENVIRONMENT, ROWS)
    await bridge.pool.fetch(_DESTINATIONS, ENVIRONMENT, ROWS)
    await bridge.pool.fetch(_SCRIPTS, ENVIRONMENT, ROWS)
    for table in ("files", "file_suspects", "destinations", "transform_scripts"):
        await connection.execute(f"ANALYZE {table}")


async def test_no_statement_reads_a_whole_table(bridge: Bridge) -> None:
    nothing = identity.other()
    sha256 = b"\1" * 32
    asked: list[tuple[str, Any]] = [
        (files._GET, (ENVIRONMENT, nothing)),
        (files._OF_EVENT, (ENVIRONMENT, nothing)),
        (files._INQUIRE, (ENVIRONMENT, sha256)),
        (files._SUSPECT, (ENVIRONMENT, sha256)),
        (files._ACQUIT, (ENVIRONMENT, sha256, 1)),
        (files._SUSPECTS, (10, ENVIRONMENT, sha256)),
        (files._STORED, (ENVIRONMENT, nothing, 5, sha256, "a/b", nothing, b"{}")),
        (files._FAILED, (ENVIRONMENT, nothing, "gone")),
        (files.DUE, (10_000, 8)),
        (retention._OLD_FILES, (nothing, 20, _id(0), _id(0))),
        (transforms._SELECT + " WHERE s.environment = $1 AND s.id = $2", (ENVIRONMENT, _id(5_000))),
        (transforms._PAGE, (ENVIRONMENT, _id(500), None, 20, 1 << 20)),
    ]
    connection = bridge.connection(POOL)
    await _loaded(bridge, connection, asked)
    for index, (_, arguments) in enumerate(asked):
        plan = await explain(connection, *arguments, name=f"s{index}")
        assert most_rows(plan) <= SLACK, plan
