"""Several servers that a test starts on the same database."""

import secrets
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import trio

from tests.cli.programs import angarium, environment
from tests.process.house import House


@dataclass(frozen=True)
class Base:
    """The shared state of servers on one database: its address, the master key, and an API key."""

    url: str
    master_key: str
    key: str
    stack: ExitStack

    def start(self, make: Callable[[Path], "J"]) -> "J":
        """Start a server in its own folder. It is killed at the end if it still runs."""
        folder = Path(
            self.stack.enter_context(tempfile.TemporaryDirectory(prefix="angarium-joined-"))
        )
        server = make(folder)
        self.stack.callback(_end, server)
        server.start()
        return server


class Joined(House):
    """A server on its base's database."""

    def __init__(self, folder: Path, base: Base, **settings: str) -> None:
        super().__init__(
            folder,
            ANGARIUM_DATABASE_URL=base.url,
            ANGARIUM_MASTER_KEY=base.master_key,
            **settings,
        )
        self.key = base.key
        self._url = base.url

    def database_url(self) -> str:
        return self._url


J = TypeVar("J", bound=Joined)


def _end(server: Joined) -> None:
    assert server.process is not None
    if server.process.poll() is None:
        server.process.kill()
    server.process.wait()


@asynccontextmanager
async def open_base(url: str, folder: Path) -> AsyncIterator[Base]:
    """Create the keys for servers on a database."""
    master_key = b64encode(secrets.token_bytes(32)).decode()
    env = environment(url, folder, ANGARIUM_MASTER_KEY=master_key)
    made = await angarium(
        *("keys", "create", "--environment", "DEVELOPMENT", "--scope", "manage"),
        *("--output", "text"),
        env=env,
    )
    assert made.code == 0, made.err
    with ExitStack() as stack:
        yield Base(url, master_key, made.out.strip(), stack)


async def in_thread(work: Callable[..., None], *arguments: object) -> None:
    await trio.to_thread.run_sync(lambda: work(*arguments))
