"""The bridge: it runs statements whole, notices losses, and hides the driver's errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from storage.database import bridge as bridge_module
from storage.database import connection as connection_module
from storage.database import profiles
from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.errors import (
    AccessDeniedError,
    ContentionError,
    PartitionMissingError,
    PoisonError,
    StoreAwayError,
    StoreError,
    TooSlowError,
)
from storage.database.profiles import POOL, UPKEEP, Profile, hot
from storage.embedded.server import EmbeddedServer
from tests.cases import each_case
from tests.patience import HANGS_S
from tests.postgres import eventually, holding_until

PATIENT = Profile("test", statement_timeout_s=20.0, command_timeout_s=20.0)


async def end_backend(bridge: Bridge, connection: Connection) -> None:
    await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", connection.backend)


async def wait_running(bridge: Bridge, text: str) -> None:
    async def running() -> bool:
        found = await bridge.pool.fetch(
            """
            SELECT FROM pg_stat_activity WHERE state = 'active' AND datname = current_database()
            AND pid <> pg_backend_pid() AND position($1 IN query) > 0
            """,
            text,
        )
        return bool(found)

    await eventually(running)


async def test_rows_come_back_from_pool_and_own_connection(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    for source in (bridge.pool, connection):
        rows = await source.fetch("SELECT $1::int AS a, $2::text AS b", 1, "x")
        assert [(row["a"], row["b"]) for row in rows] == [(1, "x")]
        assert await source.fetch_value("SELECT $1::int", 7) == 7
        assert await source.fetch_row("SELECT 1 WHERE false") is None
        assert await source.execute("SELECT 1; SELECT 2") == "SELECT 1"


async def test_it_works_in_a_task_that_knows_nothing_of_asyncio(database_url: str) -> None:
    found: list[Any] = []
    async with trio.open_nursery() as outside, open_bridge(database_url) as bridge:

        async def elsewhere() -> None:
            found.append(await bridge.pool.fetch_value("SELECT 1"))
            done.set()

        done = trio.Event()
        outside.start_soon(elsewhere)
        await done.wait()
    assert found == [1]


async def test_a_cancelled_statement_runs_to_its_end(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    await connection.execute("CREATE TABLE seen (n int)")
    async with holding_until(bridge, "LOCK TABLE seen") as let_go:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connection.fetch, "INSERT INTO seen VALUES (1)")
                await wait_running(bridge, "INSERT INTO seen")
                scope.cancel()
                let_go.set()
    assert await connection.fetch_value("SELECT count(*) FROM seen") == 1
    assert connection.connects == 1


@pytest.mark.parametrize("in_order", [True, False])
async def test_upkeep_is_given_up_when_cancelled(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    if not in_order:  # the server receives the cancellation too late
        monkeypatch.setattr(connection_module, "CLOSE_TIMEOUT_S", 0)
    connection = bridge.connection(UPKEEP)
    with trio.CancelScope() as scope, trio.fail_after(HANGS_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.fetch, "SELECT pg_sleep(3600) AS idle_work")
            await wait_running(bridge, "AS idle_work")
            scope.cancel()
    assert scope.cancelled_caught

    async def ended() -> bool:
        return not await bridge.pool.fetch(
            "SELECT FROM pg_stat_activity WHERE query LIKE '%AS idle_work' AND state = 'active'"
        )

    await eventually(ended)
    assert await connection.fetch_value("SELECT 1") == 1


async def test_a_cancelled_transaction_is_rolled_back(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    await connection.execute("CREATE TABLE seen (n int)")
    with trio.CancelScope() as scope:
        async with connection.transaction():
            await connection.fetch("INSERT INTO seen VALUES (1)")
            scope.cancel()
    assert scope.cancelled_caught
    assert await connection.fetch_value("SELECT count(*) FROM seen") == 0
    assert connection.connects == 1


async def test_a_transaction_commits_or_leaves_nothing(bridge: Bridge) -> None:
    await bridge.pool.execute("CREATE TABLE seen (n int PRIMARY KEY)")
    async with bridge.pool.transaction() as connection:
        await connection.fetch("INSERT INTO seen VALUES (1)")

    async def twice() -> None:
        async with bridge.pool.transaction() as connection:
            await connection.fetch("INSERT INTO seen VALUES (2)")
            await connection.fetch("INSERT INTO seen VALUES (1)")

    async def nested() -> None:
        async with bridge.pool.transaction() as connection, connection.transaction():
            pass

    with pytest.raises(PoisonError):
        await twice()
    with pytest.raises(StoreError, match="nest"):
        await nested()
    assert [row["n"] for row in await bridge.pool.fetch("SELECT n FROM seen")] == [1]


async def test_a_transaction_is_alone_on_its_connection(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    await connection.execute("CREATE TABLE seen (n int)")
    order: list[str] = []

    async def other() -> None:
        await connection.fetch("INSERT INTO seen VALUES (2)")
        order.append("other")

    async with trio.open_nursery() as nursery, connection.transaction():
        nursery.start_soon(other)
        await trio.testing.wait_all_tasks_blocked(0.01)
        await connection.fetch("INSERT INTO seen VALUES (1)")
        order.append("transaction")
    assert order == ["transaction", "other"]


async def test_a_connection_lost_while_idle_is_replaced(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    await connection.ensure()
    await end_backend(bridge, connection)

    async def noticed() -> bool:
        return not connection.connected

    await eventually(noticed)
    assert await connection.fetch_value("SELECT 1") == 1
    assert connection.connects == 2


async def test_a_connection_lost_in_a_statement_tells_and_is_replaced(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    await connection.ensure()
    async with trio.open_nursery() as nursery:

        async def lost() -> None:
            with pytest.raises(StoreAwayError):
                await connection.fetch("SELECT pg_sleep(10) AS doomed")

        nursery.start_soon(lost)
        await wait_running(bridge, "AS doomed")
        await end_backend(bridge, connection)
    assert await connection.fetch_value("SELECT 1") == 1


async def test_a_transaction_does_not_go_on_after_a_loss(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    await connection.execute("CREATE TABLE seen (n int)")

    async def interrupted() -> None:
        async with connection.transaction():
            await connection.fetch("INSERT INTO seen VALUES (1)")
            await end_backend(bridge, connection)
            await connection.fetch("INSERT INTO seen VALUES (2)")

    with pytest.raises(StoreAwayError):
        await interrupted()
    assert await connection.fetch_value("SELECT count(*) FROM seen") == 0


async def test_a_hot_connection_connects_only_when_told_to(bridge: Bridge) -> None:
    greeted: list[int] = []

    async def greet(connection: Connection) -> None:
        greeted.append(await connection.fetch_value("SELECT pg_backend_pid()"))

    connection = bridge.connection(hot("test"), greet)
    with pytest.raises(StoreAwayError):
        await connection.fetch("SELECT 1")
    await connection.ensure()
    await connection.ensure()
    assert greeted == [connection.backend]
    assert await connection.fetch_value("SHOW enable_seqscan") == "off"
    assert await connection.fetch_value("SHOW plan_cache_mode") == "force_generic_plan"
    assert await connection.fetch_value("SHOW application_name") == "angarium test"


async def test_a_greeting_that_fails_leaves_no_connection(bridge: Bridge) -> None:
    async def greet(_: Connection) -> None:
        raise StoreError("not welcome")

    connection = bridge.connection(hot("test"), greet)
    with pytest.raises(StoreError, match="not welcome"):
        await connection.ensure()
    assert not connection.connected


async def test_the_server_gives_up_first(bridge: Bridge) -> None:
    connection = bridge.connection(Profile("test", statement_timeout_s=0.1, command_timeout_s=20.0))
    with pytest.raises(TooSlowError, match="57014"):
        await connection.fetch("SELECT pg_sleep(10)")
    assert await connection.fetch_value("SELECT 1") == 1


async def test_a_statement_without_an_answer_is_ended_before_its_successor(bridge: Bridge) -> None:
    connection = bridge.connection(Profile("test", statement_timeout_s=None, command_timeout_s=0.2))
    await connection.ensure()
    backend = connection.backend
    with pytest.raises(StoreAwayError):
        await connection.fetch("SELECT pg_sleep(30)")
    assert not connection.connected
    connection._limit_s = HANGS_S  # a busy machine needs longer to end the statement
    await connection.ensure()
    left = await bridge.pool.fetch("SELECT FROM pg_stat_activity WHERE pid = $1", backend)
    assert left == []


ERRORS: list[tuple[str, list[Any], type[StoreError]]] = [
    ("SELECT 1 / $1::int", [0], PoisonError),
    ("SELECT $1::text", ["a\0b"], PoisonError),
    ("SELECT $1::text", ["\ud800"], PoisonError),
    ("SELECT $1::smallint", [70_000], PoisonError),
    ("SELECT $1::uuid", ["nonsense"], PoisonError),
    ("SELECT $1::int", ["nonsense"], PoisonError),
    ("SELECT $1::int[]", [3], PoisonError),
    ("SELECT $1::bytea", ["text"], PoisonError),
    (
        "INSERT INTO processes (id, epoch) VALUES ($1, NULL)",
        ["018f0000-0000-7000-8000-000000000001"],
        PoisonError,
    ),
    ("SELECT FROM nowhere", [], StoreError),
    ("SELECT pg_advisory_lock(1), nonsense(", [], StoreError),
]


@each_case(("sql", "arguments", "kind"), ERRORS)
async def test_errors_are_told_in_the_engines_words(
    bridge: Bridge, sql: str, arguments: list[Any], kind: type[StoreError]
) -> None:
    connection = bridge.connection(PATIENT)
    with pytest.raises(StoreError) as caught:
        await connection.fetch(sql, *arguments)
    assert caught.type is kind
    assert await connection.fetch_value("SELECT 1") == 1
    assert connection.connects == 1  # an answer with an error does not close the connection


async def test_a_wrong_number_of_arguments_is_told_too(bridge: Bridge) -> None:
    with pytest.raises(PoisonError, match="expects 1 argument"):
        await bridge.pool.fetch("SELECT $1::int", 1, 2)


async def test_a_missing_partition_is_not_the_rows_fault(bridge: Bridge) -> None:
    with pytest.raises(PartitionMissingError):
        await bridge.pool.fetch(
            """
            INSERT INTO attempts (environment, delivery, number, started_at_ms, duration_ms,
                                  success, destination_version)
            VALUES (1, '00000000-0000-7000-8000-000000000000', 1, 0, 0, true, 1)
            """
        )


async def test_a_deadlock_is_contention(bridge: Bridge) -> None:
    await bridge.pool.execute("CREATE TABLE pair AS SELECT n FROM generate_series(1, 2) AS n")
    caught: list[ContentionError] = []
    both = trio.Event()
    first = trio.Event()

    async def one(own: int, other: int, mine: trio.Event, theirs: trio.Event) -> None:
        try:
            async with bridge.pool.transaction() as connection:
                await connection.execute("SET LOCAL deadlock_timeout = '20ms'")
                await connection.fetch("UPDATE pair SET n = n WHERE n = $1", own)
                mine.set()
                await theirs.wait()
                await connection.fetch("UPDATE pair SET n = n WHERE n = $1", other)
        except ContentionError as error:
            caught.append(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, 1, 2, first, both)
        nursery.start_soon(one, 2, 1, both, first)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda url: url.replace("/test_", "/missing_"),
        lambda url: url.replace("postgres@", "nobody_of_that_name@"),
    ],
)
async def test_a_refused_connection_says_so(database_url: str, spoil: Callable[[str], str]) -> None:
    async with open_bridge(spoil(database_url)) as bridge:
        with pytest.raises(AccessDeniedError):
            await bridge.pool.fetch("SELECT 1")


@pytest.mark.parametrize(("profile", "lines"), [(POOL, 1), (UPKEEP, 0)], ids=["control", "upkeep"])
async def test_a_slow_statement_is_logged_unless_it_can_take_any_time(
    database_url: str, monkeypatch: pytest.MonkeyPatch, profile: Profile, lines: int
) -> None:
    async with open_bridge(database_url) as bridge:
        pool = bridge.make_pool(profile, 1)
        await pool.fetch("SELECT 1")
        monkeypatch.setattr(profiles, "SLOW_S", 0.0)
        with capture_logs() as logs:
            await pool.fetch("SELECT 1")
    told = [line for line in logs if line["event"] == "database.slow"]
    assert [(line["purpose"], line["log_level"]) for line in told] == [
        (profile.purpose, "warning")
    ] * lines


async def test_a_server_that_is_not_there_is_away() -> None:
    async with open_bridge("postgresql://postgres@127.0.0.1:1/postgres") as bridge:
        with pytest.raises(StoreAwayError):
            await bridge.pool.fetch("SELECT 1")
        with pytest.raises(StoreAwayError) as unsent:
            await bridge.connection(POOL).ensure()
        assert not unsent.value.maybe_written


async def test_whoever_waits_is_told_once_the_database_is_back(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir, durable=False)
    url = await trio.to_thread.run_sync(server.start)
    async with open_bridge(url) as bridge, trio.open_nursery() as nursery:
        await bridge.wait_until_back()
        await trio.to_thread.run_sync(server.stop)
        with capture_logs() as logs:
            back = [trio.Event() for _ in range(3)]

            async def wait(event: trio.Event) -> None:
                await bridge.wait_until_back()
                event.set()

            for event in back:
                nursery.start_soon(wait, event)
            with pytest.raises(StoreAwayError):
                await bridge.pool.fetch("SELECT 1")
            await trio.to_thread.run_sync(server.start)
            with trio.fail_after(HANGS_S):
                for event in back:
                    await event.wait()
        assert await bridge.pool.fetch_value("SELECT 1") == 1
        told = [line["event"] for line in logs if line["event"].startswith("database.")]
        assert told in ([], ["database.away", "database.back"])
        await bridge.aclose()
        await trio.to_thread.run_sync(server.stop)


async def test_the_pool_lends_no_more_than_it_has(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "POOL_WAITERS", 1)
    monkeypatch.setattr(bridge_module, "POOL_WAIT_S", HANGS_S)
    pool = bridge_module.Pool(bridge.loop, bridge.url, POOL, size=1)

    async def refused(reason: str) -> None:
        with pytest.raises(StoreAwayError, match=reason):
            await pool.fetch("SELECT 1")

    async with pool.connection(), trio.open_nursery() as nursery:
        nursery.start_soon(pool.fetch, "SELECT 1")
        await trio.testing.wait_all_tasks_blocked()
        assert pool.statistics() == bridge_module.PoolStatistics(lent=1, waiting=1)
        await refused("too many")
        nursery.cancel_scope.cancel()
    monkeypatch.setattr(bridge_module, "POOL_WAIT_S", 0.1)
    async with pool.connection():
        await refused("became free")
    assert pool.statistics() == bridge_module.PoolStatistics(lent=0, waiting=0)
    assert await pool.fetch_value("SELECT 1") == 1
    await pool.aclose()


async def test_an_error_leaves_the_bridge_as_it_is(database_url: str) -> None:
    with pytest.raises(StoreError, match="bare"):
        async with open_bridge(database_url):
            raise StoreError("bare")


async def test_hundreds_of_texts_do_not_pile_up_on_the_server(bridge: Bridge) -> None:
    connection = bridge.connection(PATIENT)
    for number in range(260):
        assert await connection.fetch_value(f"SELECT {number}") == number
    assert await connection.fetch_value("SELECT count(*) FROM pg_prepared_statements") <= 205
