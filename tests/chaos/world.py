"""A round's world: clusters, the proxy to them, servers, receivers and posters, each in its own
process."""

import base64
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.programs import ports_in_a_row
from bench.service import Service, call
from tests.chaos.clock import set_clock
from tests.chaos.cluster import AWAY, Cluster, disk
from tests.chaos.patroni import Pair
from tests.chaos.server import GRACE_S, POLL_S, READY_S, Exit, Server
from tests.chaos.tool import Tool

DATABASE_MIB = 320  # a cluster takes 60 MiB, its log the same, and a round's rows some 30
SPOOL_MIB = 48  # an upload of unknown length needs room for the largest upload, 25 MiB
PATHS = {"strict": "STRICT", "key": "KEY", "free": "NONE"}
SCHEDULE = [1] * 20  # no fault lasts longer than all retries: no delivery may die
TIMEOUT_MS = 5_000
WORKER_CONNECTIONS = 23  # a worker holds 22; during a replacement both servers hold theirs
MASTER_KEY = base64.b64encode(b"c" * 32).decode()


@dataclass(frozen=True, slots=True)
class Template:
    """A database with a server's tables, and an API key for it."""

    cluster: Cluster
    key: str

    def primary(self, folder: Path, connections: int) -> Cluster:
        """The round's database does not run yet."""
        cluster = Cluster(folder, connections)
        cluster.copy(self.cluster)
        return cluster


@dataclass(frozen=True, slots=True)
class PatroniTemplate(Template):
    """The database of one round, managed by Patroni."""

    def primary(self, folder: Path, connections: int) -> Cluster:
        del folder, connections
        return self.cluster


