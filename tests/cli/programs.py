"""Real processes for tests of the command line: a server, and `angarium` itself, on a given database."""

import base64
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import trio

from tests.patience import HANGS_S

ROOT = Path(__file__).parent.parent.parent
MASTER_KEY = base64.b64encode(b"k" * 32).decode()
COMMAND = [sys.executable, "-m", "api.cli"]


def environment(database_url: str, folder: Path, **settings: str) -> dict[str, str]:
    """The environment inherits only `PATH` from the test run."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'clients/python'}",
        "PYTHONUNBUFFERED": "1",
        "ANGARIUM_DATA_DIR": str(folder / "data"),
        "ANGARIUM_DATABASE_URL": database_url,
        "ANGARIUM_MASTER_KEY": MASTER_KEY,
        "ANGARIUM_BIND": "127.0.0.1:0",
        "ANGARIUM_EGRESS_ALLOW": "127.0.0.0/8",
        **settings,
    }


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


async def angarium(
    *arguments: str,
    env: Mapping[str, str],
    cwd: Path | None = None,
    command: Sequence[str] = COMMAND,
) -> Ended:
    done = await trio.run_process(
        [*command, *arguments],
        env=dict(env),
        cwd=cwd,
        capture_stdout=True,
        capture_stderr=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


async def whoami(url: str, secret: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=HANGS_S) as client:
        headers = {"authorization": f"Bearer {secret}"}
        return await client.get("/auth/context", headers=headers)


async def becomes(url: str, secret: str, status: int) -> None:
    with trio.fail_after(HANGS_S):
        while (await whoami(url, secret)).status_code != status:  # noqa: ASYNC110 - nothing tells of it
            await trio.sleep(0.02)


async def manage_key(env: Mapping[str, str], url: str) -> str:
    """The running server knows the returned key."""
    made = await angarium(
        *("keys", "create", "--environment", "DEVELOPMENT", "--scope", "manage"),
        *("--output", "text"),
        env=env,
    )
    assert made.code == 0, made.err
    secret = made.out.strip()
    await becomes(url, secret, 200)
    return secret


@dataclass(slots=True)
class Program:
    """A running program, with its output so far."""

    process: trio.Process
    printed: str = ""
    silent: bool = False

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for chunk in self.process.stdout:
            self.printed += chunk.decode("utf-8", "replace")
        self.silent = True

    async def wait_for(self, text: str, times: int = 1) -> str:
        with trio.fail_after(HANGS_S):
            while self.printed.count(text) < times:
                if self.silent:
                    raise AssertionError(f"ended with {self.process.poll()}: {self.printed}")
                await trio.sleep(0.01)
        return self.printed


@asynccontextmanager
async def running(
    *arguments: str,
    env: Mapping[str, str],
    cwd: Path | None = None,
    command: Sequence[str] = COMMAND,
) -> AsyncIterator[Program]:
    """Run a command while the block runs."""
    process = await trio.lowlevel.open_process(
        [*command, *arguments],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,  # never a person's terminal
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    program = Program(process)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(program.read)
        try:
            yield program
        finally:
            with trio.CancelScope(shield=True):
                await _end(process)
            nursery.cancel_scope.cancel()


async def _end(process: trio.Process) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with trio.move_on_after(HANGS_S):
            await process.wait()
    if process.poll() is None:
        process.kill()
    await process.wait()


@asynccontextmanager
async def server(env: Mapping[str, str]) -> AsyncIterator[tuple[Program, str]]:
    async with running("serve", env=env) as program:
        printed = await program.wait_for("Next, in another terminal")
        yield program, printed.split("listens on ")[1].split()[0]
