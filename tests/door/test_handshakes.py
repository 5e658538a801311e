"""TLS handshakes: their order, the limit on handshakes under way, and the cleanup."""

import socket
import ssl
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from api.door.handshakes import AT_ONCE, Handshake, HandshakeStatistics
from api.door.places import account_of
from tests.door.house import QUICK, Client, House, open_house, post, running
from tests.door.papers import Papers, papers
from tests.patience import until

FLOOD = 200
FLOODER, OTHER = "127.0.0.2", "127.0.0.3"
NOTHING = HandshakeStatistics(0, 0)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return papers(tmp_path_factory.mktemp("tls"), "localhost")


def said_first() -> bytes:
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    begun = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        begun.do_handshake()
    return outgoing.read()


HELLO = said_first()


class Crowd:
    def __init__(self, house: House) -> None:
        self._house = house
        self._socks: list[socket.socket] = []

    def come(self, host: str, count: int) -> None:
        """Connect `count` times from an address. The event loop makes no step between two connections."""
        for _ in range(count):
            sock = socket.create_connection(self._house.door.address, source_address=(host, 0))
            self._socks.append(sock)
            sock.sendall(HELLO)

    def __len__(self) -> int:
        return len(self._socks)

    def ended(self) -> int:
        """Return the index of the oldest client whose connection has ended."""
        for number, sock in enumerate(self._socks):
            sock.setblocking(False)
            with suppress(BlockingIOError):
                while sock.recv(4_096):  # the server's side of the handshake
                    pass
                return number
        raise AssertionError("none has ended")

    def go(self) -> None:
        for sock in self._socks:
            sock.close()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    taken: list[str] = []
    proceed = Handshake.proceed

    def noted(handshake: Handshake) -> None:
        taken.append(handshake.account)
        proceed(handshake)

    monkeypatch.setattr(Handshake, "proceed", noted)
    return taken


def door_files(certified: Papers) -> tuple[Path, Path]:
    return certified.cert, certified.key


async def greet(house: House, certified: Papers, host: str) -> Client:
    plain = await trio.open_tcp_stream("127.0.0.1", house.door.address[1], local_address=host)
    house.streams.append(plain)
    return await greeted(plain, certified)


async def greeted(plain: trio.SocketStream, certified: Papers) -> Client:
    context = ssl.create_default_context()
    certified.authority.configure_trust(context)
    stream = trio.SSLStream(plain, context, server_hostname="localhost", https_compatible=True)
    await stream.do_handshake()
    return Client(stream)


async def test_a_flood_of_handshakes_of_one_address_leaves_turns_to_others(
    certified: Papers, turns: list[str]
) -> None:
    async with open_house(tls=door_files(certified)) as house:
        crowd = Crowd(house)
        crowd.come(FLOODER, FLOOD)
        crowd.come(OTHER, 1)
        await until(lambda: account_of(None, OTHER) in turns)
        # The client at the address OTHER connected after the whole flood. Its handshake still began
        # before most handshakes of the flood.
        before = Counter(turns[: turns.index(account_of(None, OTHER))])
        assert before[account_of(None, FLOODER)] < FLOOD / 4
        client = await greet(house, certified, OTHER)
        await client.send(post())
        assert (await client.response()).status == 202
        crowd.go()


