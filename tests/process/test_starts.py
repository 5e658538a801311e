"""Starts of a server. A start that fails prints its reason on one line before it creates anything. Also
a new certificate while the server runs, and a server in a terminal.
"""

import os
import pty
import signal
import socket
import ssl
import sys
from pathlib import Path

import httpx
import pytest
import trio

from bench.processes import tree
from bench.service import free_port
from tests.cli.programs import ROOT, angarium, environment, running
from tests.door.papers import papers
from tests.patience import HANGS_S
from tests.postgres import eventually


def settings(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment variables for a server with an embedded database."""
    env = environment("", folder, **more)
    del env["ANGARIUM_DATABASE_URL"]
    return env


@pytest.mark.parametrize("setting", ["ANGARIUM_BIND", "ANGARIUM_OPERATIONS_BIND"])
async def test_a_busy_address_is_told_before_anything_is_made(tmp_path: Path, setting: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = await angarium("serve", env=settings(tmp_path, **{setting: address}))
    assert done.code == 2
    line = done.err.splitlines()[-1]
    assert f"cannot listen on {address}: Address already in use" in line
    assert setting in line
    assert os.listdir(tmp_path) == []


async def test_a_wrong_certificate_is_told_before_anything_is_made(tmp_path: Path) -> None:
    files = papers(tmp_path, "a.example")
    tls = {"ANGARIUM_TLS_CERT": str(files.cert), "ANGARIUM_TLS_KEY": str(files.cert)}
    done = await angarium("serve", env=settings(tmp_path, **tls))
    assert done.code == 2
    assert f"the TLS certificate {files.cert} and its key" in done.err.splitlines()[-1]
    assert "data" not in os.listdir(tmp_path)


async def test_a_hang_up_reads_the_certificate_again(database_url: str, tmp_path: Path) -> None:
    files = papers(tmp_path, "localhost")
    context = ssl.create_default_context()
    files.authority.configure_trust(context)
    tls = {"ANGARIUM_TLS_CERT": str(files.cert), "ANGARIUM_TLS_KEY": str(files.key)}
    env = environment(database_url, tmp_path, **tls)
    async with running("serve", env=env) as server:
        printed = await server.wait_for("Next, in another terminal")
        port = int(printed.split("listens on ")[1].split()[0].rpartition(":")[2])

        async def ask() -> None:
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                secure = trio.SSLStream(stream, context, server_hostname="localhost")
                await secure.send_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert (await secure.receive_some()).startswith(b"HTTP/1.1 200 ")

        assert "ang_" not in printed, "what is no terminal is a log"
        await ask()
        files.write("elsewhere.example")
        server.process.send_signal(signal.SIGHUP)
        await server.wait_for("certificate.renewed")
        with pytest.raises(trio.BrokenResourceError):  # the certificate does not contain the name
            await ask()


async def test_a_server_in_a_terminal_shows_its_keys_and_ends_with_it(tmp_path: Path) -> None:
    """A closed terminal must also end the embedded database."""
    ours, theirs = pty.openpty()
    env = settings(tmp_path, ANGARIUM_BIND=f"127.0.0.1:{free_port()}")
    process = await trio.lowlevel.open_process(
        [*(sys.executable, "-c", AT_TERMINAL), *(sys.executable, "-m", "api.cli", "serve")],
        env=env,
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    with trio.fail_after(HANGS_S):
        printed = b""
        while b"Next, in another terminal" not in printed:
            printed += await trio.to_thread.run_sync(os.read, ours, 4096)
        words = printed.decode().split()
        url = words[words.index("on", words.index("listens")) + 1]
        scopes = set()
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            for secret in (word for word in words if word.startswith("ang_dev_")):
                headers = {"authorization": f"Bearer {secret}"}
                told = await client.get("/auth/context", headers=headers)
                scopes.add(told.json()["scope"])
        assert scopes == {"ingest", "manage", "read"}
        started = tree(process.pid)
        assert len(started) > 1, "PostgreSQL is among what it started"
        os.close(ours)
        assert await process.wait() == 0

        async def gone() -> bool:
            return not set(started) & {int(name) for name in os.listdir("/proc") if name.isdigit()}

        await eventually(gone)


# Makes standard input the controlling terminal, as a shell does.
AT_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
