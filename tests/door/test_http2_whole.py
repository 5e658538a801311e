"""HTTP/2 requests whose body arrives with their head: the fast path serves them without `h2`, with the
same result."""

import struct
from dataclasses import replace
from typing import Any

import h2.errors
import h2.settings
import pytest
import trio
import trio.testing

from api.budget import BodyBudget
from engine.ingest.ingest import Reply
from tests.door.house import EVENT, INGEST, QUICK, House, Response, open_house
from tests.door.http2_client import Http2Client
from tests.door.test_http2_smuggling import DATA, HEADERS, PRIORITY, RST, WINDOW, frame

FIELDS = [("authorization", "Bearer " + INGEST.decode()), ("content-type", "application/json")]


async def dial(house: House) -> Http2Client:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    client = Http2Client(stream)
    await client.start()
    assert (await client.ask("GET", "/unknown", [])).status == 404
    return client


async def whole(
    client: Http2Client, body: bytes = EVENT, fields: Any = FIELDS, path: str = "/events"
) -> int:
    number = client.h2.get_next_available_stream_id()
    pseudo = [
        (":method", "POST"),
        (":path", path),
        (":scheme", "http"),
        (":authority", "localhost"),
    ]
    client.h2.send_headers(number, [*pseudo, *fields])
    client.h2.send_data(number, body, end_stream=True)
    await client.flush()
    return number


def direct(house: House) -> int:
    """Return the number of unanswered requests on the fast path. `h2` does not know these requests."""
    return sum(
        len(channel._h2.windows) for channel in house.door._channels if hasattr(channel, "_h2")
    )


async def test_requests_that_came_whole_are_served_among_others() -> None:
    async with open_house() as house:
        client = await dial(house)
        house.ingest.hold = True
        numbers = [await whole(client, b"%d" % n) for n in range(10)]
        other = await client.open("POST", "/events", FIELDS, end=False)
        await house.ingest.wait_waiting(10)
        assert direct(house) == 10
        await client.send_body(other, b"other")
        await house.ingest.wait_waiting(11)
        house.ingest.answer()
        for number in (*reversed(numbers), other):
            assert (await client.response(number)).status == 202
        assert house.ingest.bodies == [b"%d" % n for n in range(10)] + [b"other"]
        assert direct(house) == 0


@pytest.mark.parametrize(
    ("fields", "path", "status"),
    [
        ([FIELDS[1]], "/events", 401),
        ([FIELDS[0]], "/events", 415),
        ([*FIELDS, ("content-length", str(len(EVENT)))], "/events", 202),
        (FIELDS, "/events?environment=PRODUCTION", 403),
        (FIELDS, "/events/batch", 202),
        (FIELDS, "/unknown", 404),
    ],
)
async def test_each_is_answered_as_one_that_came_in_parts(
    fields: Any, path: str, status: int
) -> None:
    async with open_house() as house:
        client = await dial(house)
        fields = [*fields, ("x-request-id", "mine")]
        answers: list[Response] = [
            await client.response(await whole(client, EVENT, fields, path))
            for _ in range(2)  # the second has a known head
        ]
        number = await client.open("POST", path, fields, end=False)
        await client.send_body(number, EVENT)
        answers.append(await client.response(number))
        for answer in answers:
            assert answer.status == status
            for varying in ("date", "x-ratelimit-remaining", "x-ratelimit-reset"):
                answer.headers.pop(varying, None)
        assert answers[0] == answers[1] == answers[2]


async def test_a_length_that_is_not_the_bodys_is_not_served() -> None:
    async with open_house() as house:
        client = await dial(house)
        await client.stream.send_all(
            frame(HEADERS, 4, 3, client.h2.encoder.encode([
                (":method", "POST"), (":path", "/events"), (":scheme", "http"), (":authority", "a"),
                *FIELDS, ("content-length", "3"),
            ])) + frame(DATA, 1, 3, EVENT)
        )  # fmt: skip
        while not client.ended:
            await client.pump()
        assert house.ingest.bodies == []


