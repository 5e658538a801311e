"""A small HTTP/2 client on the `h2` package, over any trio stream."""

import h2.config
import h2.connection
import h2.events
import h2.settings
import trio

from tests.door.house import Listening, Response


class Http2Client:
    """A client's connection. Its methods send one request after another. To interleave requests, a test
    uses the attribute `h2`.
    """

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        )
        self.acknowledge = True
        self.pings = 0
        self.ended = False
        self.reset: dict[int, int] = {}
        self.goaway: int | None = None
        self._heads: dict[int, dict[str, str]] = {}
        self._bodies: dict[int, bytearray] = {}
        self._done: set[int] = set()

    async def start(self) -> None:
        self.h2.initiate_connection()
        await self.flush()

    async def flush(self) -> None:
        if data := self.h2.data_to_send():
            await self.stream.send_all(data)

    async def pump(self) -> None:
        data = await self.stream.receive_some(65536)
        if not data:
            self.ended = True
            return
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                self._heads[event.stream_id] = {
                    str(name): str(value) for name, value in event.headers
                }
            elif isinstance(event, h2.events.DataReceived):
                self._bodies.setdefault(event.stream_id, bytearray()).extend(event.data)
                if self.acknowledge:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self._done.add(event.stream_id)
            elif isinstance(event, h2.events.PingAckReceived):
                self.pings += 1
            elif isinstance(event, h2.events.StreamReset):
                self.reset[event.stream_id] = event.error_code
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.goaway = event.error_code
        await self.flush()

    async def read_all_sent(self) -> None:
        """Wait until the server has read all bytes sent so far. The server's answer to a PING shows that
        it has.
        """
        answered = self.pings
        self.h2.ping(b"the last")
        await self.flush()
        while self.pings == answered and not self.ended:
            await self.pump()

    async def open(self, method: str, path: str, headers: list[tuple[str, str]], end: bool) -> int:
        number: int = self.h2.get_next_available_stream_id()
        self.h2.send_headers(
            number,
            [
                (":method", method),
                (":path", path),
                (":scheme", "http"),
                (":authority", "localhost"),
                *headers,
            ],
            end_stream=end,
        )
        await self.flush()
        return number

    async def send_body(self, number: int, body: bytes, end: bool = True) -> None:
        """Send a body as fast as flow control allows. Stop if the server answers or resets the stream."""
        at = 0
        while at < len(body) and number not in self._done and number not in self.reset:
            window = min(self.h2.local_flow_control_window(number), self.h2.max_outbound_frame_size)
            if window <= 0:
                await self.pump()
                continue
            piece = body[at : at + window]
            at += len(piece)
            self.h2.send_data(number, piece)
            await self.flush()
        if end and number not in self.reset:
            self.h2.send_data(number, b"", end_stream=True)
            await self.flush()

    async def response(self, number: int) -> Response:
        while number not in self._done and number not in self.reset:
            if self.ended:
                raise EOFError
            await self.pump()
        head = self._heads[number]
        status = int(head.pop(":status"))
        return Response(status, head, bytes(self._bodies.get(number, b"")))

    async def ask(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes = b""
    ) -> Response:
        number = await self.open(method, path, headers, end=not body)
        if body:
            await self.send_body(number, body)
        return await self.response(number)


async def dial(house: Listening) -> Http2Client:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    client = Http2Client(stream)
    await client.start()
    return client
