"""A front door on a real socket, with its own admission control and a fake Ingest."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import msgspec
import trio
from quart_trio import QuartTrio

from api.admission import AdmissionControl
from api.budget import BodyBudget
from api.door.front import FrontDoor
from api.door.limits import LIMITS, Limits
from api.ingestion import Ingestion
from api.ingestion_routes import make_blueprint
from api.streaming import Application
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.ingest.ingest import Done, Reply
from engine.model.read_models import Credential, EnvironmentModel, Models, WorkspaceModel, digest_of
from engine.plans.plans import BUILT_IN, Plans, overridden
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.settings import Settings
from tests.patience import HANGS_S

INGEST = b"ang_dev_ingest"
MANAGE = b"ang_dev_manage"
READ = b"ang_dev_read"
MCP = b"angmk_manage"
OTHER = b"ang_dev_other"
EVENT = b'{"eventType":"order.paid","payload":{"n":1}}'
LATE_S = 10 * HANGS_S  # for deadlines that the test does not use: a wait for them counts as a hang
QUICK = replace(
    LIMITS,
    head_s=LATE_S,
    handshake_s=LATE_S,
    body_s=LATE_S,
    idle_s=LATE_S,
    write_s=LATE_S,
    linger_s=0.2,
    rest_s=0.02,
)


class FakeIngest:
    """Answers immediately, or when the test calls `answer`."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.environments: list[Environment] = []
        self.waiting: list[Done] = []
        self.hold = False
        self.fault: Exception | None = None
        self.arrived = trio.Event()  # set by each `submit`, then replaced by a new event
        self.reply = Reply(202, b'{"id":"x","duplicate":false,"deliveries":1}')

    def submit(
        self, environment: EnvironmentModel, body: bytes, batch: bool, done: Done,
        hops: int = 0, key: str | None = None, trace: str | None = None,
    ) -> None:  # fmt: skip
        if self.fault is not None:
            raise self.fault
        self.bodies.append(body)
        self.environments.append(environment.name)
        self.arrived.set()
        self.arrived = trio.Event()
        if self.hold:
            self.waiting.append(done)
        else:
            done(self.reply)

    async def wait_waiting(self, count: int = 1) -> None:
        while len(self.waiting) < count:
            await self.arrived.wait()

    def answer(self, reply: Reply | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for done in waiting:
            done(reply or self.reply)


def make_models() -> Models:
    models = Models()
    for name in ("one", "two"):
        number = 1 if name == "one" else 11
        models.put_workspace(
            WorkspaceModel(name, name, "scale"),
            [EnvironmentModel(number + e - 1, name, e) for e in Environment],
        )
    own = models.environment_of("one", Environment.DEVELOPMENT)
    for secret, kind, environment, scope in (
        (INGEST, CredentialKind.API_KEY, own, Scope.INGEST),
        (MANAGE, CredentialKind.API_KEY, own, Scope.MANAGE),
        (READ, CredentialKind.API_KEY, own, Scope.READ),
        (MCP, CredentialKind.MCP_KEY, None, Scope.MANAGE),
        (
            OTHER,
            CredentialKind.API_KEY,
            models.environment_of("two", Environment.DEVELOPMENT),
            Scope.INGEST,
        ),
    ):
        models.put_key(
            secret.decode(),
            {
                digest_of(secret): Credential(
                    kind=kind,
                    key_id=secret.decode(),
                    workspace="two" if secret == OTHER else "one",
                    environment=environment,
                    scope=scope,
                )
            },
        )
    return models


class Address(Protocol):
    @property
    def address(self) -> tuple[str, int]: ...


class Listening(Protocol):
    """The parts of a house that its clients need."""

    @property
    def door(self) -> Address: ...

    streams: list[trio.SocketStream]


class House:
    """All parts of one running door."""

    def __init__(
        self,
        app: Any = None,
        limits: Limits = QUICK,
        bodies: BodyBudget | None = None,
        ingest_limit: int | None = None,
        tls: tuple[Path, Path] | None = None,
        passage: Callable[[int], socket.socket] | None = None,
    ) -> None:
        self.errors: list[Exception] = []
        self.streams: list[trio.SocketStream] = []
        self.limits = limits
        # The reactor pauses after a long pass. Here trio's clock measures how long a pass took. A mock
        # clock stands still, so every pass seems to take no time, and the reactor never pauses.
        self.reactor = Reactor(self.errors.append, trio.current_time)
        self.timers = Timers(self.errors.append)
        self.ingest = FakeIngest()
        self.now = 1_700_000_000.0
        models = make_models()
        plans = overridden(BUILT_IN, ingest_per_minute=ingest_limit)
        self.admission = AdmissionControl(models, lambda: self.now, Plans(models, plans))
        self.bodies = bodies or BodyBudget(1 << 27, 1 << 25)
        self.ingestion = Ingestion(self.admission, models, self.ingest, self.bodies)
        settings = Settings(
            bind="127.0.0.1:0",
            tls_cert=tls[0] if tls else None,
            tls_key=tls[1] if tls else None,
        )
        self.door = FrontDoor(
            settings,
            self.reactor,
            self.timers,
            self.ingestion,
            app or self.quart(),
            self.errors.append,
            limits,
            passage=passage,
        )

    def quart(self) -> QuartTrio:
        app = Application("house")
        app.register_blueprint(make_blueprint(self.ingestion, self.limits.body_s))
        return app

    async def connect(self) -> "Client":
        stream = await trio.open_tcp_stream("127.0.0.1", self.door.address[1])
        self.streams.append(stream)
        return Client(stream)

    async def ask(self, data: bytes) -> "Response":
        """Send one request over a new connection, and return the answer. The answer can come before the
        end of the request is sent.
        """
        client = await self.connect()
        with suppress(trio.BrokenResourceError):
            await client.send(data)
        answer = await client.response()
        await client.stream.aclose()
        return answer

    async def settled(self) -> None:
        while self.door.statistics().connections or self.door.statistics().passing:  # noqa: ASYNC110 - production code has no event for nobody here, and sockets take real time
            await trio.sleep(0.002)


@asynccontextmanager
async def running(house: House) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.reactor.run)
        nursery.start_soon(house.timers.run)
        await nursery.start(house.door.run)
        try:
            with trio.fail_after(HANGS_S):
                yield
        finally:
            for stream in house.streams:
                stream.socket.close()
            nursery.cancel_scope.cancel()
    house.reactor.shut()
    assert house.bodies.drawn == 0


