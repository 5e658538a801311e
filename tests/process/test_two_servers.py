"""Two servers where only one may run: the second is refused, or the first stops, each with a message."""

import socket
import subprocess
from pathlib import Path

import trio

from bench.service import free_port
from tests.cli.programs import angarium, environment, server
from tests.patience import HANGS_S
from tests.postgres import eventually
from tests.process.house import House


def test_a_second_server_on_a_data_folder_is_refused_in_words(shared: House) -> None:
    done = subprocess.run(
        shared.command(
            "serve", "--bind", f"127.0.0.1:{free_port()}", "--data-dir", str(shared.folder)
        ),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert done.returncode == 3
    assert "is in use by another Angarium" in done.stderr
    assert "--data-dir" in done.stderr
    assert "Traceback" not in done.stderr
    assert shared.ask("GET", "/readyz").status == 200, "the first one goes on"


async def test_of_two_servers_on_one_database_the_first_stops_in_words(
    database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url, tmp_path)
    async with server(env) as (first, _), server(env) as (second, _):
        with trio.fail_after(HANGS_S):
            assert await first.process.wait() == 1

        async def told() -> bool:  # the last lines can still be in the pipe
            return "give each a database of its own" in first.printed

        await eventually(told)
        last = first.printed.splitlines()[-1]
        assert "another server has taken over this database" in last
        assert "give each a database of its own" in last
        assert second.process.poll() is None


async def test_an_address_that_is_taken_is_said_in_words(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url, tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with trio.fail_after(HANGS_S):
            done = await angarium("serve", "--bind", address, env=env)
    assert done.code == 2
    assert f"cannot listen on {address}: Address already in use" in done.err.splitlines()[-1]
