"""The embedded server: created, stopped, killed and taken over, as root and as an ordinary account."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from api.composition import keep_running
from storage.database.bridge import open_bridge
from storage.database.errors import StoreError
from storage.embedded import server as embedded
from storage.embedded.postmaster import Postmaster, read_postmaster
from storage.embedded.server import (
    DataDirBusyError,
    EmbeddedError,
    EmbeddedServer,
    attached,
    running_url,
)
from tests.patience import HANGS_S
from tests.postgres import eventually

ROOT = Path(__file__).parents[2]
# This program starts a PostgreSQL server in a data folder. It prints the server's process id, and True if
# it took over a server that was running in the folder already, else False. It stops the server when a
# line arrives on standard input.
OWNER = """
import encodings.ascii, os, pwd, sys  # what is imported late may be closed to the account
from pathlib import Path
from storage.embedded.server import EmbeddedServer
account = sys.argv[2]
if account:
    entry = pwd.getpwnam(account)
    os.setgroups([]); os.setgid(entry.pw_gid); os.setuid(entry.pw_uid)
server = EmbeddedServer(Path(sys.argv[1]), durable=False)
server.start()
print(server.pid, server.taken_over, flush=True)
sys.stdin.readline()
server.stop()
print("stopped", flush=True)
"""


class Owner:
    def __init__(self, data_dir: Path, account: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(data_dir), account],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self.process.stdout is not None
        words: list[str] = []
        while words[1:] not in (["True"], ["False"]):  # skip the log's lines
            line = self.process.stdout.readline()
            if not line:
                self.kill()
                pytest.fail("the owner did not start")
            words = line.split()
        self.postmaster = int(words[0])
        self.taken_over = words[1] == "True"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> None:
        out, _ = self.process.communicate("\n", timeout=HANGS_S)
        assert out.endswith("stopped\n")
        assert self.process.returncode == 0


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="angarium-made-") as folder:
        Path(folder).chmod(0o755)
        with EmbeddedServer(Path(folder) / "data", durable=False) as server:
            pass
        yield server.data_dir


@pytest.fixture
def unmade(data_dir: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(data_dir, durable=False)
    yield server
    server.stop()


@pytest.fixture
def server(made: Path, unmade: EmbeddedServer) -> EmbeddedServer:
    """A stopped server. Its data folder is a copy of one that `initdb` has made once, because `initdb`
    takes as long as a whole test."""
    subprocess.run(["cp", "-a", str(made), str(unmade.data_dir)], check=True)
    return unmade


def query(url: str, sql: str) -> list[tuple[object, ...]]:
    async def run() -> list[tuple[object, ...]]:
        async with open_bridge(url) as bridge:
            return [tuple(row) for row in await bridge.pool.fetch(sql)]

    return trio.run(run)


def test_it_is_made_once_and_starts_again_with_its_data(unmade: EmbeddedServer) -> None:
    query(unmade.start(), "CREATE TABLE kept AS SELECT 42 AS n")
    first = unmade.pid
    unmade.stop()
    assert first is not None
    assert not is_alive(first)
    assert query(unmade.start(), "SELECT n FROM kept") == [(42,)]
    assert not unmade.taken_over


def test_it_is_reached_over_its_socket_only_and_by_its_owner_only(unmade: EmbeddedServer) -> None:
    url = unmade.start()
    assert query(url, "SHOW listen_addresses") == [("",)]
    assert stat.S_IMODE(unmade.cluster.stat().st_mode) == 0o700
    assert stat.S_IMODE((unmade.cluster / ".s.PGSQL.5432").stat().st_mode) == 0o700


def test_by_default_it_is_durable(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        names = "'fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums'"
        found = query(
            server.url, f"SELECT DISTINCT setting FROM pg_settings WHERE name IN ({names})"
        )
        assert found == [("on",)]
        wrong = query(
            server.url, "SELECT name, error FROM pg_file_settings WHERE error IS NOT NULL"
        )
        assert wrong == []


def test_an_operators_own_settings_win_and_stay(server: EmbeddedServer) -> None:
    server.start()
    server.stop()
    with (server.cluster / "postgresql.conf").open("a") as file:
        file.write("work_mem = '9MB'\nmax_connections = 21\n")
    assert query(server.start(), "SHOW work_mem") == [("9MB",)]
    assert query(server.url, "SHOW max_connections") == [("21",)]


def test_a_second_owner_is_refused_by_name_of_the_first(server: EmbeddedServer) -> None:
    server.start()
    with pytest.raises(DataDirBusyError, match=f"process {os.getpid()}.*--data-dir"):
        EmbeddedServer(server.data_dir).start()
    assert query(server.url, "SELECT 1") == [(1,)]


def test_one_that_a_killed_owner_left_is_taken_over(server: EmbeddedServer) -> None:
    owner = Owner(server.data_dir)
    owner.kill()
    assert is_alive(owner.postmaster)
    server.start()
    assert (server.taken_over, server.pid) == (True, owner.postmaster)
    assert query(server.url, "SELECT 1") == [(1,)]
    server.stop()
    assert not is_alive(owner.postmaster)


def test_owner_and_server_killed_together_lose_no_commit(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as durable:
        query(durable.url, "CREATE TABLE kept (n int)")
    owner = Owner(data_dir)
    url = running_url(data_dir)
    assert url is not None
    query(url, "INSERT INTO kept VALUES (1)")
    owner.kill()
    os.kill(owner.postmaster, signal.SIGKILL)
    with EmbeddedServer(data_dir) as server:
        assert not server.taken_over
        assert query(server.url, "SELECT n FROM kept") == [(1,)]


def test_a_number_that_another_process_has_now_is_no_server(server: EmbeddedServer) -> None:
    server.start()
    content = (server.cluster / "postmaster.pid").read_text()
    server.stop()
    spoiled = content.replace(content.split("\n", 1)[0], str(os.getpid()), 1)
    (server.cluster / "postmaster.pid").write_text(spoiled)
    (server.cluster / ".s.PGSQL.5432.lock").write_text(spoiled)
    assert query(server.start(), "SELECT 1") == [(1,)]


def test_the_server_of_another_folder_is_not_taken_for_this_ones(
    server: EmbeddedServer,
) -> None:
    server.start()
    other = EmbeddedServer(server.data_dir.with_name("other"), durable=False)
    other.start()
    content = (other.cluster / "postmaster.pid").read_text()
    other.stop()
    (other.cluster / "postmaster.pid").write_text(
        content.replace(content.split("\n", 1)[0], str(server.pid), 1)
    )
    with other:
        assert not other.taken_over
        assert other.pid != server.pid


def test_a_path_too_long_for_a_socket_works(data_dir: Path) -> None:
    deep = data_dir.parent / ("a" * 60) / ("b" * 60) / "data"
    with EmbeddedServer(deep, durable=False) as server:
        assert query(server.url, "SELECT 1") == [(1,)]
        assert running_url(deep) == server.url
        folder = Path(read_postmaster(server.cluster).socket_folder)  # type: ignore[union-attr]  # runs
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()


def test_data_of_another_version_is_told_and_left_alone(server: EmbeddedServer) -> None:
    server.start()
    server.stop()
    (server.cluster / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match=r"PostgreSQL 16.*brings 18"):
        server.start()
    (server.cluster / "PG_VERSION").write_text("18\n")
    assert query(server.start(), "SELECT 1") == [(1,)]


def test_a_draft_that_a_crash_left_is_made_anew(unmade: EmbeddedServer) -> None:
    (unmade.data_dir / "postgres.new" / "base").mkdir(parents=True)
    assert query(unmade.start(), "SELECT 1") == [(1,)]
    assert not (unmade.data_dir / "postgres.new").exists()


def test_a_start_that_fails_says_what_the_server_said(server: EmbeddedServer) -> None:
    server.start()
    server.stop()
    with (server.cluster / "postgresql.conf").open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(EmbeddedError, match=r"FATAL.*postgres\.log"):
        server.start()
    assert running_url(server.data_dir) is None


def test_sessions_do_not_hold_up_its_end(server: EmbeddedServer) -> None:
    async def connected() -> None:
        async with open_bridge(server.start()) as bridge, bridge.pool.connection() as connection:
            await connection.fetch("SELECT 1")
            postmaster = read_postmaster(server.cluster)
            assert postmaster is not None
            assert await trio.to_thread.run_sync(postmaster.stop), "it ended in order"

    trio.run(connected)


def test_one_that_cannot_end_in_order_is_ended_all_the_same(server: EmbeddedServer) -> None:
    server.start()
    postmaster = read_postmaster(server.cluster)
    assert postmaster is not None
    checkpointer = query(
        server.url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    )
    os.kill(int(str(checkpointer[0][0])), signal.SIGSTOP)
    assert postmaster.stop(fast_s=0.2) is False
    assert not is_alive(postmaster.pid)


async def test_one_that_ended_by_itself_is_started_again(
    server: EmbeddedServer, nursery: trio.Nursery
) -> None:
    url = await trio.to_thread.run_sync(server.start)
    first = server.pid
    assert first is not None
    nursery.start_soon(keep_running, server)
    async with open_bridge(url) as bridge:
        await bridge.pool.fetch("SELECT 1")
        os.kill(first, signal.SIGKILL)

        async def back() -> bool:
            try:
                return await bridge.pool.fetch_value("SELECT 1") == 1 and server.pid != first
            except StoreError:
                await bridge.wait_until_back()
                return False

        await eventually(back)
    nursery.cancel_scope.cancel()


def test_a_revival_under_way_ends_when_there_is_to_be_no_server_any_more(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.start()
    first = server.pid
    assert first is not None
    postmaster = read_postmaster(server.cluster)
    assert postmaster is not None
    postmaster.stop(fast_s=0.0, immediate_s=5.0)
    server.stop_within_s = 0.0
    looks = 0

    def told_at_the_second_look(_: float) -> None:
        nonlocal looks
        looks += 1
        server.given_up = looks > 1

    monkeypatch.setattr(Postmaster, "ready", False)
    monkeypatch.setattr("storage.embedded.server.time.sleep", told_at_the_second_look)
    with pytest.raises(EmbeddedError, match="not ready"):
        server.revive()
    left = read_postmaster(server.cluster)
    assert left is None or not left.alive


def test_its_log_tells_neither_rows_nor_statements(server: EmbeddedServer) -> None:
    url = server.start()
    query(url, "CREATE TABLE unique_ones (n text PRIMARY KEY)")
    for _ in range(2):
        try:
            query(url, "INSERT INTO unique_ones VALUES ('whsec_secret')")
        except StoreError:
            continue
    log = server.log_file.read_text()
    assert "duplicate key" in log
    assert "whsec_secret" not in log


def test_a_long_log_is_put_aside(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "LOG_LIMIT", 10)
    server.start()
    server.stop()
    server.start()
    assert server.log_file.with_suffix(".log.1").exists()


def test_a_command_uses_the_server_that_runs(server: EmbeddedServer) -> None:
    server.start()
    with attached(server.data_dir) as url:
        assert url == server.url
        assert query(url, "SELECT 1") == [(1,)]
    assert query(server.url, "SELECT 1") == [(1,)]


def test_a_command_starts_one_for_the_moment(server: EmbeddedServer) -> None:
    server.start()
    server.stop()
    with attached(server.data_dir) as url:
        assert query(url, "SELECT 1") == [(1,)]
    assert running_url(server.data_dir) is None


def test_a_data_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedError, match=r"data folder cannot be used.*file"):
        EmbeddedServer(tmp_path / "file" / "data").start()


def test_nobody_has_a_url_before_the_start(unmade: EmbeddedServer) -> None:
    with pytest.raises(EmbeddedError, match="not running"):
        _ = unmade.url
    assert running_url(unmade.data_dir) is None
    assert not unmade.revive()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_runs_it_as_an_account_without_rights(unmade: EmbeddedServer) -> None:
    unmade.start()
    assert unmade.cluster.stat().st_uid != 0
    status = Path(f"/proc/{unmade.pid}/status").read_text()
    uids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    assert set(uids) == {str(unmade.cluster.stat().st_uid)}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_opens_a_closed_folder_for_passing_through_only(data_dir: Path) -> None:
    closed = data_dir.with_name("closed")
    closed.mkdir(mode=0o700)
    with EmbeddedServer(closed / "data", durable=False) as server:
        assert query(server.url, "SELECT 1") == [(1,)]
    assert stat.S_IMODE(closed.stat().st_mode) == 0o701


def test_an_ordinary_account_can_run_it(data_dir: Path) -> None:
    account = "nobody" if os.geteuid() == 0 else ""
    data_dir.mkdir(mode=0o700)
    if account:
        import pwd

        os.chown(data_dir, pwd.getpwnam(account).pw_uid, -1)
    owner = Owner(data_dir, account)
    assert (data_dir / "postgres").stat().st_uid == data_dir.stat().st_uid
    owner.kill()
    successor = Owner(data_dir, account)
    assert (successor.taken_over, successor.postmaster) == (True, owner.postmaster)
    successor.end()
    assert not is_alive(owner.postmaster)


def test_a_process_that_is_gone_is_not_alive(tmp_path: Path) -> None:
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    assert not Postmaster(tmp_path, child.pid, "", 5432, "ready").alive
