"""The reactor serves what is ready, isolates what raises and closes when nobody can be confused."""

import socket
from collections.abc import AsyncIterator, Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.reactor import READ, WRITE, Reactor, Registration


class Handler:
    """Reads what comes and notes it."""

    def __init__(self, reactor: Reactor, sock: socket.socket) -> None:
        self.sock = sock
        self.reactor = reactor
        self.seen: list[bytes] = []
        self.aborted: list[BaseException | None] = []
        self.woken = trio.Event()
        self.act: Callable[[], None] | None = None
        self.registration: Registration = reactor.register(sock, self)

    def ready(self, readable: bool, writable: bool) -> None:
        self.woken.set()
        if self.act is not None:
            self.act()
        if readable:
            self.seen.append(self.sock.recv(65536))

    def abort(self, error: BaseException | None) -> None:
        self.woken.set()
        self.aborted.append(error)
        self.reactor.close(self.registration, self.sock)


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
async def reactor(errors: list[Exception], nursery: trio.Nursery) -> AsyncIterator[Reactor]:
    reactor = Reactor(errors.append)
    nursery.start_soon(reactor.run)
    yield reactor
    nursery.cancel_scope.cancel()
    reactor.shut()


def pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(2)
    return ours, theirs


async def test_bytes_wake_their_handler(reactor: Reactor) -> None:
    ours, theirs = pair()
    handler = Handler(reactor, ours)
    theirs.send(b"hello")
    with trio.fail_after(2):
        await handler.woken.wait()
    assert handler.seen == [b"hello"]
    reactor.close(handler.registration, ours)
    theirs.close()


async def test_one_that_raises_is_closed_alone(reactor: Reactor, errors: list[Exception]) -> None:
    (ours, theirs), (other, others_peer) = pair(), pair()
    bad, good = Handler(reactor, ours), Handler(reactor, other)

    def fail() -> None:
        bad.sock.recv(1)
        raise RuntimeError("broken")

    bad.act = fail
    theirs.send(b"x")
    others_peer.send(b"y")
    with trio.fail_after(2):
        await bad.woken.wait()
        await good.woken.wait()
    assert [str(error) for error in bad.aborted] == ["broken"]
    assert [str(error) for error in errors] == ["broken"]
    assert good.seen == [b"y"]
    await wait_all_tasks_blocked()
    assert theirs.recv(1) == b""
    reactor.close(good.registration, other)
    theirs.close()
    others_peer.close()


async def test_closing_outside_a_pass_closes_at_once(reactor: Reactor) -> None:
    ours, theirs = pair()
    handler = Handler(reactor, ours)
    await wait_all_tasks_blocked()
    reactor.close(handler.registration, ours)
    assert ours.fileno() == -1
    assert theirs.recv(1) == b""
    theirs.close()


async def test_closing_within_a_pass_keeps_the_number_until_its_end(reactor: Reactor) -> None:
    ours, theirs = pair()
    handler = Handler(reactor, ours)
    numbers: list[int] = []

    def act() -> None:
        reactor.close(handler.registration, ours)
        numbers.append(ours.fileno())

    handler.act = act
    theirs.send(b"x")
    with trio.fail_after(2):
        await handler.woken.wait()
    await wait_all_tasks_blocked()
    assert numbers[0] > 0
    assert ours.fileno() == -1
    theirs.close()


async def test_one_that_was_closed_in_this_pass_is_not_woken_any_more(reactor: Reactor) -> None:
    (one, one_peer), (two, two_peer) = pair(), pair()
    first, second = Handler(reactor, one), Handler(reactor, two)
    first.act = lambda: reactor.close(second.registration, two)
    second.act = lambda: reactor.close(first.registration, one)
    one_peer.send(b"x")
    two_peer.send(b"y")
    with trio.fail_after(2):
        while not (first.woken.is_set() or second.woken.is_set()):
            await trio.lowlevel.checkpoint()
    await wait_all_tasks_blocked()
    assert [len(first.seen), len(second.seen)] in ([1, 0], [0, 1])
    for handler in (first, second):
        reactor.close(handler.registration, handler.sock)
    one_peer.close()
    two_peer.close()


async def test_a_hang_up_reaches_one_that_only_waits_to_write(reactor: Reactor) -> None:
    ours, theirs = pair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    handler = Handler(reactor, ours)
    while True:
        try:
            ours.send(b"x" * 65536)
        except BlockingIOError:
            break
    reactor.modify(handler.registration, WRITE)
    theirs.close()
    with trio.fail_after(2):
        await handler.woken.wait()
    if not handler.aborted:
        reactor.close(handler.registration, ours)


async def test_readiness_is_asked_for_again_after_a_change_of_interest(reactor: Reactor) -> None:
    ours, theirs = pair()
    handler = Handler(reactor, ours)
    reactor.modify(handler.registration, READ | WRITE)
    with trio.fail_after(2):
        await handler.woken.wait()
    reactor.modify(handler.registration, READ)
    await wait_all_tasks_blocked()
    passes = reactor.passes
    for _ in range(10):
        await trio.lowlevel.checkpoint()
    assert reactor.passes == passes
    reactor.close(handler.registration, ours)
    theirs.close()
