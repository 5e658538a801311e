"""A connection to the receiver. The measured server delivers over it, or the bench reads reports and
resets the record."""

import asyncio
import json
import math
from typing import ClassVar, cast
from urllib.parse import parse_qsl

import httptools

from bench.receiver.behaviour import Answer, read
from bench.receiver.record import Place, Record

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok"
RESET = "/-/reset"


class Connection(asyncio.Protocol):
    """A connection that answers one request after another. All connections of the process note the
    requests that arrive in one `Record`, until a reset replaces this `Record`."""

    record: ClassVar[Record] = Record()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class is not a subclass
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """Parse bytes; bytes that are not HTTP end the connection."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        self._url = url
        self._body = []

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Answer a request, if the behaviour answers it."""
        path, _, query = self._url.decode().partition("?")
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        if self._parser.get_method() == b"GET":
            self._tell(path, dict(parse_qsl(query)))
            return
        if path == RESET:
            self._reset(body)
            return
        record = Connection.record
        place = record.place(path)
        answer = record.ask(place)
        if answer.status < 400 and not answer.hung and answer.after_s < math.inf:
            record.arrive(place, body)
        if not answer.after_s:
            self._transport.write(OK if answer.status < 400 else _failure(answer.status))
        elif answer.after_s < math.inf:
            loop = asyncio.get_running_loop()
            loop.call_later(answer.after_s, self._answer_late, record, place, answer, body)

    def _answer_late(self, record: Record, place: Place, answer: Answer, body: bytes) -> None:
        if self._transport.is_closing():
            return  # the sender has closed the connection: the request does not count
        if answer.hung:
            record.arrive(place, body)
        self._transport.write(OK if answer.status < 400 else _failure(answer.status))

    def _reset(self, body: bytes) -> None:
        try:
            behaviour = read(body)
        except ValueError as error:
            self._answer({"error": str(error)}, "400 Bad Request")
            return
        Connection.record = Record(behaviour)
        self._answer({})

    def _tell(self, path: str, query: dict[str, str]) -> None:
        record = Connection.record
        numbers = {key: int(value) for key, value in query.items() if value.isdigit()}
        if path == "/counts":
            self._answer(record.counts())
        elif path == "/stats":
            self._answer(record.stats(numbers.get("first"), numbers.get("end")))
        elif path == "/paths":
            self._answer(record.by_path())
        elif path == "/order":
            wrong = record.disorder(lanes=numbers.get("lanes", 0), span=numbers.get("span", 0))
            self._answer({"disorder": wrong})
        elif path == "/log":
            self._answer(list(record.log()))
        else:
            self._answer({"error": f"unknown report {path}"}, "404 Not Found")

    def _answer(self, value: object, status: str = "200 OK") -> None:
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
        self._transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)


def _failure(status: int) -> bytes:
    return f"HTTP/1.1 {status} Failing\r\ncontent-length: 0\r\n\r\n".encode()
