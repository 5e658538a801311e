"""A small webhook receiver for `listen` and `demo`: HTTP/1.1 with keep-alive, for use on this machine."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

import httptools
import trio

# The largest accepted body. Webhooks are much smaller: a payload has at most 256 KiB, and a script makes
# a body of at most 1 MiB.
MAX_BODY = 32 * 1024 * 1024
READ_BYTES = 65_536


@dataclass(slots=True)
class ReceivedRequest:
    """One complete request. Header names are in lower case."""

    method: str = ""
    target: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ReceiverReply:
    """An answer, sent after a delay if one is set."""

    status: int = 200
    body: bytes = b""
    delay_s: float = 0.0


Respond = Callable[[ReceivedRequest], Awaitable[ReceiverReply]]


async def listen(host: str, port: int) -> list[trio.SocketListener]:
    """Open a receiver's sockets. With port 0 the system chooses a free port. Raises OSError."""
    return await trio.open_tcp_listeners(port, host=host)


def port_of(listeners: Sequence[trio.SocketListener]) -> int:
    """Return the port that a receiver has bound."""
    return int(listeners[0].socket.getsockname()[1])


async def receive(listeners: Sequence[trio.SocketListener], respond: Respond) -> None:
    """Answer requests until cancelled."""

    async def converse(stream: trio.SocketStream) -> None:
        await _Conversation(stream, respond).run()

    await trio.serve_listeners(converse, list(listeners))


class _Conversation:
    """One connection, with one request at a time."""

    def __init__(self, stream: trio.SocketStream, respond: Respond) -> None:
        self._stream = stream
        self._respond = respond
        self._request = ReceivedRequest()
        self._chunks: list[bytes] = []
        self._size = 0
        self._whole: list[ReceivedRequest] = []
        self._parser = httptools.HttpRequestParser(self)

    async def run(self) -> None:
        try:
            async with self._stream:
                await self._converse()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # the sender has closed the connection, and will retry

    async def _converse(self) -> None:
        while True:
            data = await self._stream.receive_some(READ_BYTES)
            if not data:
                return
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserError:
                await self._answer(ReceiverReply(HTTPStatus.BAD_REQUEST), keep=False)
                return
            while self._whole:
                reply = await self._respond(self._whole.pop(0))
                if reply.delay_s:
                    await trio.sleep(reply.delay_s)
                keep = self._parser.should_keep_alive()
                await self._answer(reply, keep=keep)
                if not keep:
                    return
            if self._size > MAX_BODY:
                await self._answer(ReceiverReply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE), keep=False)
                return

    async def _answer(self, reply: ReceiverReply, *, keep: bool) -> None:
        phrase = HTTPStatus(reply.status).phrase if reply.status in _STATUSES else "Answer"
        connection = b"keep-alive" if keep else b"close"
        head = b"HTTP/1.1 %d %b\r\ncontent-length: %d\r\nconnection: %b\r\n\r\n"
        await self._stream.send_all(
            head % (reply.status, phrase.encode(), len(reply.body), connection) + reply.body
        )

    def on_message_begin(self) -> None:
        self._request = ReceivedRequest()
        self._chunks = []
        self._size = 0

    def on_url(self, url: bytes) -> None:
        self._request.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= MAX_BODY:
            self._chunks.append(body)

    def on_message_complete(self) -> None:
        if self._size > MAX_BODY:
            return
        self._request.method = self._parser.get_method().decode("latin-1")
        self._request.body = b"".join(self._chunks)
        self._whole.append(self._request)


_STATUSES = frozenset(int(status) for status in HTTPStatus)