@asynccontextmanager
async def open_house(**options: Any) -> AsyncIterator[House]:
    house = House(**options)
    async with running(house):
        yield house
    assert house.errors == []


class Response(msgspec.Struct):
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """An HTTP/1.1 client that sends exactly what it is given."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.buffer = b""

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            data = await self.stream.receive_some(65536)
            if not data:
                raise EOFError(self.buffer)
            self.buffer += data
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    async def exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            data = await self.stream.receive_some(65536)
            if not data:
                raise EOFError(self.buffer)
            self.buffer += data
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found

    async def response(self, head_only: bool = False) -> Response:
        head = (await self.until(b"\r\n\r\n")).decode().split("\r\n")
        status = int(head[0].split(" ")[1])
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(": ")
            assert name not in headers, f"{name} twice"
            headers[name] = value
        body = b""
        if head_only or status in (204, 304) or status < 200:
            pass
        elif "content-length" in headers:
            body = await self.exactly(int(headers["content-length"]))
        elif headers.get("content-type") == "text/event-stream" and status == 200:
            body = await self.exactly(int(await self.until(b"\r\n"), 16))
            await self.stream.aclose()  # a stream has no end, so only its beginning counts
        elif headers.get("transfer-encoding") == "chunked":
            while size := int(await self.until(b"\r\n"), 16):
                body += await self.exactly(size)
                assert await self.exactly(2) == b"\r\n"
            assert await self.exactly(2) == b"\r\n"
        else:
            body = await self.rest()
        return Response(status, headers, body)

    async def rest(self) -> bytes:
        while data := await self.stream.receive_some(65536):
            self.buffer += data
        found, self.buffer = self.buffer, b""
        return found

    async def closed(self) -> bool:
        try:
            return await self.rest() == b""
        except trio.BrokenResourceError:
            return True

    async def reset(self) -> None:
        assert isinstance(self.stream, trio.SocketStream)
        self.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.stream.socket.close()


def post(
    path: bytes = b"/events",
    body: bytes = EVENT,
    key: bytes | None = INGEST,
    *fields: bytes,
    length: int | None = None,
    version: bytes = b"1.1",
    content_type: bytes | None = b"application/json",
) -> bytes:
    lines = [b"POST %b HTTP/%b" % (path, version), b"Host: localhost"]
    if key is not None:
        lines.append(b"Authorization: Bearer " + key)
    if content_type is not None:
        lines.append(b"Content-Type: " + content_type)
    lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    lines.extend(fields)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


App = Callable[[Any, Any, Any], Awaitable[None]]
