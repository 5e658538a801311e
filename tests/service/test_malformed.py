"""Malformed requests of every kind. Each is refused with the answer that the table in
`tests.service.malformed` states. None hangs, and none is answered with a 5xx."""

import json
import re
from typing import Any

import trio

from api.bodies import MAX_CONTAINERS, MAX_VALUES
from api.routes import Route
from api.table import ROUTES
from tests.api.house import Caller, Response
from tests.door.house import Client
from tests.service.house import ServiceHouse, destination, post
from tests.service.malformed import (
    BODIES,
    CHUNKS,
    FRAMING,
    HEADERS,
    NOBODY,
    PATHS,
    QUERIES,
    SYNTAX,
)

WITHIN_S = 10.0  # below all of the door's deadlines, so that none of them ends a case
# Objects that the test creates first, because the malformed requests name them. The requests also name an
# event, a destination and a rule. The test creates these too, but they are not in this list.
MADE: list[tuple[str, str, dict[str, Any]]] = [
    ("schema", "/schemas", {"eventType": "a", "schema": {}}),
    ("key", "/api-keys", {"name": "k", "scope": "read"}),
]
TAKING = [route for route in ROUTES if route.body is not None]
AT_LEAST = 150


class Book:
    def __init__(self, api: Caller, ids: dict[str, str]) -> None:
        self._api = api
        self._ids = ids
        self.asked = 0
        self.wrong: list[str] = []

    async def ask(
        self,
        line: str,
        body: object,
        expected: str,
        path: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Send one request. The answer must name `path` as the offending path. If `path` is "", the
        answer must name no path. If `path` is None, the answer can name any path or none."""
        self.asked += 1
        method, _, target = line.partition(" ")
        for name, identifier in self._ids.items():
            target = target.replace(f"{{{name}}}", identifier)
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with trio.fail_after(WITHIN_S):
            answer = await self._api(method, target, body=raw, headers=headers)
        told = f"{answer.status} {answer.json.get('code')}"
        if told != expected or not _names(answer, path):
            found = f"{told} {answer.paths} {answer.json.get('message')}"
            self.wrong.append(f"{line[:200]} {str(body)[:120]}: {found}; not {expected} {path}")


def _names(answer: Response, path: str | None) -> bool:
    if path is None:
        return True
    return answer.paths[:1] == ([path] if path else []) or (path != "" and path in answer.paths)


def syntax_path(route: Route) -> str:
    """Return a route's path with ids that no object has. These ids are enough, because the server
    validates the body before it looks up the ids."""
    line = f"{route.method} {route.path}"
    for name in ("id", "deliveryId", "destinationId"):
        line = line.replace(f"{{{name}}}", NOBODY)
    return line


async def test_the_book_of_malformed_requests(house: ServiceHouse, api: Caller) -> None:
    destination_id = await destination(api, "http://127.0.0.1:9/", ["never"])
    rules = (await api("GET", "/routing-rules")).json["items"]
    ids = {"destination": destination_id, "rule": rules[0]["id"], "event": await post(api)}
    for name, path, document in MADE:
        ids[name] = (await api("POST", path, document)).json["id"]
    book = Book(api, ids)
    for route in TAKING:
        for body in SYNTAX:
            if route.action and not body.strip():
                continue  # the body is optional
            await book.ask(syntax_path(route), body, "400 invalid_request")
        await book.ask(syntax_path(route), {"noSuch": 1}, "400 invalid_request", "noSuch")
    for line, document, path in BODIES:
        await book.ask(line, document, "400 invalid_request", path)
    for target, path in QUERIES:
        await book.ask(f"GET {target}", None, "400 invalid_request", path)
    for line, headers, raw, expected in HEADERS:
        await book.ask(line, raw, expected, None, headers)
    for line, expected in PATHS:
        await book.ask(line, {} if line.startswith("P") else None, expected)
    assert book.wrong == [], "\n" + "\n".join(book.wrong)
    assert book.asked >= AT_LEAST


async def test_every_route_refuses_a_body_of_very_many_values(api: Caller) -> None:
    """A limit on the bytes of a body is not enough. Each value costs the decoder, the garbage collector
    and the code that reads it some time, however few bytes the value has."""
    objects = b'{"a": [' + b"{}," * MAX_CONTAINERS + b"{}]}"
    values = b'{"a": [' + b"0," * MAX_VALUES + b"0]}"
    for route in TAKING:
        if route.handler is None:
            continue  # its decoder creates no objects for a payload
        method, _, target = syntax_path(route).partition(" ")
        for body, what in ((objects, "objects and lists"), (values, "values")):
            told = await api(method, target, body=body)
            assert (told.status, told.json["code"]) == (400, "invalid_request"), route.name
            assert told.json["message"].endswith(what), (route.name, told.json["message"])


async def _said_to(house: ServiceHouse, data: bytes) -> bytes:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    with trio.fail_after(WITHIN_S):
        try:
            await stream.send_all(data)
            await stream.send_eof()  # a truncated request must end as well
            return await Client(stream).rest()
        except trio.BrokenResourceError:  # the server closed before it received everything
            return b""
        finally:
            stream.socket.close()


def heads(said: bytes) -> int:
    return len(re.findall(rb"HTTP/1\.1 \d{3} ", said))


async def test_bytes_that_are_no_request_are_refused_and_the_connection_closed(
    house: ServiceHouse,
) -> None:
    for data in FRAMING:
        said = await _said_to(house, data)
        assert said == b"" or said.startswith(b"HTTP/1.1 400 "), (data[:80], said[:200])
        assert heads(said) <= 1, data[:80]
    assert (await house.caller_with(None)("GET", "/livez")).status == 200


async def test_a_body_that_is_framed_wrongly_is_refused(house: ServiceHouse, api: Caller) -> None:
    key = api._headers["Authorization"].encode()
    for path in (b"/events", b"/destinations"):
        head = b"POST %b HTTP/1.1\r\nHost: a\r\nAuthorization: %b\r\n" % (path, key)
        head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        for chunks in CHUNKS:
            said = await _said_to(house, head + chunks)
            assert said.startswith(b"HTTP/1.1 400 "), (path, chunks[:40], said[:200])
            assert heads(said) == 1
