"""CORS on a whole server, over HTTP/1.1 and HTTP/2: preflights, answers, refusals, early ends."""

import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from api.table import ROUTES
from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.cases import each_case
from tests.door.house import Client, Response
from tests.door.http2_client import Http2Client
from tests.service.house import ServiceHouse, open_service

PORTAL = "https://portal.example.com"
NEXT_DOOR = "https://portal.neighbour.example"
NOBODY = "https://evil.example"
EVENT = b'{"eventType": "of.nobody", "payload": {}}'
JSON = ("content-type", "application/json")
EXPOSED = {
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
}
# Origins that do not match a list with only PORTAL, although some look like it.
FOREIGN = [
    "null",
    "*",
    "https://portal.example.com/",
    "https://PORTAL.example.com",
    "https://portal.example.com:443",
    "https://portal.example.com:8443",
    "http://portal.example.com",
    "https://portal.example.com.evil.example",
    "https://sub.portal.example.com",
    "https://portal.example.com, https://evil.example",
    "portal.example.com",
    "https://" + "a" * 8_000,
    "localhost",
    NOBODY,
]
Fields = list[tuple[str, str]]
Ask = Callable[..., Awaitable[Response]]


async def by_http1(
    house: ServiceHouse, method: str, path: str, fields: Fields, body: bytes = b""
) -> Response:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    client = Client(stream)
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    await client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    found = await client.response(method == "HEAD")
    found.headers = {name.lower(): value for name, value in found.headers.items()}
    return found


async def by_http2(
    house: ServiceHouse, method: str, path: str, fields: Fields, body: bytes = b""
) -> Response:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    client = Http2Client(stream)
    await client.start()
    return await client.ask(method, path, fields, body)


LANES = [by_http1, by_http2]


def from_page(origin: str, key: str | None = None) -> Fields:
    return [("origin", origin), *([] if key is None else [("authorization", f"Bearer {key}")])]


def preflight(origin: str, method: str = "POST") -> Fields:
    return [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", "authorization,content-type"),
    ]


def cors_of(answer: Response) -> dict[str, str]:
    return {
        name: value
        for name, value in answer.headers.items()
        if name.startswith("access-control-") or name == "vary"
    }


def assert_readable(answer: Response, origin: str) -> None:
    headers = cors_of(answer)
    assert headers.pop("access-control-allow-origin") == origin
    assert headers.pop("vary") == "origin"
    assert set(headers.pop("access-control-expose-headers").split(", ")) == EXPOSED
    assert headers == {}, "no credentials, and nothing of a preflight"


class Pages:
    def __init__(self, house: ServiceHouse, api: Caller, neighbour: Caller) -> None:
        self.house, self.api, self.neighbour = house, api, neighbour
        self.key = api._headers["Authorization"].removeprefix("Bearer ")
        self.token = self.other_token = ""

    async def open(self) -> None:
        for caller, origin in ((self.api, PORTAL), (self.neighbour, NEXT_DOOR)):
            changed = await caller("PATCH", "/workspace", {"allowedOrigins": [origin]})
            assert changed.status == 200
        body = {"customerExternalId": "ada"}
        self.token = (await self.api("POST", "/embed/sessions", body)).json["token"]
        self.other_token = (await self.neighbour("POST", "/embed/sessions", body)).json["token"]


@pytest.fixture
async def pages(house: ServiceHouse, api: Caller, neighbour: Caller) -> Pages:
    pages = Pages(house, api, neighbour)
    await pages.open()
    return pages


