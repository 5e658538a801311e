"""A small PostgreSQL connection pooler for tests, with session or transaction pooling.

The pooler follows PgBouncer's defaults. It refuses unknown settings in the startup packet, and gives each
client a cancel key of its own. With transaction pooling, each transaction of a client can run on another
connection to PostgreSQL: the pooler takes the connection that was used last.
"""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio

SSL_REQUEST, CANCEL = 80877103, 80877102
KNOWN = {b"user", b"database", b"application_name", b"client_encoding"}


class _Reader:
    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._bytes = bytearray()

    async def _take(self, size: int) -> bytes:
        while len(self._bytes) < size:
            received = await self.stream.receive_some()
            if not received:
                raise trio.EndOfChannel
            self._bytes += received
        taken = bytes(self._bytes[:size])
        del self._bytes[:size]
        return taken

    async def startup(self) -> tuple[int, bytes]:
        head = await self._take(4)
        rest = await self._take(struct.unpack("!i", head)[0] - 4)
        return struct.unpack("!i", rest[:4])[0], head + rest

    async def message(self) -> bytes:
        head = await self._take(5)
        return head + await self._take(struct.unpack("!i", head[1:])[0] - 4)


class Pooler:
    """Owns the connections to PostgreSQL, at most `most` at once."""

    def __init__(self, socket_path: str, *, by_transaction: bool, most: int = 100) -> None:
        self._socket_path = socket_path
        self._by_transaction = by_transaction
        self._room = trio.Semaphore(most)
        self._idle: list[_Reader] = []
        self._greetings: dict[_Reader, bytes] = {}
        self._clients = 0

    async def serve(self, stream: trio.SocketStream) -> None:
        self._clients += 1
        client, key = _Reader(stream), self._clients
        try:
            async with stream:
                while True:
                    code, packet = await client.startup()
                    if code == CANCEL:
                        return
                    if code != SSL_REQUEST:
                        break
                    await stream.send_all(b"N")
                fields = packet[8:-2].split(b"\0")
                unknown = [name for name in fields[::2] if name not in KNOWN]
                if unknown:
                    await stream.send_all(_error(b"unsupported startup parameter: " + unknown[0]))
                    return
                if self._by_transaction:
                    await self._by_turns(client, packet, key)
                else:
                    await self._by_session(client, packet, key)
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def _opened(self, packet: bytes) -> tuple[_Reader, bytes]:
        server = _Reader(await trio.open_unix_socket(self._socket_path))
        try:
            await server.stream.send_all(packet)
            greeting = b""
            while not greeting.endswith(b"Z\0\0\0\5I"):
                message = await server.message()
                if message[:1] != b"K":
                    greeting += message
        except BaseException:
            await trio.aclose_forcefully(server.stream)
            raise
        return server, greeting

    async def _by_session(self, client: _Reader, packet: bytes, key: int) -> None:
        async with self._room:
            server, greeting = await self._opened(packet)
            async with server.stream, trio.open_nursery() as nursery:
                await client.stream.send_all(_with_key(greeting, key))
                nursery.start_soon(_copy, server, client, nursery.cancel_scope)
                await _copy(client, server, nursery.cancel_scope)

    async def _by_turns(self, client: _Reader, packet: bytes, key: int) -> None:
        server = await self._lent(packet)
        await client.stream.send_all(_with_key(self._greetings[server], key))
        self._idle.append(server)
        while True:
            message = await client.message()
            if message[:1] == b"X":
                return
            server = await self._lent(packet)
            await server.stream.send_all(message)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_ask, client, server)
                await _answer(server, client)
                nursery.cancel_scope.cancel()
            self._idle.append(server)

    async def _lent(self, packet: bytes) -> _Reader:
        if self._idle:
            return self._idle.pop()
        server, greeting = await self._opened(packet)
        self._greetings[server] = greeting
        return server

    async def aclose(self) -> None:
        for server in self._idle:
            await trio.aclose_forcefully(server.stream)


def _error(message: bytes) -> bytes:
    body = b"SFATAL\0C08P01\0M" + message + b"\0\0"
    return b"E" + struct.pack("!i", len(body) + 4) + body


def _with_key(greeting: bytes, key: int) -> bytes:
    end = len(b"Z\0\0\0\5I")
    made_up = b"K" + struct.pack("!iii", 12, 1_000_000_000 + key, 0)
    return greeting[:-end] + made_up + greeting[-end:]


async def _ask(client: _Reader, server: _Reader) -> None:
    while True:
        message = await client.message()
        with trio.CancelScope(shield=True):
            await server.stream.send_all(message)


async def _answer(server: _Reader, client: _Reader) -> None:
    """Forward the server's messages to the client until the transaction has ended."""
    answer = b""
    while answer != b"Z\0\0\0\5I":
        answer = await server.message()
        await client.stream.send_all(answer)


async def _copy(source: _Reader, target: _Reader, everything: trio.CancelScope) -> None:
    try:
        while True:
            await target.stream.send_all(await source.message())
    except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
        everything.cancel()


@asynccontextmanager
async def open_pooler(
    socket_path: str, *, by_transaction: bool, most: int = 100
) -> AsyncIterator[int]:
    pooler = Pooler(socket_path, by_transaction=by_transaction, most=most)
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, pooler.serve, 0, host="127.0.0.1")
        listeners = await nursery.start(serve)
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await pooler.aclose()