async def test_an_address_has_no_more_handshakes_under_way_than_it_leaves_to_others(
    certified: Papers, turns: list[str]
) -> None:
    async with open_house(tls=door_files(certified)) as house:
        crowd = Crowd(house)
        crowd.come(FLOODER, FLOOD)
        half = HandshakeStatistics(AT_ONCE // 2, FLOOD - AT_ONCE // 2)
        await until(lambda: house.door.statistics().handshakes == half)
        assert len(turns) == AT_ONCE // 2
        for host in (OTHER, "127.0.0.4"):
            client = await greet(house, certified, host)
            await client.send(post())
            assert (await client.response()).status == 202
        assert house.door.statistics().handshakes == half
        crowd.go()
        await until(lambda: house.door.statistics().handshakes == NOTHING)


async def test_handshakes_that_stall_give_way_to_a_client_that_waits(certified: Papers) -> None:
    limits = replace(QUICK, handshake_s=0.0)
    async with open_house(tls=door_files(certified), limits=limits) as house:
        crowd, statistics = Crowd(house), house.door.statistics
        # Each network takes its maximum: half of the free places.
        for network, count in enumerate((128, 64, 32, 16, 8, 4, 2, 1, 1), 1):
            crowd.come(f"127.0.1.{network}", count)
            await until(lambda: statistics().handshakes.begun == len(crowd))
        assert len(crowd) == AT_ONCE
        client = await greet(house, certified, OTHER)
        await client.send(post())
        assert (await client.response()).status == 202
        assert statistics().handshakes == HandshakeStatistics(AT_ONCE - 1, 0)
        assert crowd.ended() < AT_ONCE // 2
        crowd.go()
        await until(lambda: house.door.statistics().handshakes == NOTHING)


async def test_clients_of_one_network_wait_until_the_oldest_handshake_has_had_its_time(
    certified: Papers,
) -> None:
    limits = replace(QUICK, handshake_s=0.2)
    async with open_house(tls=door_files(certified), limits=limits) as house:
        crowd = Crowd(house)
        crowd.come(FLOODER, AT_ONCE // 2)
        await until(lambda: house.door.statistics().handshakes.begun == AT_ONCE // 2)
        client = await greet(house, certified, FLOODER)
        await client.send(post())
        assert (await client.response()).status == 202
        crowd.go()


async def test_handshakes_that_do_not_go_on_end_with_their_time(certified: Papers) -> None:
    limits = replace(QUICK, head_s=0.2)
    async with open_house(tls=door_files(certified), limits=limits) as house:
        crowd = Crowd(house)
        crowd.come(FLOODER, FLOOD)
        await until(lambda: house.door.statistics().accepted == FLOOD)
        await house.settled()
        assert house.door.statistics().handshakes == NOTHING
        crowd.go()


async def test_a_head_must_come_within_the_time_of_its_handshake(certified: Papers) -> None:
    async with open_house(tls=door_files(certified)) as house:
        plain = await house.connect()
        await until(lambda: house.door._channels)
        (handshake,) = house.door._channels
        assert isinstance(plain.stream, trio.SocketStream)
        client = await greeted(plain.stream, certified)
        await until(lambda: handshake not in house.door._channels)
        (connection,) = house.door._channels
        assert connection._due == pytest.approx(handshake._due)
        await client.send(post())
        assert (await client.response()).status == 202


async def test_a_handshake_in_pieces_is_done_and_a_broken_one_is_closed(certified: Papers) -> None:
    async with open_house(tls=door_files(certified)) as house:
        broken = await house.connect()
        await broken.send(HELLO[:100])
        await until(lambda: house.door.statistics().handshakes.begun == 1)
        await broken.send(b"\x00" * 4_000)
        assert b"HTTP" not in await broken.rest()
        left = await house.connect()
        await left.send(HELLO[:100])
        await until(lambda: house.door.statistics().handshakes.begun == 1)
        await left.reset()
        await house.settled()
        assert house.door.statistics().handshakes == NOTHING


async def test_a_fault_in_a_step_ends_that_handshake_alone(
    certified: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tls=door_files(certified))

    async with running(house):
        with monkeypatch.context() as patched:
            patched.setattr("api.door.transport.TlsTransport.read", lambda _: 1 / 0)
            client = await house.connect()
            await client.send(HELLO)
            assert await client.closed()
        assert house.door.statistics().handshakes == NOTHING
        client = await greet(house, certified, OTHER)
        await client.send(post())
        assert (await client.response()).status == 202
    assert [type(error) for error in house.errors] == [ZeroDivisionError]


async def test_a_drain_ends_handshakes_at_once(certified: Papers) -> None:
    async with open_house(tls=door_files(certified)) as house:
        crowd = Crowd(house)
        crowd.come(FLOODER, FLOOD)
        await until(lambda: house.door.statistics().handshakes.begun > 0)
        await house.door.drain(trio.current_time() + 60)
        assert house.door.statistics().handshakes == NOTHING
        crowd.go()
