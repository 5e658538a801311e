"""Answers that the door gives from a request's head alone. Their bytes equal the application's answers.

The tests send requests to two doors of one application. The house's door answers some requests without
the application. The plain door passes every request on to the application.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator
from itertools import product
from typing import Never

import pytest
import trio

from api.door.front import FrontDoor
from api.door.request_relay import RequestRelay
from api.entry import Entry
from api.heads import DirectAnswer, Heads
from api.table import ROUTES
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from engine.model.read_models import SessionCustomer
from engine.nodes.parts import WorkerPart
from engine.settings import Settings
from tests.api.house import House
from tests.door.house import Client

ORIGIN = "https://portal.example.com"
METHODS = (
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "oPTIONS", "BREW",
)  # fmt: skip
# Paths that resemble routes, and paths that web frameworks parse in different ways.
ODD = (
    "/", "/nope", "//", "//livez", "/livez/", "/livez?", "/livez?a=b", "/livez?a=%GG", "/%6civez",
    "/LIVEZ", "/readyz;a", "/docs/", "/docs?x", "/openapi.json/", "/%2Flivez", "/events%2Fbatch",
    "/%65vents", "/destinations/", "/destinations//health", "/destinations/a%2Fb", "/destinations/%00",
    "/destinations/a/b/c", "/deliveries/%C3%A4", "/deliveries/%FF", "/schemas/types/a/b/versions",
    "/schemas/types/a%2Fb/versions", "/schemas/types//versions", "/schemas/types/%0A/active",
    "/routing-rules/preview", "/routing-rules/preview/", "/routing-rules?environment=STAGING",
    "/routing-rules?environment=STAGING&environment=DEVELOPMENT", "/routing-rules?environment=%53TAGING",
    "/routing-rules?%65nvironment=STAGING", "/a" * 4_000, "/" + "a" * 16_000, "*",
    "http://localhost/nope", "http://localhost",
)  # fmt: skip
FIELDS: tuple[tuple[str, ...], ...] = (
    (),
    (f"Origin: {ORIGIN}",),
    (f"Origin: {ORIGIN}", "Access-Control-Request-Method: POST"),
    ("Origin: https://evil.example",),
    ("X-Environment: STAGING",),
    ("X-Environment: nowhere",),
    ("Connection: close",),
    ("X-Request-Id: not sane",),
)
BODIES = (
    "Content-Length: 0\r\n\r\n",
    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
)


@pytest.fixture
async def plain(house: House) -> AsyncIterator[FrontDoor]:
    """A door that passes every request on."""
    door = FrontDoor(
        Settings(bind="127.0.0.1:0"),
        house.reactor,
        house.timers,
        house.ingestion,
        house.app,
        house.errors.append,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(door.run)
        yield door
        nursery.cancel_scope.cancel()


class Doors:
    """The two doors, and the differences between their answers."""

    def __init__(self, house: House, plain: FrontDoor) -> None:
        self.house = house
        self.ports = (plain.address[1], house.door.address[1])
        self.direct: Counter[int] = Counter()
        self.passed = 0
        self.wrong: list[str] = []
        self._clients: dict[int, Client] = {}

    def meets(self, method: str, target: str, fields: list[str]) -> DirectAnswer | Entry | None:
        """Return the judgement of a head, without a request."""
        heads = self.house.door.heads
        assert heads is not None
        path, _, query = target.removeprefix("http://localhost").partition("?")
        pairs = [each.partition(": ") for each in fields]
        given = [(name.lower().encode(), value.encode()) for name, _, value in pairs]
        return heads.judge(
            method.encode(), path.encode() or b"/", query.encode(), given, None, "an-id"
        )

    async def compare(
        self,
        method: str,
        target: str,
        fields: list[str],
        rest: str = BODIES[0],
        version: str = "1.1",
    ) -> None:
        """Send a request to both doors and compare their answers.

        One door (`house.door`) answers some requests without the application. If this door would pass the
        request on to the application, the request is not sent. It is only counted in `passed`.
        """
        if not isinstance(self.meets(method, target, ["Host: localhost", *fields]), DirectAnswer):
            self.passed += 1
            return
        await self.compare_answers(method, target, fields, rest, version)

    async def compare_answers(
        self, method: str, target: str, fields: list[str], rest: str, version: str = "1.1"
    ) -> None:
        lines = [f"{method} {target} HTTP/{version}", "Host: localhost", *fields]
        if not any(field.startswith("X-Request-Id") for field in fields):
            lines.append("X-Request-Id: an-id")
        raw = ("\r\n".join(lines) + "\r\n" + rest).encode()
        said = [await self.ask(port, raw, method == "HEAD") for port in self.ports]
        self.direct[int(said[1][9:12])] += 1
        if len({self.constant(text) for text in said}) > 1:
            self.wrong.append(f"{raw[:200]!r}:\n  {said[0][:900]!r}\n  {said[1][:900]!r}")

    async def ask(self, port: int, raw: bytes, head_only: bool) -> bytes:
        client = self._clients.pop(port, None)
        if client is None:
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            self.house.streams.append(stream)
            client = Client(stream)
        await client.send(raw)
        head = await client.until(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: (\d+)", head)
        body = b""
        if length and not head_only:
            body = await client.exactly(int(length[1]))
        if b"\r\nconnection: close" in head:
            assert await client.closed(), (raw, head)
        else:
            self._clients[port] = client
        return head + b"\r\n\r\n" + body

    @staticmethod
    def constant(text: bytes) -> bytes:
        """Return an answer without the date, the rate limit's remaining counts, and generated ids."""
        text = re.sub(rb"\r\ndate: [^\r]+", b"", text)
        text = re.sub(rb"(x-ratelimit-re[a-z]+): \d+", rb"\1", text)
        return re.sub(rb'(x-request-id: |"requestId":")[0-9a-f]{10}-[0-9a-f]+', rb"\1", text)


