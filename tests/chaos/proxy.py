"""A proxy to the database or between servers. On command it forwards bytes slowly, only in part, or
not at all.

    python -m tests.chaos.proxy
"""

import json
import math
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import trio

from tests.chaos.tool import answer

CHUNK = 64 * 1024
LEAST_CUT = 64  # bytes: shorter messages are keep-alives and acknowledgements
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset
UP, DOWN = "statement", "answer"


@dataclass
class Road:
    """The faults of the road."""

    target: str = ""
    latency_s: float = 0.0
    bytes_s: float = math.inf
    frozen: bool = False  # packets are dropped, and nothing is closed
    refusing: bool = False
    cut: str | None = None  # the next message in this direction is cut in the middle
    thawed: trio.Event = field(default_factory=trio.Event)


@dataclass(eq=False)
class Pair:
    """A client's connection to the proxy, and the connection that the proxy opened to the database for
    this client."""

    client: trio.SocketStream
    database: trio.SocketStream
    half: bool = False  # the database's end is gone, but the client does not know

    def reset(self) -> None:
        for stream in (self.client, self.database):
            _reset(stream)


class Proxy:
    def __init__(self) -> None:
        self.road = Road()
        self._pairs: set[Pair] = set()

    async def serve(self) -> None:
        """Run the proxy until standard input ends. Each line of standard input is a command. The first
        command can name the port on which the proxy listens.
        """
        command = json.loads(await trio.to_thread.run_sync(sys.stdin.readline))
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(command.pop("port", 0), host="127.0.0.1")
            port = listeners[0].socket.getsockname()[1]
            nursery.start_soon(trio.serve_listeners, self._forward, listeners)
            while True:
                self._told(command)
                answer({"port": port, "pairs": len(self._pairs)})
                line = await trio.to_thread.run_sync(sys.stdin.readline)
                if not line:
                    break
                command = json.loads(line)
            nursery.cancel_scope.cancel()

    def _told(self, command: dict[str, object]) -> None:
        do = command.pop("do", None)
        for name, value in command.items():
            setattr(self.road, name, value)
        if not self.road.frozen:
            self.road.thawed.set()
            self.road.thawed = trio.Event()
        if do == "reset":
            for pair in list(self._pairs):
                pair.reset()
        elif do == "halve":
            for pair in list(self._pairs):
                pair.half = True
                _reset(pair.database)

    async def _forward(self, client: trio.SocketStream) -> None:
        if self.road.refusing:
            _reset(client)
            return
        try:
            database = await self._reached()
        except OSError:
            _reset(client)
            return
        pair = Pair(client, database)
        self._pairs.add(pair)
        try:
            async with client, database, trio.open_nursery() as nursery:
                nursery.start_soon(self._pump, pair, UP, nursery.cancel_scope)
                nursery.start_soon(self._pump, pair, DOWN, nursery.cancel_scope)
        finally:
            self._pairs.discard(pair)

    async def _reached(self) -> trio.SocketStream:
        """The target is a socket's file, or HOST:PORT."""
        host, _, port = self.road.target.rpartition(":")
        if host:
            return await trio.open_tcp_stream(host, int(port))
        return await trio.open_unix_socket(self.road.target)

    async def _pump(self, pair: Pair, way: str, ends: trio.CancelScope) -> None:
        source, sink = (pair.client, pair.database) if way == UP else (pair.database, pair.client)
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await source.receive_some(CHUNK):
                if pair.half:
                    continue
                await self._pass(len(data))
                if self.road.cut == way and len(data) >= LEAST_CUT:
                    self.road.cut = None
                    await sink.send_all(data[: len(data) // 2])
                    pair.reset()
                    return
                await sink.send_all(data)
        if not (pair.half and way == DOWN):
            ends.cancel()

    async def _pass(self, size: int) -> None:
        while self.road.frozen:
            await self.road.thawed.wait()
        delay = self.road.latency_s + size / self.road.bytes_s
        if delay:
            await trio.sleep(delay)


def _reset(stream: trio.SocketStream) -> None:
    with suppress(OSError):
        if stream.socket.family == socket.AF_INET:
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    stream.socket.close()


if __name__ == "__main__":
    trio.run(Proxy().serve)
