"""Streaming routes: the checks before them, the handler's input, and the end of its output."""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from pydantic import BaseModel

from api.app import make_app
from api.call import Answer, Call
from api.door.front import FrontDoor
from api.heads import Heads
from api.openapi import document
from api.routes import ANYONE, MANAGE, Embed, Route
from engine.model.errors import Refusal
from engine.settings import Settings
from storage.database.bridge import Bridge
from tests.api.house import Caller, House, running

MOST = 1_000_000


class Received(BaseModel):
    """The size of an upload."""

    size: int


class Source:
    """A source of bytes, which records its close."""

    def __init__(self, data: bytes) -> None:
        self.parts: Iterator[bytes] = iter([data[:10], data[10:]])
        self.given = 0
        self.closed = trio.Event()

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> bytes:
        await trio.lowlevel.checkpoint()
        for part in self.parts:
            self.given += 1
            return part
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed.set()
        await trio.lowlevel.checkpoint()


class Routes:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.source = Source(b"")
        self.account: str | None = None

    async def up(self, call: Call) -> Answer:
        self.calls.append(call)
        hashed = hashlib.sha256()
        async for chunk in call.chunks:
            hashed.update(chunk)
        return Answer(201, {"sha256": hashed.hexdigest()}, headers=(("X-Own", "yes"),))

    async def early(self, call: Call) -> Answer:
        raise Refusal("conflict", "not now")

    async def down(self, call: Call) -> Answer:
        return Answer(
            206,
            content_type="image/png",
            chunks=self.source,
            length=20,
            headers=(("Content-Range", "bytes 0-19/40"), ("Cache-Control", "private")),
            account=self.account,
        )

    def table(self) -> tuple[Route, ...]:
        shared: dict[str, Any] = {
            "summary": "A test's",
            "tag": "Events",
            "embed": Embed.REFUSED,
            "environment": False,
            "responses": {201: Received},
        }
        streams: dict[str, Any] = {
            **shared,
            "method": "POST",
            "scopes": MANAGE,
            "streams": True,
            "body": Received,
            "body_bytes": MOST,
        }
        anything = ("application/json", "multipart/form-data", "*/*")
        return (
            Route(path="/up", name="up", handler=self.up, content_types=anything, **streams),
            Route(
                path="/png", name="png", handler=self.up, content_types=("image/png",), **streams
            ),
            Route(path="/early", name="early", handler=self.early, **streams),
            Route(
                method="GET",
                path="/down",
                name="down",
                handler=self.down,
                scopes=ANYONE,
                content_type="application/octet-stream",
                answer_headers={"Content-Range": "Which bytes these are."},
                **shared,
            ),
        )


@asynccontextmanager
async def opened(bridge: Bridge) -> AsyncIterator[tuple[House, Routes, Caller]]:
    house, routes = House(bridge), Routes()
    services = house.services()
    table = routes.table()
    app = make_app(services, table)
    heads = Heads(services, app.url_map, table)
    settings = Settings(bind="127.0.0.1:0")
    house.door = FrontDoor(
        settings,
        house.reactor,
        house.timers,
        house.ingestion,
        app,
        house.errors.append,
        heads=heads,
    )
    async with running(house):
        key = await house.key(await house.tenant("acme"))
        yield house, routes, await house.caller(key)
        assert house.ingestion.bodies.streams.open == 0
    assert house.errors == []


async def test_a_handler_gets_the_body_and_the_headers_but_no_credential(bridge: Bridge) -> None:
    body = bytes(range(256)) * 3_000
    async with opened(bridge) as (_, routes, api):
        given = {"Content-Type": "text/x-any", "X-File-Name": "a", "x-environment": "DEVELOPMENT"}
        answer = await api("POST", "/up", body=body, headers=given, check=False)
        assert (answer.status, answer.headers["x-own"]) == (201, "yes")
        assert answer.json == {"sha256": hashlib.sha256(body).hexdigest()}
        (call,) = routes.calls
        assert call.body is None
        assert call.headers["x-file-name"] == "a"
        assert call.headers["content-type"] == "text/x-any"
        assert "authorization" not in call.headers