@pytest.fixture
async def doors(house: House, plain: FrontDoor) -> Doors:
    return Doors(house, plain)


@pytest.fixture
async def credentials(house: House, tenant: Tenant) -> dict[str, list[str]]:
    number = house.models.environment_of(tenant.workspace.id, Environment.DEVELOPMENT)
    assert number is not None
    token = house.tokens.sign(
        number.number,
        SessionCustomer("01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b11", "ada"),
        int(house.clock.now() * 1000) + 86_400_000,
    )
    given = {
        "read": await house.key(tenant, Scope.READ),
        "ingest": await house.key(tenant, Scope.INGEST),
        "manage": await house.key(tenant),
        "MCP": await house.key(tenant, Scope.MANAGE, None),
        "session": token,
        "garbage": "garbage",
        "forged session": "anges_" + "A" * 120,
    }
    found = {name: [f"Authorization: Bearer {secret}"] for name, secret in given.items()}
    return {"none": [], "basic": ["Authorization: Basic YTpi"], **found}


def path_of(template: str) -> str:
    return re.sub(r"\{\w+\}", "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", template)


async def test_every_route_method_and_credential(
    doors: Doors, credentials: dict[str, list[str]]
) -> None:
    paths = dict.fromkeys(path_of(route.path) for route in ROUTES)
    for path, method, fields in product(paths, METHODS, credentials.values()):
        if method in ("GET", "POST", "PATCH", "DELETE") or not fields:
            await doors.compare(method, path, fields)
    assert doors.wrong == [], "\n".join(doors.wrong[:5])
    assert {200, 204, 401, 403, 405} <= set(doors.direct)
    assert doors.passed < sum(doors.direct.values())


async def test_odd_paths(doors: Doors, credentials: dict[str, list[str]]) -> None:
    for target, method, who in product(ODD, METHODS, ("none", "read", "manage")):
        if (target == "*") <= (method == "OPTIONS"):
            await doors.compare(method, target, credentials[who])
    assert doors.wrong == [], "\n".join(doors.wrong[:5])
    assert doors.direct[404] > 200


