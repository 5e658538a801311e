"""The OpenAPI document and its page from a whole server, and equal refusals over HTTP/1.1 and HTTP/2."""

import json
import re

import trio

from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.door.house import Client
from tests.door.http2_client import Http2Client
from tests.service.house import ServiceHouse
from tests.service.malformed import BODIES, SYNTAX

REQUEST_ID = "of.both-lanes"
EVENTS = [
    (
        line.partition(" ")[2],
        document if isinstance(document, bytes) else json.dumps(document).encode(),
    )
    for line, document, _ in BODIES
    if line.startswith("POST /events")
] + [(path, body) for path in ("/events", "/events/batch") for body in SYNTAX]


async def test_anybody_can_read_the_document_and_its_page_which_loads_nothing(
    house: ServiceHouse,
) -> None:
    anybody = house.caller_with(None)
    document = (await anybody("GET", "/openapi.json")).json
    assert document["openapi"].startswith("3.1")
    page = await anybody("GET", "/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["x-content-type-options"] == "nosniff"
    text = page.body.decode()
    assert not re.search(r"<(script|link|img|iframe|object|form)\b|@import|url\(", text)
    known = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= known


async def test_what_is_wrong_with_an_event_is_said_alike_by_http1_and_http2(
    house: ServiceHouse, api: Caller, tenant: Tenant
) -> None:
    del tenant
    key = api._headers["Authorization"]
    fields = [
        ("authorization", key),
        ("content-type", "application/json"),
        ("x-request-id", REQUEST_ID),
    ]
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    second = Http2Client(stream)
    await second.start()
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    first = Client(stream)
    for path, body in EVENTS:
        head = [f"POST {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in fields]
        await first.send("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        one = await first.response()
        length = [("content-length", str(len(body)))]
        two = await second.ask("POST", path, fields + length, body)
        assert (one.status, one.body) == (two.status, two.body), body[:80]
        assert one.status == 400, body[:80]
