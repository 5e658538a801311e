"""Each step of the front door does bounded work, however many clients without a key arrive at once."""

import socket
from collections.abc import Callable

import pytest

from api.door.limits import LIMITS
from api.door.listener import ACCEPTS_PER_PASS, BACKLOG, Listener
from tests.door.house import House, open_house
from tests.patience import until
from tests.service.steps import counted_steps

STRANGERS = 600
MOST_LINES = 40_000  # in one step: 4 ms, of the 20 ms that a step may take
NOPE = b"GET /nope HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer nobody\r\n\r\n"
EVENT = b"POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
assert STRANGERS < BACKLOG, "they wait for their accept"
assert LIMITS.connections > STRANGERS


def come_at_once(house: House, request: bytes) -> list[socket.socket]:
    """Connect many clients, and send a request from each. The event loop makes no step between two
    clients.
    """
    socks = []
    for _ in range(STRANGERS):
        socks.append(socket.create_connection(house.door.address))
        socks[-1].sendall(request)
    return socks


@pytest.mark.parametrize("request_bytes", [NOPE, EVENT], ids=["nope", "event"])
async def test_a_crowd_that_comes_at_once_makes_no_long_step(
    request_bytes: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted: list[int] = []  # the number accepted in each turn of the listener
    monkeypatch.setattr(Listener, "ready", noted(Listener.ready, accepted))
    async with open_house() as house:
        # The clock stands still, so only the number of events bounds a pass.
        monkeypatch.setattr(house.reactor, "_clock", lambda: 0.0)
        socks = come_at_once(house, request_bytes)
        with counted_steps() as steps:
            await until(lambda: house.door.statistics().accepted == STRANGERS)
            await until(lambda: sum(house.door.statistics().answered.values()) == STRANGERS)
        for sock in socks:
            sock.close()
        assert steps.most <= MOST_LINES, steps.where
        assert len(accepted) >= STRANGERS / ACCEPTS_PER_PASS


def noted(
    ready: Callable[[Listener, bool, bool], None], turns: list[int]
) -> Callable[[Listener, bool, bool], None]:
    def noting(listener: Listener, readable: bool, writable: bool) -> None:
        turns.append(1)
        ready(listener, readable, writable)

    return noting
