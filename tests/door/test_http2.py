"""HTTP/2 over plain TCP by its preface and over TLS by ALPN."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import h2.errors
import h2.settings
import pytest
import trio
import trio.testing
import trustme
from trio.testing import MockClock

from api.budget import BodyBudget
from api.door.framing import PREFACE
from api.door.http2_protocol import STREAM_WINDOW
from api.door.tls import CertificateError
from tests.door.house import (
    EVENT,
    INGEST,
    LATE_S,
    QUICK,
    App,
    Client,
    House,
    open_house,
    post,
    running,
)
from tests.door.http2_client import Http2Client, dial
from tests.door.test_http2_floods import FLOODS, MANY, flooded_by
from tests.door.test_http2_smuggling import SETTING, frame
from tests.patience import HANGS_S, until_blocked

GOODBYE = b"\0\0\x08\7" + bytes(13)  # GOAWAY without an error
HEADERS = [("authorization", "Bearer " + INGEST.decode()), ("content-type", "application/json")]


async def test_prior_knowledge_and_many_requests_on_one_connection() -> None:
    async with open_house() as house:
        client = await dial(house)
        for _ in range(30):
            assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202
        assert (await client.ask("GET", "/unknown", [])).status == 404
        assert (await client.ask("HEAD", "/unknown", [])).body == b""
        assert house.door.statistics().http2_connections == 1
        assert house.door.statistics().accepted == 1


async def test_the_preface_in_pieces() -> None:
    async with open_house() as house:
        for at in (1, 3, 14, 18, 20, 23):
            stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
            house.streams.append(stream)
            client = Http2Client(stream)
            client.h2.initiate_connection()
            data = client.h2.data_to_send()
            assert data.startswith(PREFACE)
            await stream.send_all(data[:at])
            await trio.testing.wait_all_tasks_blocked(0.003)
            await stream.send_all(data[at:])
            assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202


async def test_a_preface_after_a_request_is_no_request() -> None:
    async with open_house() as house:
        client = await house.connect()
        await client.send(post() + PREFACE)
        assert (await client.response()).status == 202
        assert (await client.response()).status == 400
        assert await client.closed()


async def test_requests_interleave() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await dial(house)
        numbers = []
        for n in range(20):
            number = await client.open("POST", "/events", HEADERS, end=False)
            await client.send_body(number, b"%d" % n)
            numbers.append(number)
        await house.ingest.wait_waiting(20)
        house.ingest.answer()
        for number in reversed(numbers):
            assert (await client.response(number)).status == 202


async def test_an_early_answer_leaves_the_connection_alive() -> None:
    async with open_house() as house:
        client = await dial(house)
        other = await client.open("POST", "/events", HEADERS, end=False)
        for size in (1_000, 60_000):
            number = await client.open("POST", "/events", HEADERS[1:], end=False)
            assert (await client.response(number)).status == 401
            # After the answer the client still sends its body. The door reads and drops up to 64 KiB, and
            # the body is shorter.
            for at in range(0, size, 1_000):
                client.h2.send_data(number, b"x" * 1_000, end_stream=at + 1_000 == size)
                await client.flush()
        await client.send_body(other, EVENT)
        assert (await client.response(other)).status == 202


async def test_a_long_body_that_was_answered_early_has_its_stream_reset_alone() -> None:
    async with open_house(limits=replace(QUICK, http2_drain_bytes=64 * 1024)) as house:
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS[1:], end=False)
        assert (await client.response(number)).status == 401
        sent = 0
        with trio.fail_after(HANGS_S):
            while number not in client.reset:
                window = client.h2.local_flow_control_window(number)
                if window >= 1_000:
                    client.h2.send_data(number, b"x" * 1_000)
                    await client.flush()
                    sent += 1_000
                    with trio.move_on_after(0.0005):
                        await client.pump()
                else:
                    await client.pump()
        assert client.reset[number] == h2.errors.ErrorCodes.NO_ERROR
        assert 60_000 < sent < 400_000
        assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("CONNECT", "/x", []),
        ("GET", "relative", []),
        ("GET", "/a b", []),
        ("GET", "/a#b", []),
        ("POST", "/events", [*HEADERS, HEADERS[0]]),
        ("GET", "/", [(f"x-{n}", "y") for n in range(120)]),
        ("GET", "/", [("host", "a..b")]),
    ],
)
async def test_requests_that_http_1_would_refuse_are_reset(
    method: str, path: str, headers: list[tuple[str, str]]
) -> None:
    async with open_house() as house:
        client = await dial(house)
        client.h2.config.validate_outbound_headers = False
        client.h2.config.normalize_outbound_headers = False
        number = await client.open(method, path, headers, end=True)
        while number not in client.reset and not client.ended:
            await client.pump()
        other = await dial(house)
        assert (await other.ask("POST", "/events", HEADERS, EVENT)).status == 202
        assert len(house.ingest.bodies) == 1


async def test_garbage_frames_end_the_connection_alone() -> None:
    async with open_house() as house:
        client = await house.connect()
        await client.send(PREFACE + b"\0\0\1\4\0\0\0\0\0x")  # settings of one byte
        await client.rest()
        client = await house.connect()  # a frame of 16 MiB, which the door does not await
        await client.send(PREFACE + b"\xff" * 100_000)
        with contextlib.suppress(trio.BrokenResourceError):
            await client.rest()
        other = await dial(house)
        assert (await other.ask("POST", "/events", HEADERS, EVENT)).status == 202


async def test_a_flood_of_resets_ends_the_connection() -> None:
    async with open_house() as house:
        client = await dial(house)
        with trio.fail_after(HANGS_S):
            try:
                for _ in range(1_000):
                    number = await client.open("POST", "/events", HEADERS, end=False)
                    client.h2.reset_stream(number)
                    await client.flush()
            except trio.BrokenResourceError:
                pass
            while not client.ended:
                try:
                    await client.pump()
                except trio.BrokenResourceError:
                    break
        other = await dial(house)
        assert (await other.ask("POST", "/events", HEADERS, EVENT)).status == 202
        while house.door.statistics().http2_connections > 1:  # noqa: ASYNC110 - real sockets
            await trio.sleep(0.005)


async def test_resets_are_forgiven_over_time() -> None:
    # The credit for resets returns at once.
    limits = replace(QUICK, http2_resets=3, http2_resets_a_second=1e12)
    async with open_house(limits=limits) as house:
        client = await dial(house)
        for _ in range(20):
            number = await client.open("POST", "/events", HEADERS, end=False)
            client.h2.reset_stream(number)
            await client.flush()
        assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202


async def test_resets_at_any_point_leave_nothing_behind() -> None:
    async with open_house() as house:
        recorder = Http2Client(trio.testing.memory_stream_pair()[0])
        recorder.h2.initiate_connection()
        number = recorder.h2.get_next_available_stream_id()
        recorder.h2.send_headers(
            number,
            [
                (":method", "POST"),
                (":path", "/events"),
                (":scheme", "http"),
                (":authority", "a"),
                *HEADERS,
            ],
        )
        recorder.h2.send_data(number, EVENT, end_stream=True)
        data = recorder.h2.data_to_send()
        for at in range(0, len(data), 7):
            client = await house.connect()
            await client.send(data[:at])
            if at % 2:
                await trio.testing.wait_all_tasks_blocked(0.001)
            await client.reset()
        await house.settled()


async def test_idle_connections_are_closed(mock_clock: MockClock) -> None:
    async with open_house(limits=replace(QUICK, idle_s=0.1)) as house:
        client = await dial(house)
        assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202
        await client.read_all_sent()
        mock_clock.jump(0.1)
        while not client.ended:
            await client.pump()


async def test_a_slow_body_is_a_408() -> None:
    async with open_house(limits=replace(QUICK, body_s=0.1)) as house:
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        await client.send_body(number, b"{", end=False)
        answer = await client.response(number)
        assert answer.status == 408
        assert b'"code":"request_timeout"' in answer.body
        assert house.bodies.drawn == 0


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError("no lifespan here")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(2_000):
            await send({"type": "http.response.body", "body": b"x" * 50_000, "more_body": True})

    async with open_house(app=app, limits=replace(QUICK, write_s=0.1, idle_s=5)) as house:
        client = await dial(house)
        client.h2.increment_flow_control_window(2**31 - 1 - 65_535)
        client.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1})
        await client.flush()
        await client.open("GET", "/", [], end=True)
        await house.settled()


def bare(answer: Callable[[Any, Any], Awaitable[None]]) -> App:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError("no lifespan here")
        await answer(receive, send)

    return app


START = {"type": "http.response.start", "status": 200, "headers": []}


async def test_an_exception_is_a_500_with_all_headers() -> None:
    async def fail(receive: Any, send: Any) -> None:
        raise ZeroDivisionError

    house = House(app=bare(fail))
    async with running(house):
        client = await dial(house)
        for _ in range(2):
            answer = await client.ask("GET", "/", [("x-request-id", "mine")])
            assert answer.status == 500
            assert b'"code":"internal"' in answer.body
            assert answer.headers["x-request-id"] == "mine"
            assert "x-ratelimit-limit" in answer.headers
    assert [type(error) for error in house.errors] == [ZeroDivisionError] * 2


async def test_a_fault_in_ingest_is_a_500_and_no_bytes_of_the_budget() -> None:
    house = House()
    house.ingest.fault = ZeroDivisionError()
    async with running(house):
        client = await dial(house)
        assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 500
        assert house.bodies.drawn == 0


async def test_a_client_that_leaves_while_its_body_waits_gives_the_bytes_back_afterwards() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        await client.send_body(number, EVENT)
        await house.ingest.wait_waiting()
        await client.stream.aclose()
        await house.settled()
        assert house.bodies.drawn == len(EVENT)
        house.ingest.answer()
        assert house.bodies.drawn == 0


async def test_an_answer_that_breaks_off_has_its_stream_reset_alone() -> None:
    async def fail(receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        raise ZeroDivisionError

    house = House(app=bare(fail))
    async with running(house):
        client = await dial(house)
        for _ in range(2):
            number = await client.open("GET", "/", [], end=True)
            while number not in client.reset:
                await client.pump()
    assert len(house.errors) == 2


async def test_a_slow_body_of_any_route_is_a_408(mock_clock: MockClock) -> None:
    async def read(receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send(START)
        mock_clock.jump(0.2)  # longer than the deadline, which no longer applies after the body
        await trio.testing.wait_all_tasks_blocked(0.01)
        await send({"type": "http.response.body", "body": b"read"})

    async with open_house(app=bare(read), limits=replace(QUICK, body_s=0.1)) as house:
        client = await dial(house)
        number = await client.open("POST", "/other", [], end=False)
        await client.send_body(number, b"{", end=False)
        await client.read_all_sent()
        await trio.testing.wait_all_tasks_blocked(0.01)  # the application waits for the rest
        mock_clock.jump(0.1)
        answer = await client.response(number)
        assert answer.status == 408
        assert b'"code":"request_timeout"' in answer.body
        assert (await client.ask("POST", "/other", [], b"{}")).body == b"read"


async def test_bodies_of_other_routes_are_bounded_together() -> None:
    async def keep(receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    bodies = BodyBudget(10_000, 5_000)
    async with open_house(app=bare(keep), bodies=bodies) as house:
        client = await dial(house)
        answer = await client.ask("POST", "/other", [], b"x" * 6_000)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        await client.stream.aclose()
        await house.settled()


async def test_a_client_that_gives_no_window_is_cut_off_alone(mock_clock: MockClock) -> None:
    async def much(receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"x" * 500_000})

    async with open_house(app=bare(much), limits=replace(QUICK, write_s=5)) as house:
        client = await dial(house)
        client.acknowledge = False
        number = await client.open("GET", "/", [], end=True)
        while len(client._bodies.get(number, b"")) < STREAM_WINDOW:
            await client.pump()
        mock_clock.jump(5.1)  # afterwards the clock stands still
        while number not in client.reset:
            await client.pump()
        client.acknowledge = True
        client.h2.increment_flow_control_window(2**20)
        assert (await client.ask("GET", "/", [])).body == b"x" * 500_000


async def test_draining_says_goodbye_and_finishes_what_is_under_way() -> None:
    # No deadline of the door (`linger_s`, and the argument of `drain`) passes before the clients have
    # read everything.
    async with open_house(limits=replace(QUICK, linger_s=LATE_S)) as house:
        house.ingest.hold = True
        idle, busy = await dial(house), await dial(house)
        assert (await idle.ask("GET", "/unknown", [])).status == 404
        number = await busy.open("POST", "/events", HEADERS, end=False)
        await busy.send_body(number, EVENT)
        await house.ingest.wait_waiting()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.door.drain, trio.current_time() + LATE_S)
            while not idle.ended:
                await idle.pump()
            assert idle.goaway == h2.errors.ErrorCodes.NO_ERROR
            await idle.stream.aclose()
            house.ingest.answer()
            assert (await busy.response(number)).status == 202
            while not busy.ended:
                await busy.pump()
            await busy.stream.aclose()


async def test_a_drain_says_goodbye_once_a_handler_that_outlives_its_answer_has_ended() -> None:
    go_on = trio.Event()

    async def answer(receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"answer"})
        await go_on.wait()

    async with open_house(app=bare(answer)) as house, trio.open_nursery() as nursery:
        client = await dial(house)
        assert (await client.ask("GET", "/", [])).body == b"answer"
        nursery.start_soon(house.door.drain, trio.current_time() + LATE_S)
        await trio.testing.wait_all_tasks_blocked(0.005)
        go_on.set()
        while not client.ended:
            await client.pump()
        assert client.goaway == h2.errors.ErrorCodes.NO_ERROR
        await client.stream.aclose()


async def test_a_client_that_says_goodbye_has_its_answers_first() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        await client.send_body(number, EVENT)
        await house.ingest.wait_waiting()
        await client.stream.send_all(GOODBYE)
        await client.read_all_sent()
        house.ingest.answer()
        assert (await client.response(number)).status == 202
        while not client.ended:
            await client.pump()
        assert client.goaway == h2.errors.ErrorCodes.NO_ERROR


async def test_draining_ends_by_force(mock_clock: MockClock) -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        await client.send_body(number, EVENT)
        await house.ingest.wait_waiting()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.door.drain, trio.current_time() + 1)
            await trio.testing.wait_all_tasks_blocked(0.01)
            await until_blocked(lambda: house.door.statistics().http2_connections == 1)
            mock_clock.jump(1)  # afterwards the clock stands still
        assert house.door.statistics().http2_connections == 0
        house.ingest.answer()


# --- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(
    authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    issued = authority.issue_cert("localhost")
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "chain.pem", folder / "key.pem"
    for blob in issued.cert_chain_pems:
        blob.write_to_path(str(chain), append=True)
    issued.private_key_pem.write_to_path(str(key))
    return chain, key


@asynccontextmanager
async def dial_tls(
    house: House, authority: trustme.CA, *protocols: str
) -> AsyncIterator[trio.SSLStream[trio.SocketStream]]:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    plain = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(plain)
    stream = trio.SSLStream(plain, context, server_hostname="localhost", https_compatible=True)
    await stream.do_handshake()
    yield stream


async def test_tls_speaks_http_1_to_those_who_do(
    authority: trustme.CA, certificate: tuple[Path, Path]
) -> None:
    async with open_house(tls=certificate) as house:
        for protocols in ((), ("http/1.1",), ("spdy/3",)):
            async with dial_tls(house, authority, *protocols) as stream:
                client = Client(stream)
                for _ in range(3):
                    await client.send(post())
                    assert (await client.response()).status == 202
                await client.send(post(b"/events/batch", b"x" * 3_000_000))
                assert (await client.response()).status == 202
                await client.send(post(b"/unknown"))
                assert (await client.response()).status == 404
                await client.send(post(b"/events", EVENT, INGEST, b"Connection: close"))
                assert (await client.response()).status == 202
                assert await client.closed()


async def test_tls_speaks_http_2_by_alpn(
    authority: trustme.CA, certificate: tuple[Path, Path]
) -> None:
    async with (
        open_house(tls=certificate) as house,
        dial_tls(house, authority, "h2", "http/1.1") as stream,
    ):
        assert stream.selected_alpn_protocol() == "h2"
        client = Http2Client(stream)
        await client.start()
        for _ in range(3):
            assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202
        big = await client.ask("POST", "/events/batch", HEADERS, b"x" * 3_000_000)
        assert big.status == 202


@pytest.mark.parametrize("case", ["PING", "empty DATA", "CONTINUATION"])
async def test_a_flood_through_tls_is_ended_like_any_other(
    case: str, authority: trustme.CA, certificate: tuple[Path, Path]
) -> None:
    began, again = FLOODS[case]
    opening = PREFACE + frame(SETTING, 0, 0) + began
    async with open_house(tls=certificate) as house:
        async with dial_tls(house, authority, "h2") as stream:
            await flooded_by(stream, opening + again * MANY)
        async with dial_tls(house, authority, "h2") as stream:
            client = Http2Client(stream)
            await client.start()
            assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202


async def test_a_large_answer_over_tls_waits_for_its_reader(
    authority: trustme.CA, certificate: tuple[Path, Path]
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError("no lifespan here")
        assert scope["scheme"] == "https"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async with open_house(app=app, tls=certificate) as house, dial_tls(house, authority) as stream:
        client = Client(stream)
        await client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await trio.sleep(0.05)
        assert (await client.response()).body == b"x" * 10_000_000


async def test_failed_handshakes_cost_nobody_else(
    authority: trustme.CA, certificate: tuple[Path, Path], mock_clock: MockClock
) -> None:
    async with open_house(tls=certificate, limits=replace(QUICK, head_s=0.2)) as house:
        plain, silent = await house.connect(), await house.connect()
        await plain.send(post())
        assert b"HTTP" not in await plain.rest()
        with pytest.raises(trio.BrokenResourceError):
            async with dial_tls(house, trustme.CA()):
                pass
        mock_clock.jump(0.2)
        assert await silent.closed()
        async with dial_tls(house, authority) as stream:
            client = Client(stream)
            await client.send(post())
            assert (await client.response()).status == 202


def test_a_certificate_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("nonsense")
    for name in ("bad.pem", "missing.pem"):
        with pytest.raises(CertificateError, match="cannot be used"):
            House(tls=(tmp_path / name, tmp_path / name))


async def test_beyond_the_limit_the_idle_longest_are_closed_of_http2_too() -> None:
    async with open_house(limits=replace(QUICK, connections=4)) as house:
        idle = [await dial(house) for _ in range(3)]
        for client in idle:
            assert (await client.ask("POST", "/events", HEADERS, EVENT)).status == 202
        house.ingest.hold = True
        busy = await dial(house)
        number = await busy.open("POST", "/events", HEADERS, end=False)
        await busy.send_body(number, EVENT)
        await house.ingest.wait_waiting(1)
        late = await dial(house)
        with trio.fail_after(HANGS_S):
            while not idle[0].ended:
                await idle[0].pump()
        house.ingest.hold = False
        assert (await late.ask("POST", "/events", HEADERS, EVENT)).status == 202
        house.ingest.answer()
        assert (await busy.response(number)).status == 202
        statistics = house.door.statistics()
        assert (statistics.evicted, statistics.turned_away) == (1, 0)