@each_case("lane", LANES)
async def test_a_preflight_echoes_an_origin_that_any_workspace_lists(
    pages: Pages, lane: Ask
) -> None:
    for origin in (PORTAL, NEXT_DOOR):
        for path, methods in (
            ("/destinations", "GET, HEAD, OPTIONS, POST"),
            ("/destinations/01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", "DELETE, GET, HEAD, OPTIONS, PATCH"),
            ("/events", "GET, HEAD, OPTIONS, POST"),
            ("/events/batch", "OPTIONS, POST"),
            ("/embed/context", "GET, HEAD, OPTIONS"),
        ):  # fmt: skip
            answer = await lane(pages.house, "OPTIONS", path, preflight(origin))
            assert (answer.status, answer.body) == (204, b"")
            assert answer.headers["allow"] == methods
            headers = cors_of(answer)
            allowed = set(headers.pop("access-control-allow-headers").split(", "))
            assert {"authorization", "content-type", "x-request-id", "if-none-match"} <= allowed
            assert headers == {
                "access-control-allow-origin": origin,
                "access-control-allow-methods": methods,
                "access-control-max-age": "600",
                "vary": "origin",
            }


@each_case("lane", LANES)
async def test_every_route_has_a_preflight(pages: Pages, lane: Ask) -> None:
    stream = await trio.open_tcp_stream("127.0.0.1", pages.house.door.address[1])
    pages.house.streams.append(stream)
    for path in {route.path for route in ROUTES}:
        methods = {route.method for route in ROUTES if route.path == path}
        target = path.replace("{", "").replace("}", "")
        answer = await lane(pages.house, "OPTIONS", target, preflight(PORTAL))
        assert answer.status == 204, path
        assert methods <= set(answer.headers["access-control-allow-methods"].split(", ")), path


@each_case(("lane", "origin"), itertools.product(LANES, FOREIGN))
async def test_an_origin_that_nobody_lists_is_told_nothing_and_gets_nothing(
    pages: Pages, lane: Ask, origin: str
) -> None:
    house = pages.house
    answer = await lane(house, "OPTIONS", "/destinations", preflight(origin))
    assert (answer.status, cors_of(answer)) == (204, {}), "an ordinary OPTIONS"
    for credential in (pages.key, pages.token):
        for method, path, body in (("GET", "/destinations", b""), ("POST", "/events", EVENT)):
            fields = [*from_page(origin, credential), *([JSON] if body else [])]
            answer = await lane(house, method, path, fields, body)
            assert (answer.status, json.loads(answer.body)["code"]) == (403, "forbidden")
            assert cors_of(answer) == {}
    for path, status in (("/livez", 200), ("/nowhere", 404), ("/destinations", 401)):
        answer = await lane(house, "GET", path, from_page(origin))
        assert (answer.status, cors_of(answer)) == (status, {})


@each_case("lane", LANES)
async def test_a_request_is_refused_where_another_workspace_lists_its_origin(
    pages: Pages, lane: Ask
) -> None:
    for credential in (pages.other_token, pages.token, pages.key):
        own = NEXT_DOOR if credential == pages.other_token else PORTAL
        foreign = PORTAL if own == NEXT_DOOR else NEXT_DOOR
        answer = await lane(pages.house, "GET", "/auth/context", from_page(own, credential))
        assert answer.status == 200
        assert_readable(answer, own)
        answer = await lane(pages.house, "GET", "/auth/context", from_page(foreign, credential))
        refusal = json.loads(answer.body)
        assert (answer.status, refusal["code"]) == (403, "forbidden")
        assert "origin" in refusal["message"]
        assert_readable(answer, foreign)