async def test_fields_bodies_and_versions(
    doors: Doors, credentials: dict[str, list[str]], house: House, tenant: Tenant
) -> None:
    api = await house.caller(await house.key(tenant))
    await api("PATCH", "/workspace", {"origins": [ORIGIN]}, check=False)
    asked = (
        ("GET", "/nope"), ("POST", "/nope"), ("PUT", "/deliveries"), ("GET", "/deliveries"),
        ("POST", "/routing-rules"), ("OPTIONS", "/deliveries"), ("OPTIONS", "*"), ("HEAD", "/livez"),
        ("GET", "/readyz"),
    )  # fmt: skip
    for (method, path), fields, rest, version in product(asked, FIELDS, BODIES, ("1.1", "1.0")):
        if version == "1.0" and "Transfer-Encoding" in rest:
            continue
        for who in ("none", "garbage", "ingest", "manage"):
            await doors.compare(method, path, [*credentials[who], *fields], rest, version)
    assert doors.wrong == [], "\n".join(doors.wrong[:5])


async def test_what_is_not_ready_and_what_cannot_be_checked(
    doors: Doors, credentials: dict[str, list[str]], house: House
) -> None:
    house.unready = ["the database is away"]
    for path, who in product(("/readyz", "/deliveries"), ("none", "manage")):
        await doors.compare("GET", path, credentials[who])
    assert doors.wrong == []
    assert doors.direct == {503: 2, 401: 1}


async def test_pages_come_from_the_door_once_they_are_made(doors: Doors, house: House) -> None:
    for path in ("/docs", "/openapi.json"):
        raw = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        made = await doors.ask(doors.ports[1], raw, False)
        assert isinstance(doors.meets("GET", path, []), DirectAnswer)
        for method in ("GET", "HEAD"):
            await doors.compare(method, path, [])
        assert await doors.ask(doors.ports[1], raw, False) != b""
        assert len(made) > 100_000
    assert doors.wrong == []
    assert doors.direct == {200: 4}


@pytest.mark.usefixtures("one_window")
async def test_the_door_does_not_spend_a_rate_twice(
    doors: Doors, house: House, tenant: Tenant
) -> None:
    api = await house.caller(await house.key(tenant))
    before = int((await api("GET", "/deliveries")).headers["x-ratelimit-remaining"])
    after = int((await api("GET", "/deliveries")).headers["x-ratelimit-remaining"])
    assert before - after == 1


async def test_a_map_and_its_routes_belong_together(house: House) -> None:
    heads = Heads(house.services(), house.app.url_map)
    for route in ROUTES:
        judged = heads.judge(
            route.method.encode(),
            path_of(route.path).encode(),
            b"",
            [(b"host", b"x")],
            None,
            "an-id",
        )
        assert (
            judged is None or not isinstance(judged, DirectAnswer) or judged.status in (200, 401)
        ), route.path


async def test_no_page_of_anothers_shows_ours_in_a_frame(doors: Doors, house: House) -> None:
    for port in doors.ports:  # the application's, then the door's
        for _ in range(2):
            raw = b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n"
            head, _, _ = (await doors.ask(port, raw, False)).partition(b"\r\n\r\n")
            policy = re.search(rb"\r\ncontent-security-policy: ([^\r]+)", head)
            assert policy is not None
            parts = [part.strip() for part in policy[1].split(b";")]
            assert {b"default-src 'none'", b"frame-ancestors 'none'"} < set(parts)
            assert {b"base-uri 'none'", b"form-action 'none'"} < set(parts)
            assert b"\r\nx-frame-options: DENY" in head
            assert b"\r\nreferrer-policy: no-referrer" in head


@pytest.mark.parametrize("rest", BODIES)
async def test_an_unknown_credential_is_refused_without_the_application(
    house: House, plain: FrontDoor, rest: str
) -> None:
    """If a worker does not know a credential, the credential can be new. So the worker first reads the
    newest configuration. If the credential is still unknown, the worker's door refuses the request
    without the application."""
    caught_up = 0

    async def catch_up() -> None:
        nonlocal caught_up
        caught_up += 1

    async def never(*_: object) -> Never:
        raise AssertionError("the request went on")

    doors = Doors(house, plain)
    house.door.app = never
    house.door.request_relay = RequestRelay(WorkerPart(0, 2), lambda _: None, never, catch_up)
    for method, target in product(METHODS[:3], ("/events", "/destinations", "/docs", "/nope")):
        await doors.compare_answers(method, target, ["Authorization: Bearer x"], rest)
    assert doors.wrong == []
    assert caught_up == sum(doors.direct.values()) == len(METHODS[:3]) * 4
    assert doors.direct[401] > 0
