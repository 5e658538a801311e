"""Requests passed to an application: bare ASGI, and the real framework."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest
import trio
import trio.testing
from quart import Response as QuartResponse
from quart import request
from quart_trio import QuartTrio

from api.budget import BodyBudget
from api.door.exchange import BrokenAnswerError
from tests.door.house import QUICK, App, House, open_house, post, running

START = {"type": "http.response.start", "status": 200, "headers": [(b"X-A", b"b")]}


def only_http(app: App) -> App:
    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError("no lifespan here")
        await app(scope, receive, send)

    return guarded


def get(
    path: bytes = b"/", *fields: bytes, method: bytes = b"GET", version: bytes = b"1.1"
) -> bytes:
    return (
        b"\r\n".join([method + b" " + path + b" HTTP/" + version, b"Host: a", *fields])
        + b"\r\n\r\n"
    )


def body(data: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def test_the_scope_says_what_was_asked_and_by_whom() -> None:
    scopes: list[dict[str, Any]] = []

    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        await send(START)
        await send(body(b"hi"))

    async with open_house(app=app) as house:
        client = await house.connect()
        await client.send(get(b"/a%20b/%C3%A4?q=%20", b"X-Request-Id: my-id", b"Accept: */*"))
        answer = await client.response()
        assert (answer.status, answer.body, answer.headers["x-a"]) == (200, b"hi", "b")
        assert answer.headers["content-length"] == "2"
        assert "date" in answer.headers
        (scope,) = scopes
        assert isinstance(client.stream, trio.SocketStream)
        assert scope["client"] == client.stream.socket.getsockname()
        assert scope["server"] == house.door.address
        assert scope["path"] == "/a b/ä"
        assert scope["raw_path"] == b"/a%20b/%C3%A4"
        assert scope["query_string"] == b"q=%20"
        assert scope["state"] == {"request_id": "my-id"}
        assert (scope["method"], scope["scheme"], scope["http_version"]) == ("GET", "http", "1.1")
        assert (b"accept", b"*/*") in scope["headers"]


@pytest.mark.parametrize(
    ("asked", "headers", "parts", "framing", "got"),
    [
        (get(), [], [b"a", b"", b"bc"], {"transfer-encoding": "chunked"}, b"abc"),
        (get(), [(b"content-length", b"3")], [b"a", b"bc"], {"content-length": "3"}, b"abc"),
        (get(), [], [b"abc"], {"content-length": "3"}, b"abc"),
        (get(), [], [b""], {"content-length": "0"}, b""),
        (get(), [(b"Transfer-Encoding", b"chunked")], [b"abc"], {"content-length": "3"}, b"abc"),
        (get(version=b"1.0"), [], [b"a", b"bc"], {"connection": "close"}, b"abc"),
        (get(), [(b"connection", b"close")], [b"abc"], {"connection": "close"}, b"abc"),
        (get(), [], [b"x" * 300_000, b"y"], {}, b"x" * 300_000 + b"y"),
    ],
)
async def test_answers_are_framed(
    asked: bytes,
    headers: list[tuple[bytes, bytes]],
    parts: list[bytes],
    framing: dict[str, str],
    got: bytes,
) -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in parts[:-1]:
            await send(body(part, more=True))
        await send(body(parts[-1]))

    async with open_house(app=app) as house:
        client = await house.connect()
        await client.send(asked)
        answer = await client.response()
        assert answer.body == got
        assert framing.items() <= answer.headers.items()
        assert not {"content-length", "transfer-encoding"} <= set(answer.headers)
        if answer.headers.get("connection") == "close":
            assert await client.closed()
        else:
            await client.send(asked)
            assert (await client.response()).body == got


@pytest.mark.parametrize(("method", "status"), [(b"HEAD", 200), (b"GET", 204), (b"GET", 304)])
async def test_answers_without_a_body_have_none(method: bytes, status: int) -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"5")] if status != 204 else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(body(b"12345"))

    async with open_house(app=app) as house:
        client = await house.connect()
        for _ in range(2):
            await client.send(get(method=method))
            answer = await client.response(head_only=True)
            assert answer.status == status
            assert answer.headers.get("content-length") == ("5" if status == 200 else None)
            assert "transfer-encoding" not in answer.headers


async def test_a_request_body_streams_with_backpressure() -> None:
    total = 20_000_000
    gate = trio.Event()
    seen: list[int] = []

    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await gate.wait()
        more = True
        while more:
            message = await receive()
            assert len(message["body"]) <= 2 * 65_536
            seen.append(len(message["body"]))
            more = message["more_body"]
        await send(START)
        await send(body(b"done"))

    async with open_house(app=app) as house:
        client = await house.connect()
        async with trio.open_nursery() as nursery:

            async def upload() -> None:
                await client.send(post(b"/x", b"", length=total))
                for _ in range(total // 100_000):
                    await client.send(b"x" * 100_000)

            nursery.start_soon(upload)
            await trio.sleep(0.1)
            assert house.bodies.drawn <= 2 * 65_536
            gate.set()
            # The budget still counts the bytes that the application has received. It counts them until
            # the application has the whole body.
            answer = await client.response()
        assert answer.body == b"done"
        assert sum(seen) == total
        assert house.bodies.drawn == 0


async def test_bodies_of_passed_requests_are_bounded_together() -> None:
    async with open_house(bodies=BodyBudget(10_000, 5_000), app=never_answers()) as house:
        client = await house.connect()
        await client.send(post(b"/x", b"y" * 6_000))
        answer = await client.response()
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")


def never_answers() -> App:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return app


async def test_a_passed_request_is_invited_to_send_when_the_application_reads() -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        read = (await receive())["body"] if scope["path"] == "/read" else b"unread"
        await send(START)
        await send(body(read))

    async with open_house(app=app) as house:
        client = await house.connect()
        expect = (b"Expect: 100-continue", b"Content-Length: 2")
        await client.send(get(b"/read", *expect, method=b"POST"))
        assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        await client.send(b"ab")
        assert (await client.response()).body == b"ab"
        await client.send(get(b"/leave", *expect, method=b"POST"))
        answer = await client.response()
        assert (answer.body, answer.headers["connection"]) == (b"unread", "close")
        assert await client.closed()


async def test_a_slow_body_of_a_passed_request_is_a_408() -> None:
    async with open_house(app=never_answers(), limits=replace(QUICK, body_s=0.1)) as house:
        client = await house.connect()
        await client.send(post(b"/x", b"y", length=2))
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        await house.settled()


async def test_malformed_chunks_of_a_passed_request_are_a_400() -> None:
    async with open_house(app=never_answers()) as house:
        client = await house.connect()
        await client.send(get(b"/x", b"Transfer-Encoding: chunked", method=b"POST") + b"2\r\nab")
        await trio.testing.wait_all_tasks_blocked(0.005)
        await client.send(b"xx")
        assert (await client.response()).status == 400
        assert await client.closed()


async def test_an_exception_is_a_500_with_all_headers_and_the_connection_lives() -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/early":
            raise ZeroDivisionError
        await send(START)
        raise ZeroDivisionError  # before the answer's first byte

    house = House(app=app)
    async with running(house):
        client = await house.connect()
        for path in (b"/early", b"/late"):
            await client.send(get(path))
            answer = await client.response()
            assert answer.status == 500
            assert b'"code":"internal"' in answer.body
            assert {"x-request-id", "x-ratelimit-reset"} <= set(answer.headers)
        await client.send(get(b"/early", method=b"HEAD"))
        assert (await client.response(head_only=True)).status == 500
    assert [type(error) for error in house.errors] == [ZeroDivisionError] * 3


BROKEN: dict[str, list[dict[str, Any]]] = {
    "ends without a word": [],
    "ends after the start": [START],
    "body first": [body(b"x")],
    "started twice": [START, START],
    "unknown message": [START, {"type": "http.response.nonsense"}],
    "header with a line feed": [
        {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b\r\nc: d")]},
        body(b"x"),
    ],
    "header name with a space": [
        {"type": "http.response.start", "status": 200, "headers": [(b"a b", b"c")]},
        body(b"x"),
    ],
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_application_is_a_500(case: str) -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in BROKEN[case]:
            await send(message)

    house = House(app=app)
    async with running(house):
        assert (await house.ask(get())).status == 500
    assert [type(error) for error in house.errors] == [BrokenAnswerError]


@pytest.mark.parametrize("length", [None, b"10"])
async def test_an_answer_that_breaks_off_ends_the_connection_unfinished(
    length: bytes | None,
) -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [] if length is None else [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(body(b"12345", more=True))
        raise ZeroDivisionError

    house = House(app=app)
    async with running(house):
        client = await house.connect()
        await client.send(get())
        with pytest.raises(EOFError):
            await client.response()
    assert [type(error) for error in house.errors] == [ZeroDivisionError]


async def test_a_client_that_resets_is_a_disconnect_for_receive_and_send() -> None:
    told: list[str] = []
    asked = trio.Event()

    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        asked.set()
        told.append((await receive())["type"])
        try:
            await send(START)
        except OSError as error:
            told.append(type(error).__name__)

    async with open_house(app=app) as house:
        client = await house.connect()
        await client.send(get())
        await asked.wait()
        await client.reset()
        await house.settled()
        assert told == ["http.disconnect", "BrokenPipeError"]


async def test_a_stream_nobody_reads_ends_at_the_write_deadline() -> None:
    ended: list[str] = []

    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        try:
            while True:
                await send(body(b"x" * 100_000, more=True))
        finally:
            ended.append("ended")

    async with open_house(app=app, limits=replace(QUICK, write_s=0.1)) as house:
        client = await house.connect()
        await client.send(get())
        await house.settled()
        assert ended == ["ended"]
        await client.stream.aclose()


async def test_a_stream_yields_to_others() -> None:
    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        while True:
            await send(body(b"x", more=True))

    async with open_house(app=app) as house:
        client, other = await house.connect(), await house.connect()
        async with trio.open_nursery() as nursery:

            async def read() -> None:
                while await client.stream.receive_some(1 << 16):
                    pass

            await client.send(get())
            nursery.start_soon(read)
            for _ in range(20):
                await other.send(post())
                assert (await other.response()).status == 202
            nursery.cancel_scope.cancel()


# --- the real framework


def framework() -> QuartTrio:
    app = QuartTrio("framework")
    app.config["MAX_CONTENT_LENGTH"] = 1_000_000

    @app.post("/echo")
    async def echo() -> bytes:
        return cast("bytes", await request.get_data())

    @app.get("/stream")
    async def stream() -> QuartResponse:
        async def parts() -> AsyncIterator[bytes]:
            for n in range(100):
                await trio.lowlevel.checkpoint()
                yield b"%d\n" % n

        return QuartResponse(parts(), content_type="text/plain")

    @app.get("/broken-stream")
    async def broken_stream() -> QuartResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"a"
            raise ZeroDivisionError

        return QuartResponse(parts())

    @app.get("/wait")
    async def wait() -> str:
        app.waiting.set()  # type: ignore[attr-defined]  # a test's own
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            app.cancelled.set()  # type: ignore[attr-defined]  # a test's own
            raise

    app.waiting, app.cancelled = trio.Event(), trio.Event()  # type: ignore[attr-defined]  # a test's own
    return app


async def test_the_framework_reads_streams_and_refuses() -> None:
    async with open_house(app=framework()) as house:
        client = await house.connect()
        await client.send(post(b"/echo", b"x" * 500_000))
        assert (await client.response()).body == b"x" * 500_000
        await client.send(get(b"/stream"))
        answer = await client.response()
        assert answer.body == b"".join(b"%d\n" % n for n in range(100))
        assert answer.headers["transfer-encoding"] == "chunked"
        await client.send(get(b"/stream", method=b"HEAD"))
        assert (await client.response(head_only=True)).status == 200
        await client.send(get(b"/echo"))
        assert (await client.response()).status == 405
        await client.send(post(b"/echo", b"x" * 1_000_001))
        assert (await client.response()).status == 413


async def test_the_framework_copes_with_every_host_that_is_let_in() -> None:
    async with open_house(app=framework()) as house:
        client = await house.connect()
        for host in (
            b"",
            b"a" * 63,
            b"a_b.c.:",
            b"[::1]:80",
            b"xn--a:0",
            b"-.-",
            b"[::1.2]",
            b":1",
        ):
            await client.send(b"POST /echo HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
            assert (await client.response()).status == 200, host


async def test_the_framework_cancels_a_handler_whose_client_reset() -> None:
    app = framework()
    async with open_house(app=app) as house:
        client = await house.connect()
        await client.send(get(b"/wait"))
        await app.waiting.wait()  # type: ignore[attr-defined]  # a test's own
        await client.reset()
        await app.cancelled.wait()  # type: ignore[attr-defined]  # a test's own
        await house.settled()


async def test_a_stream_of_the_framework_that_breaks_ends_unfinished() -> None:
    house = House(app=framework())
    async with running(house):
        client = await house.connect()
        await client.send(get(b"/broken-stream"))
        with pytest.raises(EOFError):
            await client.response()
    assert len(house.errors) == 1


async def test_force_ends_a_handler_that_does_not_end() -> None:
    app = framework()
    async with open_house(app=app) as house:
        client = await house.connect()
        await client.send(get(b"/wait"))
        await app.waiting.wait()  # type: ignore[attr-defined]  # a test's own
        await house.door.drain(trio.current_time() + 0.05)
        assert await client.closed()
        assert app.cancelled.is_set()  # type: ignore[attr-defined]  # a test's own


async def test_an_application_that_fails_to_start_fails_the_door() -> None:
    app = QuartTrio("failing")

    @app.before_serving
    async def fail() -> None:
        raise RuntimeError("not today")

    house = House(app=app)
    with pytest.raises(ExceptionGroup) as raised:
        await house.door.run()
    assert raised.group_contains(RuntimeError, match="not today")


async def test_a_door_that_is_cancelled_has_no_connection_left_when_its_requests_end() -> None:
    asked, left = trio.Event(), []

    @only_http
    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        try:
            await trio.sleep_forever()
        finally:
            for _ in range(5):  # other cancelled tasks have had a turn by then
                await trio.lowlevel.cancel_shielded_checkpoint()
            left.append(house.door.statistics().connections)

    house = House(app=app)
    async with running(house):
        await house.connect()
        client = await house.connect()
        await client.send(get())
        await asked.wait()
    assert left == [0]
    assert house.errors == []