@each_case("lane", LANES)
async def test_every_answer_to_a_listed_origin_can_be_read(pages: Pages, lane: Ask) -> None:
    big = b" " * (256 * 1024 + 1)
    large = json.dumps({"eventType": "e", "payload": {"a": "x" * 300_000}}).encode()
    cases: list[tuple[str, str, str | None, bytes, int]] = [
        ("GET", "/livez", None, b"", 200),
        ("GET", "/openapi.json", None, b"", 200),
        ("GET", "/docs", None, b"", 200),
        ("HEAD", "/destinations", pages.token, b"", 200),
        ("POST", "/destinations", pages.token, b'{"name": "n", "url": "https://a.example"}', 201),
        ("POST", "/events", pages.key, EVENT, 202),
        ("POST", "/events/batch", pages.key, b'{"events": [' + EVENT + b"]}", 202),
        ("POST", "/destinations", pages.token, b"{", 400),
        ("POST", "/events", pages.key, b"{", 400),
        ("GET", "/destinations", None, b"", 401),
        ("POST", "/events", None, EVENT, 401),
        ("POST", "/events", "ang_dev_unknown", EVENT, 401),
        ("GET", "/api-keys", pages.token, b"", 403),
        ("POST", "/events", pages.token, EVENT, 403),
        ("GET", "/nowhere", pages.token, b"", 404),
        ("GET", "/destinations/nothing", pages.token, b"", 404),
        ("PUT", "/destinations", pages.token, b"", 405),
        ("POST", "/destinations", pages.token, big, 413),
        ("POST", "/events", pages.key, large, 413),
        ("OPTIONS", "/nowhere", None, b"", 404),
    ]
    for method, path, credential, body, status in cases:
        fields = [*from_page(PORTAL, credential), *([JSON] if body else [])]
        answer = await lane(pages.house, method, path, fields, body)
        assert answer.status == status, (method, path, answer.body)
        assert_readable(answer, PORTAL)
    for path, key in (("/destinations", pages.token), ("/events", pages.key)):
        answer = await lane(pages.house, "POST", path, from_page(PORTAL, key), EVENT)
        assert answer.status == 415
        assert_readable(answer, PORTAL)


@each_case("lane", LANES)
async def test_a_request_without_an_origin_is_told_nothing_of_it(pages: Pages, lane: Ask) -> None:
    for method, path in (("GET", "/auth/context"), ("OPTIONS", "/destinations")):
        fields = [("authorization", f"Bearer {pages.token}")]
        answer = await lane(pages.house, method, path, fields)
        assert answer.status in (200, 204)
        assert cors_of(answer) == {}
    fields = [("authorization", f"Bearer {pages.key}"), JSON]
    answer = await lane(pages.house, "POST", "/events", fields, EVENT)
    assert (answer.status, cors_of(answer)) == (202, {})


@each_case("lane", LANES)
async def test_an_options_that_is_no_preflight_says_no_more_than_allow(
    pages: Pages, lane: Ask
) -> None:
    answer = await lane(pages.house, "OPTIONS", "/destinations", from_page(PORTAL))
    assert answer.status == 204
    assert_readable(answer, PORTAL)


@each_case(("lane", "scheme"), itertools.product(LANES, ("http", "https")))
async def test_a_page_of_our_own_address_is_no_foreign_one(
    pages: Pages, lane: Ask, scheme: str
) -> None:
    for key, method, path, body, status in (
        (pages.token, "GET", "/auth/context", b"", 200),
        (pages.key, "POST", "/events", EVENT, 202),
    ):
        fields = [*from_page(f"{scheme}://localhost", key), *([JSON] if body else [])]
        answer = await lane(pages.house, method, path, fields, body)
        assert (answer.status, cors_of(answer)) == (status, {})
        answer = await lane(
            pages.house,
            method,
            path,
            [*from_page(f"{scheme}://localhost:1", key), *fields[2:]],
            body,
        )
        assert answer.status == 403, "another port is another origin"


async def test_two_origins_leave_open_which_one_counts(pages: Pages) -> None:
    fields = [*from_page(PORTAL, pages.token), ("origin", NEXT_DOOR)]
    answer = await by_http1(pages.house, "GET", "/auth/context", fields)
    assert (answer.status, cors_of(answer)) == (400, {})
    stream = await trio.open_tcp_stream("127.0.0.1", pages.house.door.address[1])
    pages.house.streams.append(stream)
    client = Http2Client(stream)
    await client.start()
    number = await client.open("GET", "/auth/context", fields, end=True)
    while number not in client.reset:
        await client.pump()


