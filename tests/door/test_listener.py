"""A crowd of new connections is accepted in small groups, so that existing connections continue."""

import socket
from select import select

import pytest

from api.door.listener import (
    ACCEPTS_PER_PASS,
    Listener,
    listening_socket,
    listening_sockets,
    see_that_free,
)
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers


async def test_a_pass_accepts_a_bounded_number_of_connections() -> None:
    errors: list[Exception] = []
    reactor, timers = Reactor(errors.append), Timers(errors.append)
    accepted: list[socket.socket] = []

    def accept(sock: socket.socket, _address: tuple[str, int]) -> bool:
        accepted.append(sock)
        return True

    listening = listening_socket(socket.AF_INET, ("127.0.0.1", 0))
    listener = Listener(listening, reactor, timers, 0.1, accept, lambda: None)
    crowd = [socket.create_connection(listening.getsockname()) for _ in range(50)]
    counts = []
    for _ in range(5):
        listener.ready(True, False)
        counts.append(len(accepted))
    assert counts == [ACCEPTS_PER_PASS, 2 * ACCEPTS_PER_PASS, 3 * ACCEPTS_PER_PASS, 50, 50]
    for sock in [*accepted, *crowd]:
        sock.close()
    listener.close()
    reactor.shut()
    assert errors == []


def test_all_addresses_of_ipv6_are_all_addresses_of_ipv4_as_well() -> None:
    sockets = listening_sockets("::", 0)
    port = sockets[0].getsockname()[1]
    for host, listening in zip(("::1", "127.0.0.1"), sockets, strict=True):
        socket.create_connection((host, port)).close()
        select([listening], [], [])
        accepted, address = listening.accept()
        assert address[0] == host, "clients of IPv4 have their own addresses"
        accepted.close()
    with pytest.raises(OSError, match="in use"):
        see_that_free("::", port)
    with pytest.raises(OSError, match="in use"):
        listening_sockets("0.0.0.0", port)
    for sock in sockets:
        sock.close()
    see_that_free("::", port)
