"""Ingestion over HTTP/1.1 and over HTTP/2: byte-identical answers."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from api.budget import BodyBudget
from engine.core.vocabulary import Environment
from engine.ingest.event_json import BATCH_BYTES, EVENT_BYTES
from engine.ingest.ingest import Reply
from engine.model.errors import Detail
from tests.door.house import EVENT, INGEST, MANAGE, MCP, OTHER, READ, House, Response, open_house
from tests.door.http2_client import dial

Fields = list[tuple[str, str]]
VARYING = {"date", "x-ratelimit-remaining", "x-ratelimit-reset"}
JSON = ("content-type", "application/json")
ID = ("x-request-id", "the.request:id-1")


def bearer(key: bytes) -> tuple[str, str]:
    return ("authorization", "Bearer " + key.decode())


async def by_http1(house: House, path: str, fields: Fields, body: bytes) -> Response:
    lines = [f"POST {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return await house.ask("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


async def by_chunks(house: House, path: str, fields: Fields, body: bytes) -> Response:
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "transfer-encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in fields]
    client = await house.connect()
    await client.send("\r\n".join(lines).encode() + b"\r\n\r\n")
    try:
        for at in range(0, len(body), 50_000):
            piece = body[at : at + 50_000]
            await client.send(b"%x;x=y\r\n%b\r\n" % (len(piece), piece))
        await client.send(b"0\r\nTrailer: dropped\r\n\r\n")
    except trio.BrokenResourceError:
        pass  # an early answer ended the connection
    return await client.response()


async def by_http2(house: House, path: str, fields: Fields, body: bytes) -> Response:
    client = await dial(house)
    length = [("content-length", str(len(body)))]
    return await client.ask("POST", path, fields + length, body)


async def by_http2_unsized(house: House, path: str, fields: Fields, body: bytes) -> Response:
    client = await dial(house)
    return await client.ask("POST", path, fields, body)


LANES = [by_http1, by_chunks, by_http2, by_http2_unsized]

# path, fields, body, status, code
CASES: dict[str, tuple[str, Fields, bytes, int, str | None]] = {
    "one event": ("/events", [bearer(INGEST), JSON], EVENT, 202, None),
    "a batch": ("/events/batch", [bearer(INGEST), JSON], b'{"events":[]}', 202, None),
    "manage may ingest": ("/events", [bearer(MANAGE), JSON], EVENT, 202, None),
    "bearer in any case": (
        "/events",
        [("authorization", "bEARER " + INGEST.decode()), JSON],
        EVENT,
        202,
        None,
    ),
    "any query": ("/events?a=b&c", [bearer(INGEST), JSON], EVENT, 202, None),
    "own environment": (
        "/events?environment=DEVELOPMENT",
        [bearer(INGEST), JSON],
        EVENT,
        202,
        None,
    ),
    "other environment": (
        "/events?x=1&environment=PRODUCTION",
        [bearer(INGEST), JSON],
        EVENT,
        403,
        "forbidden",
    ),
    "escaped environment": (
        "/events?%65nvironment=PRODU%43TION",
        [bearer(INGEST), JSON],
        EVENT,
        403,
        "forbidden",
    ),
    "other environment by header": (
        "/events",
        [bearer(INGEST), JSON, ("x-environment", "STAGING")],
        EVENT,
        403,
        "forbidden",
    ),
    "unknown environment": (
        "/events?environment=MOON",
        [bearer(INGEST), JSON],
        EVENT,
        400,
        "invalid_request",
    ),
    "mcp by header": (
        "/events",
        [bearer(MCP), JSON, ("x-environment", "STAGING")],
        EVENT,
        202,
        None,
    ),
    "mcp by query": ("/events?environment=PRODUCTION", [bearer(MCP), JSON], EVENT, 202, None),
    "mcp without": ("/events", [bearer(MCP), JSON], EVENT, 400, "invalid_request"),
    "mcp torn": (
        "/events?environment=STAGING",
        [bearer(MCP), JSON, ("x-environment", "PRODUCTION")],
        EVENT,
        400,
        "invalid_request",
    ),
    "a key in the head": (
        "/events",
        [bearer(INGEST), JSON, ("idempotency-key", "k")],
        EVENT,
        202,
        None,
    ),
    "an empty key in the head": (
        "/events",
        [bearer(INGEST), JSON, ("idempotency-key", "")],
        EVENT,
        400,
        "invalid_request",
    ),
    "a key in the head of a batch": (
        "/events/batch",
        [bearer(INGEST), JSON, ("idempotency-key", "k")],
        EVENT,
        400,
        "invalid_request",
    ),
    "no credential": ("/events", [JSON], EVENT, 401, "unauthorized"),
    "unknown credential": ("/events", [bearer(b"ang_dev_no"), JSON], EVENT, 401, "unauthorized"),
    "basic credential": (
        "/events",
        [("authorization", "Basic " + INGEST.decode()), JSON],
        EVENT,
        401,
        "unauthorized",
    ),
    "read scope": ("/events", [bearer(READ), JSON], EVENT, 403, "forbidden"),
    "401 before 415": ("/events", [], EVENT, 401, "unauthorized"),
    "no content-type": ("/events", [bearer(INGEST)], EVENT, 415, "unsupported_media_type"),
    "text": (
        "/events",
        [bearer(INGEST), ("content-type", "text/plain")],
        EVENT,
        415,
        "unsupported_media_type",
    ),
    "type with parameters": (
        "/events",
        [bearer(INGEST), ("content-type", "Application/JSON; charset=utf-8")],
        EVENT,
        202,
        None,
    ),
    "encoded": (
        "/events",
        [bearer(INGEST), JSON, ("content-encoding", "gzip")],
        EVENT,
        415,
        "unsupported_media_type",
    ),
    "403 before 415": (
        "/events?environment=STAGING",
        [bearer(INGEST)],
        EVENT,
        403,
        "forbidden",
    ),
    "largest event": ("/events", [bearer(INGEST), JSON], b"x" * EVENT_BYTES, 202, None),
    "event too large": (
        "/events",
        [bearer(INGEST), JSON],
        b"x" * (EVENT_BYTES + 1),
        413,
        "payload_too_large",
    ),
    "largest batch": ("/events/batch", [bearer(INGEST), JSON], b"x" * BATCH_BYTES, 202, None),
    "batch too large": (
        "/events/batch",
        [bearer(INGEST), JSON],
        b"x" * (BATCH_BYTES + 1),
        413,
        "payload_too_large",
    ),
    "415 before 413": (
        "/events",
        [bearer(INGEST)],
        b"x" * (EVENT_BYTES + 1),
        415,
        "unsupported_media_type",
    ),
    "empty body": ("/events", [bearer(INGEST), JSON], b"", 202, None),
}


@pytest.mark.parametrize("case", CASES)
async def test_all_lanes_answer_alike(case: str) -> None:
    path, fields, body, status, code = CASES[case]
    answers = []
    async with open_house() as house:
        for lane in LANES:
            house.ingest.bodies.clear()
            answer = await lane(house, path, [*fields, ID], body)
            assert answer.status == status, lane
            challenge = answer.headers.get("www-authenticate")
            assert challenge == ("Bearer" if status == 401 else None), lane
            assert house.ingest.bodies == ([body] if status == 202 else [])
            answers.append(_comparable(answer))
            if code is not None:
                assert f'"code":"{code}"'.encode() in answer.body
                assert b'"requestId":"the.request:id-1"' in answer.body
    assert all(answer == answers[0] for answer in answers), answers


def _comparable(answer: Response) -> tuple[int, dict[str, str], bytes]:
    headers = {k: v for k, v in answer.headers.items() if k not in VARYING | {"connection"}}
    assert {"x-ratelimit-limit", "x-request-id", "content-type", "content-length"} <= set(headers)
    assert set(answer.headers) >= VARYING
    return answer.status, headers, answer.body


REPLIES = [
    Reply(202, b'{"id":"a"}'),
    Reply(503, b"", "overloaded", "later", (), 1),
    Reply(500, b"", "internal", "unknown"),
    Reply(400, b"", "invalid_request", "no", (Detail("payload", "must be an object"),)),
    Reply(400, b"", "invalid_request", "lone \ud800 surrogate"),
]


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: reply.message or "accepted")
async def test_all_lanes_write_a_reply_alike(reply: Reply) -> None:
    async with open_house() as house:
        house.ingest.reply = reply
        answers = [
            _comparable(await lane(house, "/events", [bearer(INGEST), JSON, ID], EVENT))
            for lane in LANES
        ]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == reply.status
    assert answers[0][1].get("retry-after") == (
        str(reply.retry_after_s) if reply.retry_after_s else None
    )


@pytest.mark.parametrize("lane", LANES)
async def test_a_used_up_rate_is_a_429_with_retry_after(lane: Callable[..., Any]) -> None:
    async with open_house(ingest_limit=2) as house:
        fields = [bearer(INGEST), JSON]
        left = []
        for _ in range(2):
            answer = await lane(house, "/events", fields, EVENT)
            assert answer.status == 202
            left.append(answer.headers["x-ratelimit-remaining"])
        assert left == ["1", "0"]
        refused = await lane(house, "/events", [bearer(INGEST)], EVENT)
        assert refused.status == 429  # the limit comes before the 415
        wait = int(refused.headers["x-ratelimit-reset"]) - int(house.now)
        assert refused.headers["retry-after"] == str(wait)
        assert str(wait).encode() in refused.body
        other = await lane(house, "/events", [bearer(OTHER), JSON], EVENT)
        assert other.status == 202
        house.now += 60
        assert (await lane(house, "/events", fields, EVENT)).status == 202


@pytest.mark.parametrize("lane", LANES)
async def test_the_environment_of_the_key_or_the_one_named_is_used(
    lane: Callable[..., Any],
) -> None:
    async with open_house() as house:
        await lane(house, "/events", [bearer(INGEST), JSON], EVENT)
        await lane(house, "/events?environment=STAGING", [bearer(MCP), JSON], EVENT)
        assert house.ingest.environments == [Environment.DEVELOPMENT, Environment.STAGING]


@pytest.mark.parametrize("lane", LANES)
async def test_a_workspace_that_used_up_its_bytes_gets_503_and_others_go_on(
    lane: Callable[..., Any],
) -> None:
    bodies = BodyBudget(total=1000, per_workspace=600)
    async with open_house(bodies=bodies) as house:
        house.ingest.hold = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lane, house, "/events", [bearer(INGEST), JSON], b"x" * 500)
            await house.ingest.wait_waiting()
            assert bodies.drawn == 500
            refused = await lane(house, "/events", [bearer(INGEST), JSON], b"x" * 101)
            assert refused.status == 503
            assert refused.headers["retry-after"] == "1"
            assert b'"code":"overloaded"' in refused.body
            house.ingest.hold = False
            other = await lane(house, "/events", [bearer(OTHER), JSON], b"x" * 101)
            assert other.status == 202
            house.ingest.answer()
        assert bodies.drawn == 0


@pytest.mark.parametrize("lane", LANES)
async def test_request_ids_of_clients_are_kept_where_sane(lane: Callable[..., Any]) -> None:
    async with open_house() as house:
        for given, kept in (("a" * 128, True), ("a" * 129, False), ("a b", False), ("ä", False)):
            fields = [bearer(INGEST), JSON, ("x-request-id", given)]
            answer = await lane(house, "/events", fields, EVENT)
            assert (answer.headers["x-request-id"] == given) is kept
            assert 1 <= len(answer.headers["x-request-id"]) <= 128