class Timeline:
    """The round's actions with their times, as lines of a file that is made for people."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._turn = threading.Lock()
        self._began = time.monotonic()

    def note(self, what: str, **more: object) -> None:
        now = time.monotonic()
        line = {"at": now, "s": round(now - self._began, 2), "what": what, **more}
        with self._turn, self.file.open("a") as file:
            file.write(json.dumps(line) + "\n")


class World:
    """The objects that disturbances act on. `settings` are the servers' environment variables."""

    def __init__(
        self,
        folder: Path,
        template: Template,
        seed: int,
        stack: ExitStack,
        nodes: int = 1,
        workers: int = 1,
        parts: int = 1,
    ) -> None:
        """`nodes` is the number of servers. `parts` is the number of parts that the servers divide among
        themselves. `workers` is the number of workers of each server.
        """
        self._workers, self._parts = workers, parts
        processes = max(workers, parts)
        self._connections = 60 if processes == 1 else WORKER_CONNECTIONS * (processes + 1) * 2
        self.folder = folder
        self.seed = seed
        self.key = template.key
        self.timeline = Timeline(folder / "timeline.jsonl")
        self.small_disks = stack.enter_context(disk(folder / "a", DATABASE_MIB))
        stack.enter_context(disk(folder / "b", DATABASE_MIB))
        stack.enter_context(disk(folder / "data", SPOOL_MIB))
        self.primary = template.primary(folder / "a", self._connections)
        self.standby: Cluster | None = None
        stack.callback(self._end_clusters)
        self.primary.start()
        self.proxy = Tool("proxy", target=self.primary.address)
        stack.callback(self.proxy.kill)
        stack.enter_context(self.primary.followed(self.proxy.tell))
        self._servers: list[Server] = []
        stack.callback(self._end_servers)
        self.receivers = self._receivers(port=0)
        self.receiver_port: int = self.receivers.ready["port"]
        stack.callback(lambda: self.receivers.kill())
        self.door = folder / "door"
        self.links: list[Tool] = []
        self._at: dict[str, Server] = {}  # servers by the addresses of their processes
        stack.callback(self._end_links)
        self.server = self.new_server() if nodes == 1 else self._new_node()
        self.server.start()
        self.open_door(self.server)
        for _ in range(nodes - 1):
            self._new_node().start()

    # --- servers

    def new_server(self, **more: str) -> Server:
        """The new server does not run yet."""
        number = len(self._servers)
        settings = {
            "ANGARIUM_DATABASE_URL": (
                f"postgresql://postgres@127.0.0.1:{self.proxy.ready['port']}/postgres"
            ),
            "ANGARIUM_MASTER_KEY": MASTER_KEY,
            "ANGARIUM_EGRESS_ALLOW": "127.0.0.0/8",
            "ANGARIUM_LOG_LEVEL": "info",
            "ANGARIUM_LOG_FORMAT": "json",
            "ANGARIUM_SHUTDOWN_GRACE": str(GRACE_S),
            # With these small limits, servers often read deliveries from the store: few deliveries fit in
            # memory, and an actor without work leaves memory after a second.
            "ANGARIUM_PASSIVATE_AFTER": "1",
            "ANGARIUM_ACTOR_DELIVERIES": "64",
            "ANGARIUM_ENGINE_DELIVERIES": "150",
            "ANGARIUM_FILE_DISK_RESERVE": "0",  # the disk itself must refuse
            **({} if self._workers == 1 else {"ANGARIUM_WORKERS": str(self._workers)}),
            **more,
        }
        server = Server(f"server{number}", self.folder, self.folder / "data" / "of", settings)
        set_clock(server.offset_file, 0)
        self._servers.append(server)
        return server

    def _new_node(self) -> Server:
        bind, advertised = ports_in_a_row(self._parts), ports_in_a_row(self._parts)
        parts: dict[str, str] = {}
        if self._parts > 1:
            name = f"server{len(self._servers)}"
            parts = {"ANGARIUM_PARTS": str(self._parts), "ANGARIUM_NODE_NAME": name}
        server = self.new_server(
            ANGARIUM_PEER_BIND=f"127.0.0.1:{bind}",
            ANGARIUM_PEER_ADVERTISE=f"127.0.0.1:{advertised}",
            **parts,
        )
        for place in range(self._parts):
            port = advertised + place
            self.links.append(Tool("proxy", target=f"127.0.0.1:{bind + place}", port=port))
            self._at[f"127.0.0.1:{port}"] = server
        return server

    @property
    def servers(self) -> list[Server]:
        """All servers of a cluster. Without a cluster, each new server replaces the server before it, so
        return only the newest server.
        """
        return self._servers if self.links else [self.server]

    def active_server(self) -> Server | None:
        """Return the server that has the workspace's part. Return None if no server has the part, or if
        the database does not answer.
        """
        sql = """SELECT address FROM home_leases JOIN nodes ON nodes.id = process WHERE slot = $1"""
        try:
            found = [row[0] for row in self.rows(sql, self.part(self._parts))]
        except AWAY:
            return None
        return self._at[found[0]] if found else None

    def process_of_part(self, server: Server) -> tuple[str, int | None]:
        name = f"{server.name}-{self.part(self._parts) + 1}"
        return name, server.workers().get(name)

    def part(self, parts: int) -> int:
        return int(self.workspace[-2:], 16) % parts

    def pause(self, seconds: float) -> None:
        """A fixed time on purpose: it waits for no event."""
        time.sleep(seconds)

    def open_door(self, server: Server) -> None:
        self.server = server
        draft = self.door.with_suffix(".new")
        draft.write_text(str(server.port))
        draft.replace(self.door)

    @property
    def exits(self) -> list[Exit]:
        return [exit_ for server in self._servers for exit_ in server.exits]

    @property
    def logs(self) -> list[Path]:
        return [server.log_file for server in self._servers]

    def furnish(self) -> None:
        if not self.server.wait_ready():
            raise RuntimeError("the server was never ready")
        self.timeline.note("ready")
        # One part can be ready before the workspace's part is.
        self.workspace: str = self.insist("/auth/context")["workspaceId"]
        for path, ordering in PATHS.items():
            delivery = {"ordering": ordering, "retrySchedule": SCHEDULE, "timeoutMs": TIMEOUT_MS}
            url = f"http://127.0.0.1:{self.receiver_port}/{path}"
            body = {"name": path, "url": url, "delivery": delivery}
            made = self.insist("/destinations", body)
            rule = {"name": path, "destinationId": made["id"], "eventTypes": ["*"]}
            self.insist("/routing-rules", rule)

    def follow(self) -> None:
        """Give the primary a standby, for which each commit waits."""
        standby = Cluster(self.folder / "b", self._connections)
        standby.follow(self.primary)
        self.standby = standby

    def insist(self, path: str, body: object = None) -> Any:
        """Send a request: a POST if there is a body, otherwise a GET. Repeat it while the server is away,
        busy or just starting (404, 500, 503). Only for requests that can be made twice.
        """
        give_up = time.monotonic() + READY_S
        while True:
            try:
                method = "GET" if body is None else "POST"
                return call(method, self.server.url + path, body, self.key)
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                answered = isinstance(error, RuntimeError) and not any(
                    status in str(error) for status in (" 404 ", " 500 ", " 503 ")
                )
                if answered or time.monotonic() > give_up:
                    raise
                time.sleep(POLL_S)

    # --- posters and receivers

    @property
    def sent(self) -> Path:
        return self.folder / "sent.jsonl"

    @property
    def received(self) -> Path:
        return self.folder / "received.jsonl"

    @contextmanager
    def load(self) -> Iterator[None]:
        posters = Tool("load", door=str(self.door), key=self.key, log=str(self.sent))
        posters.tell()
        try:
            yield
        finally:
            posters.tell()
            posters.end()

    def _receivers(self, port: int) -> Tool:
        return Tool("receiver", port=port, log=str(self.received), seed=self.seed)

    def revive_receivers(self) -> None:
        self.receivers = self._receivers(self.receiver_port)

    # --- what the rows say

    def rows(self, sql: str, *arguments: object) -> list[Any]:
        return self.primary.query(sql, *arguments)

    def value(self, sql: str, *arguments: object) -> Any:
        return self.rows(sql, *arguments)[0][0]

    # --- its end

    def _end_links(self) -> None:
        for link in self.links:
            link.kill()

    def _end_servers(self) -> None:
        for server in self._servers:
            server.close()

    def _end_clusters(self) -> None:
        for cluster in (self.primary, self.standby):
            if cluster is not None:
                cluster.kill()


def make_template(folder: Path) -> Template:
    cluster = Cluster(folder)
    cluster.make()
    cluster.start()
    try:
        key = _furnished(folder, f"postgresql://postgres@/postgres?host={folder}&port=5432")
        return Template(cluster, key)
    finally:
        cluster.stop("fast")


def make_patroni_template(folder: Path) -> PatroniTemplate:
    pair = Pair(folder)
    try:
        pair.start()
        key = _furnished(folder, f"postgresql://postgres@{pair.address}/postgres")
    except BaseException:
        pair.kill()
        raise
    return PatroniTemplate(pair, key)


def _furnished(folder: Path, url: str) -> str:
    settings = {"ANGARIUM_DATABASE_URL": url, "ANGARIUM_MASTER_KEY": MASTER_KEY}
    data = folder / "data"
    data.mkdir()
    service = Service(data, settings)
    service.start()
    try:
        return service.make_key("--environment", "DEVELOPMENT")
    finally:
        service.stop()
