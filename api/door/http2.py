"""HTTP/2 by Hypercorn, over a stream of ours that alone owns deadlines and the socket.

Hypercorn's classes are semi-private: the version is pinned, and the tests cover what is relied on here.
"""

from typing import TYPE_CHECKING, Any, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState, LifespanState

from api.door.channel import Address
from api.door.framing import MAX_HEAD
from api.door.http2_inbox import Tasks
from api.door.http2_protocol import Http2Protocol
from api.door.http2_stream import Http2Stream
from api.door.limits import Limits

if TYPE_CHECKING:
    from api.door.asgi import App

REQUESTS = 100_000  # on one connection: a client that keeps one for days is welcome to
STREAMS = 100
END_S = 1.0  # for requests whose client has gone to notice it, before they are cancelled


def http2_config() -> Config:
    """Return Hypercorn's configuration; every value that matters is set on purpose."""
    config = Config()
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.h2_max_concurrent_streams = STREAMS
    config.h2_max_header_list_size = MAX_HEAD
    config.keep_alive_timeout = float("inf")  # the stream below closes idle connections
    config.keep_alive_max_requests = REQUESTS
    config.read_timeout = None
    return config


class Http2Connection(TCPServer):
    """One HTTP/2 connection, run as a task of the door."""

    def __init__(
        self,
        app: "App",
        config: Config,
        stream: Http2Stream,
        server: Address,
        secure: bool,
        limits: Limits,
        closing: trio.Event,
    ) -> None:
        # What the types want is a TLS stream of trio's; what is called is in `Http2Stream`.
        super().__init__(
            ASGIWrapper(app), config, WorkerContext(None), LifespanState({}), cast("Any", stream)
        )
        # Hypercorn's own event for this makes it say goodbye before an answer's end was sent.
        self._closing = closing
        self._stream = stream
        self._server = server
        self._secure = secure
        self._limits = limits

    async def run(self) -> None:
        """Serve until the client goes, the deadline passes or the door closes the stream."""
        stream = self._stream
        try:
            async with Tasks() as tasks:
                self._task_group = tasks
                protocol = Http2Protocol(
                    self._limits,
                    self._closing,
                    self.app,
                    self.config,
                    self.context,
                    tasks,
                    ConnectionState({}),
                    self._secure,
                    stream.address,
                    self._server,
                    self.protocol_send,
                )
                self.protocol = cast("Any", protocol)
                stream.quiet = lambda: protocol.quiet
                await protocol.initiate()
                tasks.spawn(self._wind_up, protocol)
                await self._read_data()
                assert tasks._nursery is not None
                tasks._nursery.cancel_scope.deadline = trio.current_time() + (
                    END_S if protocol.streams or protocol.stream_buffers else 0
                )
        finally:
            stream.close()

    async def _wind_up(self, protocol: Http2Protocol) -> None:
        await self._closing.wait()
        await protocol.wait_quiet()
        await protocol.say_goodbye()

    async def _idle_timeout(self) -> None:
        """Nothing: the stream has the deadlines. (Hypercorn is told that a connection is idle by a
        task that Quart-Trio cancels at that very moment, so that it mostly never learns of it.)"""
