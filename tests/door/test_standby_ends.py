"""A standby that ends while its clients send continuously. No request is lost: each connection is closed
only after the answer to its last request."""

from dataclasses import replace
from functools import partial

import pytest
import trio
from h2.errors import ErrorCodes

from api.door.listener import listening_sockets
from engine.peers.acceptor import accept_links
from engine.peers.relay import Relay
from tests.door.house import EVENT, INGEST, LATE_S, QUICK, Client, House, post, running
from tests.door.http2_client import dial
from tests.door.test_lanes import JSON, bearer

KEYS = {b"key": b"k" * 32}


async def test_a_client_that_never_pauses_loses_no_answer_when_its_standby_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.peers.relay.QUIET_S", LATE_S)  # only an answer can end a connection
    house, relay = House(), Relay(KEYS)
    (listener,) = listening_sockets("127.0.0.1", 0)
    with listener:
        async with running(house), trio.open_nursery() as nursery:
            accepts = partial(
                accept_links,
                ("127.0.0.1", 0),
                KEYS,
                house.door.adopt,
                end_soon=house.door.end_soon,
            )
            links = await nursery.start(accepts)
            nursery.start_soon(relay.carriers.serve)
            async with trio.open_nursery() as standby:
                standby.start_soon(relay.run, [listener])
                relay.aim("a", f"127.0.0.1:{links[0].socket.getsockname()[1]}")
                client = Client(await trio.open_tcp_stream(*listener.getsockname()[:2]))
                await client.send(post())
                assert (await client.response()).status == 202
                standby.cancel_scope.cancel()
            relay.part()
            sent = 1
            told_to_close = False
            while not told_to_close:
                await client.send(post())
                sent += 1
                answer = await client.response()
                assert answer.status == 202
                told_to_close = answer.headers.get("connection") == "close"
            assert await client.closed()
            await client.stream.aclose()
            await relay.wait_parted()
            assert len(house.ingest.bodies) == sent
            nursery.cancel_scope.cancel()
    assert house.errors == []


async def test_connections_of_http2_end_with_the_last_answer_under_way() -> None:
    house = House(limits=replace(QUICK, linger_s=LATE_S))
    async with running(house):
        house.ingest.hold = True
        idle, busy = await dial(house), await dial(house)
        assert (await idle.ask("GET", "/unknown", [])).status == 404
        number = await busy.open("POST", "/events", [bearer(INGEST), JSON], end=False)
        await busy.send_body(number, EVENT)
        await house.ingest.wait_waiting()
        house.door.end_soon({stream.socket.getsockname()[:2] for stream in house.streams})
        while not idle.ended:
            await idle.pump()
        await idle.stream.aclose()
        house.ingest.answer()
        assert (await busy.response(number)).status == 202
        while not busy.ended:
            await busy.pump()
        await busy.stream.aclose()
        assert idle.goaway == busy.goaway == ErrorCodes.NO_ERROR
    assert house.errors == []
