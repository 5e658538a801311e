"""Two PostgreSQL servers that Patroni manages, with etcd and synchronous replication."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg

from bench.processes import tree
from bench.service import free_port
from storage.embedded.account import account_for
from tests.chaos.cluster import QUERY_S, Cluster, programs

PROGRAMS = ("patroni", "etcd")
READY_S = 90.0  # time to make two databases, one as a copy of the other
ENDING_S = 10.0
ASK_S = 2.0
LOOK_S = 0.1
CONFIGURATION = """
scope: chaos
name: {name}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{host: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 60, fsync: "off", wal_log_hints: "on", shared_buffers: 32MB}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {data}
  bin_dir: {programs}
  pgpass: {folder}/{name}.pgpass
  authentication:
    superuser: {{username: postgres, password: chaos}}
    replication: {{username: replicator, password: chaos}}
  pg_hba:
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
  parameters: {{unix_socket_directories: {folder}}}
"""


def installed() -> bool:
    return all(shutil.which(name) for name in PROGRAMS)


class Member:
    """One PostgreSQL server with the Patroni that manages it."""

    def __init__(self, name: str, folder: Path, etcd: int) -> None:
        self.name = name
        self.port = free_port()
        self._rest = free_port()
        self._folder = folder
        self._data = folder / name
        self._process: subprocess.Popen[bytes] | None = None
        text = CONFIGURATION.format(
            name=name, rest=self._rest, etcd=etcd, port=self.port, data=self._data, folder=folder,
            programs=programs(),
        )  # fmt: skip
        self._file = folder / f"{name}.yml"
        self._file.write_text(text)

    def start(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self._process = _started(self._folder, "patroni", str(self._file))

    def ask(self, path: str, body: object = None) -> tuple[int, str]:
        """Send a request to the Patroni of this member. Return the status and the text of the answer, or
        the status 0 if no answer comes.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._rest}{path}", data)
        try:
            with urllib.request.urlopen(request, timeout=READY_S if data else ASK_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    @property
    def leads(self) -> bool:
        return self.ask("/primary")[0] == 200

    @property
    def follows(self) -> bool:
        """Return True if each commit on the leader waits for this member."""
        return self.ask("/sync")[0] == 200

    def kill(self) -> None:
        """Kill Patroni and PostgreSQL, as the loss of their machine does."""
        if self._process is None or self._process.poll() is not None:
            return
        postmaster = self._data / "postmaster.pid"
        roots = [self._process.pid]
        with suppress(OSError, ValueError):
            roots.append(int(postmaster.read_text().split()[0]))
        for pid in [each for root in roots for each in tree(root)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(ENDING_S)


class Pair(Cluster):
    """The two members as one database."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._account()
        etcd = free_port()
        peer = f"http://127.0.0.1:{free_port()}"
        client = f"http://127.0.0.1:{etcd}"
        self._etcd = _started(
            folder, "etcd", "--data-dir", str(folder / "etcd"), "--name", "one", "--unsafe-no-fsync",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"one={peer}",
        )  # fmt: skip
        self.members = [Member(name, folder, etcd) for name in ("one", "two")]
        self._last = f"127.0.0.1:{self.members[0].port}"

    def start(self) -> None:
        for member in self.members:
            member.start()
        self.wait_safe()

    def wait_safe(self) -> Member:
        """Wait until one member leads, and each commit waits for the other member. Return the leader."""
        give_up = time.monotonic() + READY_S
        while time.monotonic() < give_up:
            leader = self.leader()
            if leader is not None and any(
                each.follows for each in self.members if each is not leader
            ):
                return leader
            time.sleep(LOOK_S)
        raise RuntimeError("Patroni's cluster does not become safe")

    def leader(self) -> Member | None:
        return next((each for each in self.members if each.leads), None)

    @property
    def address(self) -> str:
        """The leader's address. While there is no leader, the address of the last leader."""
        leader = self.leader()
        if leader is not None:
            self._last = f"127.0.0.1:{leader.port}"
        return self._last

    async def connect(self) -> "asyncpg.Connection[Any]":
        host, _, port = self.address.rpartition(":")
        return await asyncpg.connect(
            host=host, port=int(port), user="postgres", database="postgres", timeout=QUERY_S,
            command_timeout=30.0,
        )  # fmt: skip

    def kill(self) -> None:
        for member in self.members:
            member.kill()
        self._etcd.kill()
        self._etcd.wait(ENDING_S)

    @contextmanager
    def followed(self, tell: Callable[..., object]) -> Iterator[None]:
        """While the block runs, tell a proxy where the leader is, like a load balancer that asks
        Patroni.
        """
        over = threading.Event()

        def look() -> None:
            told = self.address
            while not over.wait(LOOK_S):
                now = self.address
                if now != told:
                    told = now
                    tell(target=now, do="reset")

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _started(folder: Path, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
    with (folder / f"{program}.log").open("ab") as log:
        return subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
            **account_for(folder / "one").arguments(),
        )
