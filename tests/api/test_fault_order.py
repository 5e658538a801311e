"""Requests with two faults. docs/api/README.md says which fault an answer reports. Every way into the
service must report this fault."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations_with_replacement
from typing import Any

import pytest
import trio
from msgspec import Struct

from api.app import SINGLE
from api.door.asgi import scope_of
from api.door.framing import parse_head
from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import House
from tests.door.house import Client, Response
from tests.door.http2_client import dial

BODY = b"{}"
ACTION = "/destinations/01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10/enable"  # its body can be empty
LARGE = 6 * 1024 * 1024  # more than a batch can have


class Asked(Struct):
    """A request with the body `BODY`. If `length` differs from the length of `BODY`, no body is sent."""

    path: str
    fields: dict[str, str]
    method: str = "POST"
    length: int = len(BODY)

    def head(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", "host: localhost"]
        lines += [f"{name}: {value}" for name, value in self.fields.items()]
        lines.append(f"content-length: {self.length}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    @property
    def body(self) -> bytes:
        return BODY if self.length == len(BODY) else b""


def _no_path(asked: Asked) -> None:
    asked.path = "/nope" + asked.path


def _wrong_method(asked: Asked) -> None:
    asked.method = "PUT"


def _unknown_caller(asked: Asked) -> None:
    asked.fields["authorization"] = "Bearer unknown"


def _other_environment(asked: Asked) -> None:
    asked.fields["x-environment"] = "PRODUCTION"


def _encoded(asked: Asked) -> None:
    asked.fields["content-encoding"] = "gzip"


def _wrong_type(asked: Asked) -> None:
    asked.fields["content-type"] = "text/plain"


def _too_large(asked: Asked) -> None:
    asked.length = LARGE


def _many_parameters(asked: Asked) -> None:
    asked.path += "?" + "&".join(["a=1"] * 100)


# In the order of docs/api/README.md.
FAULTS: list[tuple[int, Callable[[Asked], None]]] = [
    (404, _no_path),
    (405, _wrong_method),
    (401, _unknown_caller),
    (403, _other_environment),
    (415, _encoded),
    (415, _wrong_type),
    (413, _too_large),
    (400, _many_parameters),
]


async def _by_http1(house: House, asked: Asked) -> Response:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    client = Client(stream)
    await client.send(asked.head() + asked.body)
    return await client.response()


async def _by_http2(house: House, asked: Asked) -> Response:
    client = await dial(house)
    fields = [*asked.fields.items(), ("content-length", str(asked.length))]
    number = await client.open(asked.method, asked.path, fields, end=False)
    await client.read_all_sent()
    if asked.body:
        await client.send_body(number, asked.body)
    return await client.response(number)


async def _by_http2_at_once(house: House, asked: Asked) -> Response:
    """Send head and body in one piece. The door (Angarium's own HTTP server) serves such a request
    without the library `h2`."""
    client = await dial(house)
    flushed, client.flush = client.flush, trio.lowlevel.checkpoint  # type: ignore[method-assign]
    fields = [*asked.fields.items(), ("content-length", str(asked.length))]
    number = await client.open(asked.method, asked.path, fields, end=False)
    if asked.body:
        client.h2.send_data(number, asked.body, end_stream=True)
    client.flush = flushed  # type: ignore[method-assign]
    await client.flush()
    return await client.response(number)


async def _by_quart(
    house: House, asked: Asked, more: Sequence[tuple[bytes, bytes]] = ()
) -> Response:
    """Call the application as another ASGI server does, without the door (Angarium's own HTTP server).
    `more`: further header fields of the request."""
    scope = scope_of(parse_head(asked.head()), "unused", ("127.0.0.1", 1), ("127.0.0.1", 2), False)
    del scope["state"]
    scope["headers"] = [*scope["headers"], *more]
    arriving = [{"type": "http.request", "body": asked.body, "more_body": False}]
    found = Response(0, {}, b"")

    async def receive() -> dict[str, Any]:
        if not arriving:
            await trio.sleep_forever()
        return arriving.pop()

    async def send(message: dict[str, Any]) -> None:
        await trio.lowlevel.checkpoint()
        if message["type"] == "http.response.start":
            found.status = message["status"]
            found.headers = {
                name.decode().lower(): value.decode() for name, value in message["headers"]
            }
        else:
            found.body += message.get("body", b"")

    app: Any = house.app
    await app(scope, receive, send)
    return found


LANES: list[Callable[[House, Asked], Awaitable[Response]]] = [
    _by_http1, _by_http2, _by_http2_at_once, _by_quart,
]  # fmt: skip


@pytest.mark.parametrize("path", ["/events", "/events/batch", "/destinations", ACTION])
async def test_every_lane_reports_the_same_fault_of_two(
    house: House, tenant: Tenant, path: str
) -> None:
    key = await house.key(tenant, Scope.MANAGE)
    for (status, first), (_, second) in combinations_with_replacement(FAULTS, 2):
        fields = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        asked = Asked(path, {**fields, "x-request-id": "an-id"})
        for fault in dict.fromkeys((second, first)):
            fault(asked)
        answers = [await lane(house, asked) for lane in LANES]
        told = {(answer.status, answer.body) for answer in answers}
        assert len(told) == 1, (first.__name__, second.__name__, told)
        assert answers[0].status == status, (first.__name__, second.__name__, told)


@pytest.mark.parametrize("name", SINGLE)
async def test_a_field_that_decides_access_is_refused_if_it_is_repeated(
    house: House, tenant: Tenant, name: bytes
) -> None:
    key = await house.key(tenant, Scope.MANAGE)
    fields = {"authorization": f"Bearer {key}", "x-environment": "DEVELOPMENT"}
    asked = Asked("/destinations", fields, "GET", 0)
    assert (await _by_quart(house, asked)).status == 200
    repeated = (name, fields[name.decode()].encode())
    answer = await _by_quart(house, asked, [repeated])
    assert answer.status == 400
    assert f"more than one {name.decode().title()} header".encode() in answer.body