@pytest.mark.parametrize(
    ("meddling", "ends"),
    [
        (lambda n: frame(RST, 0, n, struct.pack(">I", 8)), None),
        (
            lambda n: frame(WINDOW, 0, n, struct.pack(">I", 2**31 - 1)),
            h2.errors.ErrorCodes.FLOW_CONTROL_ERROR,
        ),
        (lambda n: frame(DATA, 0, n, b"more"), h2.errors.ErrorCodes.STREAM_CLOSED),
    ],
)
async def test_what_comes_for_one_afterwards_ends_it_alone_and_is_counted(
    meddling: Any, ends: int | None
) -> None:
    few = 5
    limits = replace(QUICK, http2_resets=few, http2_resets_a_second=0.0)
    async with open_house(limits=limits) as house:
        house.ingest.hold = True
        client = await dial(house)
        for count in range(1, few + 1):
            number = await whole(client)
            await house.ingest.wait_waiting(count)
            await client.stream.send_all(meddling(number))
            await client.read_all_sent()
            assert direct(house) == 0
            if ends is not None:
                while number not in client.reset:
                    await client.pump()
                assert client.reset[number] == ends
        assert house.bodies.drawn == few * len(EVENT)  # Ingest holds them
        house.ingest.hold = False
        house.ingest.answer()
        assert house.bodies.drawn == 0
        assert (await client.response(await whole(client))).status == 202
        house.ingest.hold = True
        number = await whole(client)
        await house.ingest.wait_waiting(1)
        await client.stream.send_all(meddling(number))
        while not client.ended:
            await client.pump()
        assert client.goaway == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        house.ingest.answer()


async def test_a_priority_means_nothing_and_a_second_head_ends_the_connection() -> None:
    async with open_house() as house:
        house.ingest.hold = True
        client = await dial(house)
        number = await whole(client)
        await house.ingest.wait_waiting(1)
        await client.stream.send_all(frame(PRIORITY, 0, number, struct.pack(">IB", 0, 1)))
        await client.stream.send_all(frame(HEADERS, 5, number, b"\x82"))
        while not client.ended:
            await client.pump()
        house.ingest.answer()
        assert house.bodies.drawn == 0


async def test_an_answer_waits_for_its_window_whoever_opens_it() -> None:
    async with open_house() as house:
        house.ingest.reply = Reply(202, b'{"id":"%s"}' % (b"x" * 300))
        client = await dial(house)
        client.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 100})
        await client.flush()
        client.acknowledge = False
        first, second = await whole(client), await whole(client)
        for number in (first, second):
            while len(client._bodies.get(number, b"")) < 100:
                await client.pump()
        client.h2.increment_flow_control_window(1_000, first)
        await client.flush()
        assert (await client.response(first)).body == house.ingest.reply.body
        client.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2_000})
        await client.flush()
        assert (await client.response(second)).body == house.ingest.reply.body


async def test_the_window_of_the_connection_is_given_back() -> None:
    async with open_house(bodies=BodyBudget(1 << 24, 1 << 24)) as house:
        client = await dial(house)
        body = b"x" * 16_000
        for _ in range(600):  # twice the window
            while client.h2.outbound_flow_control_window < len(body):
                await client.pump()
            assert (await client.response(await whole(client, body))).status == 202
        assert len(house.ingest.bodies) == 600


async def test_a_budget_that_is_used_up_refuses_one_that_came_whole() -> None:
    async with open_house(bodies=BodyBudget(1_000, 600)) as house:
        house.ingest.hold = True
        client = await dial(house)
        first = await whole(client, b"x" * 500)
        await house.ingest.wait_waiting(1)
        refused = await client.response(await whole(client, b"x" * 101))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        house.ingest.answer()
        assert (await client.response(first)).status == 202
