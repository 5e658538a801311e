"""A receiver on loopback, within the test's process. It records requests and gives the chosen answers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import trio


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def event(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """Answers with the status from `answer` (204 by default) and the body from `says`."""

    port: int = 0
    answer: Callable[[Received], int] = lambda _: 204
    says: Callable[[Received], bytes] = lambda _: b""
    header: bytes = b""  # an additional header line for each answer
    hold: trio.Event | None = None  # answers wait until this event is set
    received: list[Received] = field(default_factory=list)
    _grew: trio.Event = field(default_factory=trio.Event)

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def of(self, path: str) -> list[Received]:
        return [each for each in self.received if each.path == path]

    async def reaches(self, count: int, path: str | None = None) -> list[Received]:
        while True:
            found = self.received if path is None else self.of(path)
            if len(found) >= count:
                return found
            await self._grew.wait()

    async def serve(self, stream: trio.SocketStream) -> None:
        data = b""
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    more = await stream.receive_some()
                    if not more:
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines)
                }
                length = int(headers.get("content-length", "0"))
                while len(data) < length:
                    data += await stream.receive_some()
                body, data = data[:length], data[length:]
                request = Received(first.split(" ")[1], headers, body)
                status = self.answer(request)
                self.received.append(request)
                self._grew.set()
                self._grew = trio.Event()
                if self.hold is not None:
                    await self.hold.wait()
                said = self.says(request)
                head_of_answer = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n"
                line = self.header + b"\r\n" if self.header else b""
                await stream.send_all(head_of_answer % (status, len(said), line) + said)
        except trio.BrokenResourceError:
            pass
        finally:
            stream.socket.close()


@asynccontextmanager
async def open_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        receiver.port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, receiver.serve, [listener])
        yield receiver
        nursery.cancel_scope.cancel()