JUDGED: list[tuple[str, dict[str, str], int]] = [
    ("/up", {"Content-Type": ""}, 201),
    ("/up", {"Content-Type": "image/png; a=b"}, 201),
    ("/up", {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, 415),
    ("/png", {"Content-Type": "Image/PNG; a=b"}, 201),
    ("/png", {"Content-Type": "image/gif"}, 415),
    ("/png", {"Content-Type": ""}, 415),
    ("/early", {"Content-Type": "application/json"}, 409),
    ("/up", {"Authorization": "Bearer none"}, 401),
    ("/up?colour=red", {}, 400),
]


async def test_what_is_judged_before_the_body_is_read(
    bridge: Bridge, subtests: pytest.Subtests
) -> None:
    async with opened(bridge) as (_, _, api):
        for path, headers, status in JUDGED:
            with subtests.test(f"{path} {headers}"):
                answer = await api("POST", path, body=b"x" * 5_000, headers=headers, check=False)
                assert answer.status == status
                assert (await api("POST", "/up", body=b"x", check=False)).status == 201


async def test_a_body_may_be_as_long_as_its_route_says(bridge: Bridge) -> None:
    async with opened(bridge) as (_, routes, api):
        answer = await api("POST", "/up", body=b"x" * MOST, check=False)
        assert answer.status == 201
        headers = {"Content-Length": str(MOST + 1)}
        answer = await api("POST", "/up", body=b"", headers=headers, check=False)
        assert (answer.status, answer.code) == (413, "payload_too_large")
        assert len(routes.calls) == 1  # the head alone was refused
        size = MOST // 2 + 1
        chunks = (b"%x\r\n%b\r\n" % (size, b"x" * size)) * 2 + b"0\r\n\r\n"
        headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}
        answer = await api("POST", "/up", body=chunks, headers=headers, check=False)
        assert answer.status == 413
        assert len(routes.calls) == 2


async def test_there_are_so_many_places_for_streams(bridge: Bridge) -> None:
    async with opened(bridge) as (house, routes, api):
        streams = house.ingestion.bodies.streams
        streams._per_workspace = 0
        for path in ("/up", "/early"):
            answer = await api("POST", path, body=b"x", check=False)
            assert (answer.status, answer.code) == (503, "overloaded")
            assert int(answer.headers["retry-after"]) > 0
        routes.source = Source(b"x" * 20)
        answer = await api("GET", "/down", check=False)
        assert answer.status == 503
        await routes.source.closed.wait()
        assert routes.source.given == 0


async def test_an_answer_is_streamed_with_its_headers_and_closed(bridge: Bridge) -> None:
    data = bytes(range(20))
    async with opened(bridge) as (house, routes, _):
        anybody = await house.caller()
        routes.source = Source(data)
        routes.account = "a-workspace"
        answer = await anybody("GET", "/down", check=False)
        assert (answer.status, answer.body) == (206, data)
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["content-length"] == "20"
        assert answer.headers["content-range"] == "bytes 0-19/40"
        assert answer.headers["cache-control"] == "private"
        assert answer.headers["x-content-type-options"] == "nosniff"
        await routes.source.closed.wait()
        routes.source = Source(data)
        answer = await anybody("HEAD", "/down", check=False)
        assert (answer.status, answer.headers["content-length"]) == (206, "20")
        await routes.source.closed.wait()
        assert routes.source.given == 0


def test_the_document_has_every_media_type() -> None:
    paths = document(Routes().table())["paths"]
    content = paths["/up"]["post"]["requestBody"]["content"]
    assert set(content) == {"application/json", "multipart/form-data", "application/octet-stream"}
    assert content["application/json"]["schema"]["$ref"].endswith("/Received")
    assert content["application/octet-stream"]["schema"]["type"] == "string"
    found = paths["/down"]["get"]["responses"]["201"]
    assert list(found["content"]) == ["application/octet-stream"]
    assert "Content-Range" in found["headers"]