@pytest.mark.parametrize("lane", LANES)
async def test_a_list_acts_at_once_on_a_kept_connection_too(pages: Pages, lane: Ask) -> None:
    stream = await trio.open_tcp_stream("127.0.0.1", pages.house.door.address[1])
    pages.house.streams.append(stream)
    fields = [*from_page(PORTAL, pages.key), JSON, ("content-length", str(len(EVENT)))]
    if lane is by_http2:
        second = Http2Client(stream)
        await second.start()

        async def ask() -> Response:
            return await second.ask("POST", "/events", fields, EVENT)
    else:
        first = Client(stream)
        head = "\r\n".join(f"{name}: {value}" for name, value in fields).encode()

        async def ask() -> Response:
            await first.send(b"POST /events HTTP/1.1\r\nhost: a\r\n" + head + b"\r\n\r\n" + EVENT)
            return await first.response()

    assert [(await ask()).status for _ in range(3)] == [202, 202, 202]
    await pages.api("PATCH", "/workspace", {"allowedOrigins": [NEXT_DOOR]})
    refused = await ask()
    assert (refused.status, cors_of(refused)) == (403, {}), "nobody lists it any more"
    await pages.api("PATCH", "/workspace", {"allowedOrigins": [PORTAL, NEXT_DOOR]})
    assert_readable(await ask(), PORTAL)
    await pages.api("PATCH", "/workspace", {"allowedOrigins": []})
    answer = await lane(pages.house, "OPTIONS", "/destinations", preflight(NEXT_DOOR))
    assert cors_of(answer)["access-control-allow-origin"] == NEXT_DOOR, "the neighbour lists it"


@pytest.mark.parametrize("lane", LANES)
async def test_a_used_up_rate_and_a_database_that_is_away_can_be_read(
    bridge: Bridge, lane: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_service(bridge, control_rate_limit=30) as house:
        api = await house.caller(await house.tenant("acme"))
        await api("PATCH", "/workspace", {"allowedOrigins": [PORTAL]})
        made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
        fields = from_page(PORTAL, made.json["token"])
        while (answer := await lane(house, "GET", "/embed/context", fields)).status == 200:
            assert_readable(answer, PORTAL)
        assert (answer.status, "retry-after" in answer.headers) == (429, True)
        assert_readable(answer, PORTAL)
        foreign = await lane(house, "GET", "/embed/context", from_page(NOBODY, made.json["token"]))
        assert foreign.status == 429, "429 comes before 403"
        monkeypatch.setattr(house.door.ingestion.admission, "_stale", lambda: True)
        for method, path, body in (("GET", "/destinations", b""), ("POST", "/events", EVENT)):
            answer = await lane(house, method, path, [*fields, *([JSON] if body else [])], body)
            assert answer.status == 503
            assert_readable(answer, PORTAL)


async def test_a_reader_and_an_mcp_key_are_held_to_the_list_like_a_session(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    await api("PATCH", "/workspace", {"allowedOrigins": [PORTAL]})
    callers = [
        await house.caller(tenant, Scope.READ, Origin=NOBODY),
        await house.caller(tenant, environment=None, Origin=NOBODY, X_Environment="STAGING"),
    ]
    for caller in callers:
        assert (await caller("GET", "/destinations")).status == 403
        told = await caller("GET", "/destinations", headers={"Origin": PORTAL})
        assert told.status == 200


async def test_no_answer_ever_allows_credentials_or_any_origin(pages: Pages) -> None:
    seen: list[Any] = []
    for lane in LANES:
        for origin in (PORTAL, "*", "null"):
            for fields in (preflight(origin), from_page(origin, pages.token)):
                for method in ("OPTIONS", "GET"):
                    answer = await lane(pages.house, method, "/auth/context", fields)
                    seen.append(answer.headers.get("access-control-allow-origin"))
                    assert "access-control-allow-credentials" not in answer.headers
                    assert "set-cookie" not in answer.headers
    assert set(seen) == {None, PORTAL}
