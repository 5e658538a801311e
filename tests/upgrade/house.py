"""A server on a database that outlives it, and a balancer in front of two servers."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from storage.migrations.migrate import known_migrations
from tests.cli.programs import MASTER_KEY
from tests.process.house import House, until

ROOT = Path(__file__).parents[2]


class Outside(House):
    """A server on another server's database."""

    def __init__(self, folder: Path, url: str, root: Path = ROOT, **settings: str) -> None:
        folder.parent.mkdir(exist_ok=True)
        settings = {"ANGARIUM_MASTER_KEY": MASTER_KEY, **settings}
        super().__init__(folder, ANGARIUM_DATABASE_URL=url, **settings)
        self.root = root
        self._url = url

    def __enter__(self) -> Self:
        self.start()
        made = subprocess.run(
            self.command(
                *("keys", "create", "--environment", "DEVELOPMENT", "--scope", "manage"),
                *("--output", "text"),
            ),
            env={**os.environ, **self.settings},
            capture_output=True,
            check=True,
            text=True,
            cwd=self.root,
        )
        self.key = made.stdout.strip()
        until(lambda: self.ask("GET", "/auth/context").status == 200, "the key is known")
        return self

    def launch(self) -> None:
        threading.Thread(target=self._launched, daemon=True).start()

    def _launched(self) -> None:
        with suppress(RuntimeError):  # the server never becomes ready
            self.start()

    def database_url(self) -> str:
        return self._url


def next_release(folder: Path, migration: str) -> Path:
    """Create a release's source tree with one migration more than this release."""
    for package in ("api", "engine", "storage"):
        shutil.copytree(ROOT / package, folder / package)
    name = f"{len(known_migrations()) + 1:04}_next.sql"
    (folder / "storage" / "migrations" / name).write_text(migration)
    return folder


class Balancer:
    """Forwards each new connection to the first port that accepts it. Open connections
    stay with their port.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            for port in self._ports:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as server:
                    back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                    back.start()
                    _pump(client, server)
                    back.join()
                    return


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
