"""HTTP/1.1 connections over real sockets: framing in pieces, deadlines, and hostile clients."""

import socket
from dataclasses import replace

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from api.budget import BodyBudget
from engine.ingest.event_json import EVENT_BYTES
from engine.ingest.ingest import Reply
from engine.plans.plans import BUILT_IN
from tests.door.house import EVENT, INGEST, LATE_S, QUICK, House, open_house, post, running
from tests.patience import until, until_blocked
from tests.service.steps import counted_steps

CHUNKED = (
    b"POST /events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + INGEST + b"\r\n"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
DEADLINES = replace(QUICK, head_s=0.15, body_s=0.15, idle_s=0.15, write_s=0.15)


async def test_every_split_of_a_request_is_read_the_same() -> None:
    request = post(b"/events", b"{}")
    async with open_house() as house:
        client = await house.connect()
        assert isinstance(client.stream, trio.SocketStream)
        for at in range(1, len(request)):
            await client.send(request[:at])
            await trio.testing.wait_all_tasks_blocked(0.0005)
            await client.send(request[at:])
            assert (await client.response()).status == 202
        assert house.ingest.bodies == [b"{}"] * (len(request) - 1)
        assert house.door.statistics().accepted == 1


async def test_a_request_byte_by_byte() -> None:
    request = CHUNKED + b"2;x\r\n{}\r\n0\r\nA: b\r\n\r\n"
    async with open_house() as house:
        client = await house.connect()
        for at in range(len(request)):
            await client.send(request[at : at + 1])
            await trio.testing.wait_all_tasks_blocked(0.0002)
        assert (await client.response()).status == 202
        assert house.ingest.bodies == [b"{}"]


async def test_pipelined_requests_are_answered_one_at_a_time_in_order() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await house.connect()
        bodies = [b'{"n":%d}' % n for n in range(50)]
        await client.send(b"".join(post(b"/events", body) for body in bodies))
        for n in range(50):
            await house.ingest.wait_waiting()
            assert house.ingest.bodies == bodies[: n + 1]
            house.ingest.answer(Reply(202, bodies[n]))
            assert (await client.response()).body == bodies[n]


async def test_requests_that_differ_in_their_length_alone_are_each_judged_by_their_own() -> None:
    async with open_house(bodies=BodyBudget(1 << 20, 200)) as house:
        client = await house.connect()
        for size in (9, 10, 150, 9, 201, 150, 0):
            await client.send(post(body=b"x" * size))
            assert (await client.response()).status == (503 if size == 201 else 202)
        assert [len(body) for body in house.ingest.bodies] == [9, 10, 150, 9, 150, 0]
        request = post(body=b"y" * 120)  # in two pieces
        await client.send(request[:-60])
        await trio.testing.wait_all_tasks_blocked(0.001)
        await client.send(request[-60:] + post(body=b"z"))
        assert [(await client.response()).status for _ in range(2)] == [202, 202]
        assert [len(body) for body in house.ingest.bodies[-2:]] == [120, 1]
        await client.send(post(length=EVENT_BYTES + 1))
        answer = await client.response()
        assert answer.status == 413
        spent = BUILT_IN["scale"].ingest_per_minute - int(answer.headers["x-ratelimit-remaining"])
        assert spent == 10  # each request was counted once
        assert house.bodies.drawn == 0


async def test_pipelined_requests_of_all_kinds_keep_their_order() -> None:
    async with open_house() as house:
        client = await house.connect()
        await client.send(
            post()
            + CHUNKED
            + b"2\r\n{}\r\n0\r\n\r\n"
            + b"\r\n"  # an empty line between requests is ignored
            + post(b"/unknown")
            + post(key=None)
            + b"HEAD /unknown HTTP/1.1\r\nHost: a\r\n\r\n"
            + post(b"/events", b"last")
        )
        statuses = [(await client.response()).status for _ in range(4)]
        statuses.append((await client.response(head_only=True)).status)
        statuses.append((await client.response()).status)
        assert statuses == [202, 202, 404, 401, 404, 202]
        assert house.ingest.bodies[-1] == b"last"


async def test_nothing_is_read_while_a_request_is_answered() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await house.connect()
        await client.send(post())
        await house.ingest.wait_waiting()
        sent = 0
        with trio.move_on_after(0.5) as still:
            while True:
                await client.send(post() * 100)
                sent += 100
                still.deadline = trio.current_time() + 0.5
        assert sent * len(post()) > 100_000  # at least as much as the kernel's buffers hold
        passes = house.reactor.passes
        await trio.sleep(0.05)
        assert house.reactor.passes - passes < 3  # the reactor does not spin
        other = await house.connect()
        await other.send(post(key=None))
        assert (await other.response()).status == 401
        house.ingest.hold = False
        house.ingest.answer()
        for _ in range(sent):
            assert (await client.response()).status == 202


async def test_http_1_0() -> None:
    async with open_house() as house:
        client = await house.connect()
        await client.send(post(version=b"1.0").replace(b"Host: localhost\r\n", b""))
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (202, "close")
        assert await client.closed()
        client = await house.connect()
        kept = post(b"/events", EVENT, INGEST, b"Connection: keep-alive", version=b"1.0")
        for _ in range(3):
            await client.send(kept)
            answer = await client.response()
            assert (answer.status, answer.headers["connection"]) == (202, "keep-alive")


async def test_connection_close_is_kept() -> None:
    async with open_house() as house:
        client = await house.connect()
        await client.send(post(b"/events", EVENT, INGEST, b"Connection: close") + post())
        answer = await client.response()
        assert answer.headers["connection"] == "close"
        assert await client.closed()
        assert len(house.ingest.bodies) == 1
        await client.stream.aclose()
        await house.settled()


async def test_malformed_requests_get_400_and_the_connection_ends() -> None:
    async with open_house() as house:
        for request in (
            b"GARBAGE\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"GET / HTTP/1.1\nHost: a\n\n",
            b"GET / HTTP/1.1\r\nA: " + b"b" * 33_000,
            b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
            post(b"/events", EVENT, INGEST, b"Transfer-Encoding: chunked"),
            CHUNKED + b"zz\r\n",
            CHUNKED.replace(b"/events", b"/other") + b"zz\r\n",
        ):
            client = await house.connect()
            await client.send(request + post())
            answer = await client.response()
            assert answer.status == 400, request
            assert answer.headers["connection"] == "close"
            assert b'"code":"invalid_request"' in answer.body
            assert await client.closed()
        assert house.ingest.bodies == []


async def test_what_is_smuggled_behind_a_request_is_not_answered() -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    async with open_house() as house:
        for request in (
            post(b"/events", smuggled, INGEST, length=0).replace(
                b"Content-Length: 0\r\n", b"Content-Length: 0\r\nContent-Length: 40\r\n"
            ),
            CHUNKED.replace(b"chunked", b"xchunked") + b"0\r\n\r\n" + smuggled,
            CHUNKED.replace(b"chunked\r\n", b"chunked\r\nContent-Length: 4\r\n") + smuggled,
            CHUNKED + b"0\n\r\n" + smuggled,
            CHUNKED + b"0\r\nA: b\n\r\n\r\n" + smuggled,
        ):
            client = await house.connect()
            await client.send(request)
            assert (await client.response()).status == 400
            assert await client.closed()
        # Bytes within a body stay body, also after an Upgrade header or a GET.
        client = await house.connect()
        upgrade = (b"Connection: Upgrade", b"Upgrade: websocket")
        await client.send(post(b"/events", smuggled, INGEST, *upgrade) + post())
        assert (await client.response()).status == 202
        assert (await client.response()).status == 202
        assert house.ingest.bodies == [smuggled, EVENT]
        await client.send(
            b"GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(smuggled) + smuggled
        )
        assert (await client.response()).status == 404
        await client.send(post())
        assert (await client.response()).status == 202


async def test_100_continue_is_said_once_the_head_was_accepted() -> None:
    expect = b"Expect: 100-continue"
    async with open_house() as house:
        client = await house.connect()
        await client.send(post(b"/events", b"", INGEST, expect, length=len(EVENT)))
        assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        await client.send(EVENT)
        assert (await client.response()).status == 202
        # A refused request gets no 100 Continue. The client can still send the body of the refused
        # request, so the door closes the connection.
        await client.send(post(b"/events", b"", None, expect, length=len(EVENT)))
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (401, "close")
        assert await client.closed()
        # A client that has already sent its body gets no 100 either.
        client = await house.connect()
        await client.send(post(b"/events", EVENT, INGEST, expect))
        assert (await client.response()).status == 202


async def test_an_early_answer_drains_what_is_short_and_keeps_the_connection() -> None:
    async with open_house() as house:
        client = await house.connect()
        await client.send(post(b"/events", b"x" * 10, None, length=60_000))
        answer = await client.response()
        assert answer.status == 401
        assert "connection" not in answer.headers
        await client.send(b"x" * 59_990 + post())
        assert (await client.response()).status == 202


async def test_an_early_answer_to_a_long_body_ends_the_connection_and_is_read() -> None:
    async with open_house() as house:
        for request in (
            post(b"/events", b"", None, length=3_000_000),
            post(b"/events", b"", INGEST, length=3_000_000),
            CHUNKED,
        ):
            client = await house.connect()
            await client.send(request)
            try:
                for _ in range(60):
                    body = b"x" * 50_000
                    await client.send(b"c350\r\n%b\r\n" % body if request is CHUNKED else body)
            except trio.BrokenResourceError:
                pass
            answer = await client.response()
            assert answer.status in (401, 413)
            assert answer.headers["connection"] == "close"
        await house.settled()


async def test_a_slow_head_is_a_408(mock_clock: MockClock) -> None:
    async with open_house(limits=DEADLINES) as house:
        client = await house.connect()
        await client.send(b"GET / HT")
        await until_blocked(lambda: house.door.statistics().connections == 1)
        await trio.testing.wait_all_tasks_blocked(0.01)
        mock_clock.jump(DEADLINES.head_s - 0.01)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert house.door.statistics().connections == 1
        mock_clock.jump(0.01)
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert b'"code":"request_timeout"' in answer.body
        assert {"x-request-id", "x-ratelimit-limit"} <= set(answer.headers)
        assert await client.closed()


async def test_a_dripping_head_does_not_extend_its_deadline(mock_clock: MockClock) -> None:
    async with open_house(limits=DEADLINES) as house:
        client = await house.connect()
        await client.send(post())
        assert (await client.response()).status == 202
        drops = 0

        async def drip() -> None:
            nonlocal drops
            for byte in b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000:
                await client.send(bytes([byte]))
                drops += 1
                await trio.testing.wait_all_tasks_blocked(0.001)
                mock_clock.jump(0.02)

        with pytest.raises(trio.BrokenResourceError):
            await drip()
        assert drops < 50  # 50 drops take a second


@pytest.mark.parametrize("path", [b"/events", b"/other"])
async def test_a_slow_body_is_a_408(path: bytes, mock_clock: MockClock) -> None:
    async with open_house(limits=replace(QUICK, body_s=0.15)) as house:
        client = await house.connect()
        await client.send(post(path, b"{", length=2))
        if path == b"/other":  # the application answers without reading the body
            assert (await client.response()).status == 404
            await trio.testing.wait_all_tasks_blocked(0.01)
            mock_clock.jump(QUICK.linger_s)
            assert await client.closed()
            return
        await trio.testing.wait_all_tasks_blocked(0.01)
        mock_clock.jump(0.15)
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert await client.closed()
        assert house.bodies.drawn == 0


async def test_idle_connections_are_closed_without_a_word(mock_clock: MockClock) -> None:
    async with open_house(limits=DEADLINES) as house:
        silent, used = await house.connect(), await house.connect()
        await used.send(post())
        assert (await used.response()).status == 202
        mock_clock.jump(DEADLINES.idle_s)
        assert await silent.closed()
        assert await used.closed()


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    limits = replace(DEADLINES, idle_s=30, body_s=30, head_s=30)
    async with open_house(limits=limits) as house:
        house.ingest.reply = Reply(202, b"x" * 20_000_000)
        client = await house.connect()
        await client.send(post() * 3)
        await house.settled()
        assert house.bodies.drawn == 0


async def test_a_half_closed_client_is_answered_first() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await house.connect()
        await client.send(post() + post())
        assert isinstance(client.stream, trio.SocketStream)
        await client.stream.send_eof()
        for _ in range(2):
            await house.ingest.wait_waiting()
            house.ingest.answer()
            assert (await client.response()).status == 202
        assert await client.closed()
        client = await house.connect()
        await client.send(post(b"/unknown"))
        await client.stream.send_eof()  # type: ignore[attr-defined]  # a SocketStream, as above
        assert (await client.response()).status == 404
        assert await client.closed()


async def test_resets_at_any_point_leave_nothing_behind() -> None:
    for path in (b"/events", b"/unknown"):
        request = post(path) + CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"
        async with open_house() as house:
            for at in range(0, len(request), 3):
                client = await house.connect()
                await client.send(request[:at])
                if at % 2:
                    await trio.testing.wait_all_tasks_blocked(0.0005)
                await client.reset()
            await house.settled()


async def test_a_reset_while_the_body_waits_for_its_commit_gives_its_bytes_back_afterwards() -> (
    None
):
    async with open_house() as house:
        house.ingest.hold = True
        client = await house.connect()
        await client.send(post())
        await house.ingest.wait_waiting()
        # After this byte the door stops reading from the connection. The door must notice the reset
        # without reading.
        await client.send(b"x")
        await client.reset()
        other = await house.connect()
        await other.send(post(key=None))
        assert (await other.response()).status == 401
        assert house.bodies.drawn == len(EVENT)
        house.ingest.answer()
        assert house.bodies.drawn == 0
        await other.stream.aclose()
        await house.settled()


async def test_a_flood_of_slow_connections_does_not_slow_others() -> None:
    async with open_house() as house:
        client = await house.connect()

        async def work() -> tuple[int, int]:
            """Send ten requests. Return the number of passes that the reactor made for them, and the most
            Python lines that one step ran.
            """
            passes = house.reactor.passes
            with counted_steps() as steps:
                for _ in range(10):
                    await client.send(post())
                    assert (await client.response()).status == 202
            return house.reactor.passes - passes, steps.most

        await work()  # the first requests create objects that last
        alone = await work()
        slow = 200
        for _ in range(slow):
            await (await house.connect()).send(b"POST /events HTTP/1.1\r\nA: ")
        await until(lambda: house.door.statistics().connections == slow + 1)
        await trio.testing.wait_all_tasks_blocked(0.01)
        more = [beside - before for beside, before in zip(await work(), alone, strict=True)]
        assert max(more) < slow, "not a pass and not a line for each slow connection"


async def test_beyond_the_limit_the_idle_longest_are_closed_then_503() -> None:
    async with open_house(limits=replace(QUICK, connections=8)) as house:
        house.ingest.hold = True
        idle = [await house.connect() for _ in range(8)]
        for client in idle[1:]:
            await client.send(post(key=None))
            assert (await client.response()).status == 401
        # Only `idle[0]` has never sent a request, so it has been idle for the longest time. The door
        # closes it to make room for `busy`.
        busy = await house.connect()
        await busy.send(post())
        await house.ingest.wait_waiting(1)
        assert await idle[0].closed()
        for client in idle[1:]:
            await client.send(post())
        await house.ingest.wait_waiting(8)
        late = await house.connect()
        answer = await late.response()
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert b'"code":"overloaded"' in answer.body
        assert await late.closed()
        statistics = house.door.statistics()
        assert (statistics.evicted, statistics.turned_away) == (1, 1)
        house.ingest.answer()
        for client in [busy, *idle[1:]]:
            assert (await client.response()).status == 202


async def test_draining_answers_what_is_under_way_and_closes_what_is_idle() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        idle, busy, reading = [await house.connect() for _ in range(3)]
        await idle.send(post(key=None))
        assert (await idle.response()).status == 401
        await busy.send(post())
        await house.ingest.wait_waiting()
        await reading.send(post()[:-1])
        await trio.testing.wait_all_tasks_blocked(0.01)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.door.drain, trio.current_time() + LATE_S)
            assert await idle.closed()
            with pytest.raises(OSError, match="all attempts to connect"):
                await house.connect()
            await reading.send(post()[-1:])
            await house.ingest.wait_waiting(2)
            house.ingest.answer()
            for client in (busy, reading):
                answer = await client.response()
                assert (answer.status, answer.headers["connection"]) == (202, "close")
                assert await client.closed()
                await client.stream.aclose()
        assert house.door.statistics().connections == 0


async def test_draining_ends_by_force_at_its_deadline() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await house.connect()
        await client.send(post())
        await house.ingest.wait_waiting()
        await house.door.drain(trio.current_time() + 0.05)
        assert await client.closed()
        house.ingest.answer()


def test_a_bind_address_in_use_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        house = House()
        house.door._bind = taken.getsockname()
        with pytest.raises(ExceptionGroup) as raised:
            trio.run(house.door.run)
        assert raised.group_contains(OSError)


async def test_a_fault_in_ingest_costs_one_connection_and_no_bytes_of_the_budget() -> None:
    house = House()
    house.ingest.fault = ZeroDivisionError()
    async with running(house):
        client = await house.connect()
        await client.send(post())
        assert await client.closed()
        assert house.bodies.drawn == 0
        other = await house.connect()
        await other.send(post(key=None))
        assert (await other.response()).status == 401
    assert [type(error) for error in house.errors] == [ZeroDivisionError]
