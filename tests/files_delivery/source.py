"""An origin of files on loopback, with an answer for each path."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from tests.patience import HANGS_S

Answering = Callable[[trio.SocketStream], Awaitable[None]]


def whole(body: bytes, content_type: str = "application/pdf") -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
        % (content_type.encode(), len(body), body)
    )


def saying(status: int, *fields: str) -> bytes:
    more = "".join(f"{field}\r\n" for field in fields)
    return f"HTTP/1.1 {status} X\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n".encode()


@dataclass
class Origin:
    """A server whose answers are in `answers`, by path: bytes, or a function that answers. Any other path
    is answered with 404."""

    port: int = 0
    answers: dict[str, bytes | Answering] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    _grew: trio.Event = field(default_factory=trio.Event)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def times(self, path: str) -> int:
        return self.asked.count(path)

    async def was_asked(self, path: str, times: int = 1) -> None:
        with trio.fail_after(HANGS_S):
            while self.times(path) < times:
                await self._grew.wait()

    async def serve(self, stream: trio.SocketStream) -> None:
        try:
            data = b""
            while b"\r\n\r\n" not in data:
                more = await stream.receive_some()
                if not more:
                    return
                data += more
            path = data.split(b" ")[1].decode()
            self.asked.append(path)
            self._grew.set()
            self._grew = trio.Event()
            answer = self.answers.get(path, saying(404))
            if isinstance(answer, bytes):
                await stream.send_all(answer)
            else:
                await answer(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            stream.socket.close()


@asynccontextmanager
async def open_origin() -> AsyncIterator[Origin]:
    origin = Origin()
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        origin.port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, origin.serve, [listener])
        yield origin
        nursery.cancel_scope.cancel()
