"""A pooler in front of the database. With session pooling, a server works. With transaction pooling, a
server refuses to start."""

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trio

from bench.programs import free_port
from storage.database import connection as connection_module
from storage.database.bridge import Bridge, open_bridge
from storage.database.errors import StoreAwayError, UnsuitableDatabaseError
from storage.database.pooling import require_sessions
from storage.database.profiles import INTAKE, UPKEEP
from storage.embedded.account import account_for
from storage.migrations.migrate import migrate
from storage.ownership import Ownership
from tests.pooler import open_pooler
from tests.postgres import eventually

INI = """
[databases]
* = host={host} port={port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {most}
"""


@asynccontextmanager
async def pooled(url: str, mode: str, *, real: Path | None, most: int = 100) -> AsyncIterator[str]:
    """Start a pooler and yield its URL. The pooler is PgBouncer with its configuration in the folder
    `real`, or the pooler of `tests.pooler` if `real` is None."""
    parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
    folder, port = query["host"][0], query["port"][0]

    def through(listen: int) -> str:
        return f"postgresql://postgres@127.0.0.1:{listen}{parts.path}"

    if real is None:
        path = f"{folder}/.s.PGSQL.{port}"
        async with open_pooler(path, by_transaction=mode == "transaction", most=most) as listen:
            yield through(listen)
        return
    listen = free_port()
    file = real / "pgbouncer.ini"
    file.write_text(INI.format(host=folder, port=port, listen=listen, mode=mode, most=most))
    account = account_for(Path(folder))
    process = await trio.to_thread.run_sync(
        lambda: subprocess.Popen(
            [str(shutil.which("pgbouncer")), "-q", str(file)], cwd="/", **account.arguments()
        )
    )
    try:

        async def listens() -> bool:
            try:
                await (await trio.open_tcp_stream("127.0.0.1", listen)).aclose()
            except OSError:
                return False
            return True

        await eventually(listens)
        yield through(listen)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(params=["small", "PgBouncer"])
def real(request: pytest.FixtureRequest, data_dir: Path) -> Path | None:
    """The folder for PgBouncer's configuration, or None if the test uses the pooler of `tests.pooler`."""
    if request.param == "small":
        return None
    if shutil.which("pgbouncer") is None:
        pytest.skip("PgBouncer is not installed; the small pooler stands for it")
    return data_dir.parent


async def two(bridge: Bridge) -> bool:
    async with bridge.pool.connection() as other:
        return await require_sessions(bridge.connection(UPKEEP), other)


async def test_a_database_of_ones_own_has_no_pooler(bridge: Bridge) -> None:
    assert await two(bridge) is False


async def test_a_pooler_by_transaction_is_refused_with_what_to_set(
    database_url: str, real: Path | None
) -> None:
    async with pooled(database_url, "transaction", real=real) as url, open_bridge(url) as bridge:
        with pytest.raises(UnsuitableDatabaseError, match="pool_mode = session"):
            await two(bridge)


async def test_a_pooler_by_session_serves_with_all_settings_of_a_session(
    database_url: str, real: Path | None
) -> None:
    async with pooled(database_url, "session", real=real) as url, open_bridge(url) as bridge:
        assert await two(bridge) is True
        upkeep = bridge.connection(UPKEEP)
        await migrate(upkeep)
        ownership = Ownership()
        await ownership.take(upkeep)
        intake = bridge.connection(INTAKE, ownership.renew_intake)
        await intake.ensure()
        for name, value in INTAKE.session_settings().items():
            found = await intake.fetch_value("SELECT current_setting($1)", name)
            wanted = await intake.fetch_value("SELECT set_config($1, $2, true)", name, value)
            assert found == wanted, name
        assert intake.backend == await intake.fetch_value("SELECT pg_backend_pid()")
        assert ownership.intake_epoch > 0


async def test_a_pooler_turned_to_transactions_later_says_what_to_set(
    database_url: str, real: Path | None
) -> None:
    async with pooled(database_url, "transaction", real=real) as url, open_bridge(url) as bridge:
        first, second = bridge.connection(UPKEEP), bridge.connection(UPKEEP)
        await first.fetch("SELECT 1")
        with pytest.raises(UnsuitableDatabaseError, match="pool_mode = session"):
            await second.fetch("SELECT 1")


async def test_a_connection_that_nobody_has_left_names_the_limits(
    database_url: str, monkeypatch: pytest.MonkeyPatch, real: Path | None
) -> None:
    async with (
        pooled(database_url, "session", real=real, most=1) as url,
        open_bridge(url) as bridge,
    ):
        await bridge.connection(UPKEEP).ensure()
        bridge.connection(INTAKE)
        # The short time limit begins here, because the first connection can need more time.
        monkeypatch.setattr(connection_module, "CONNECT_TIMEOUT_S", 0.5)
        with pytest.raises(StoreAwayError, match="default_pool_size"):
            await bridge.connect()
