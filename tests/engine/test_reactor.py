"""The reactor: it serves ready sockets, isolates handlers that raise, and closes sockets safely."""

import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.runtime.reactor import (
    KNOWN,
    LONGEST_REST_S,
    NEWCOMER,
    PASS_EVENTS,
    PASS_S,
    READ,
    STRANGER,
    STRANGERS_AT_ONCE,
    TURN_S,
    WRITE,
    Reactor,
    Registration,
)
from tests.patience import HANGS_S


class Handler:
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
    with trio.fail_after(HANGS_S):
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
    with trio.fail_after(HANGS_S):
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
    with trio.fail_after(HANGS_S):
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
    with trio.fail_after(HANGS_S):
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
    with trio.fail_after(HANGS_S):
        await handler.woken.wait()
    if not handler.aborted:
        reactor.close(handler.registration, ours)


async def test_readiness_is_asked_for_again_after_a_change_of_interest(reactor: Reactor) -> None:
    ours, theirs = pair()
    handler = Handler(reactor, ours)
    reactor.modify(handler.registration, READ | WRITE)
    with trio.fail_after(HANGS_S):
        await handler.woken.wait()
    reactor.modify(handler.registration, READ)
    await wait_all_tasks_blocked()
    passes = reactor.passes
    for _ in range(10):
        await trio.lowlevel.checkpoint()
    assert reactor.passes == passes
    reactor.close(handler.registration, ours)
    theirs.close()


async def test_strangers_have_a_part_of_each_pass_together(nursery: trio.Nursery) -> None:
    """A hundred strangers have data, and so have a known caller and a newcomer, which is a connection
    before its first request. Each of these two is served after STRANGERS_AT_ONCE strangers at the
    latest."""
    now = 0.0
    reactor = Reactor(lambda error: None, lambda: now)
    order: list[str] = []
    pairs = [pair() for _ in range(102)]

    class Said:
        def __init__(self, name: str, sock: socket.socket, priority: int) -> None:
            self.name, self.sock = name, sock
            self.registration = reactor.register(sock, self, priority=priority)

        def ready(self, readable: bool, writable: bool) -> None:
            nonlocal now
            now += 0.001
            self.sock.recv(1)
            order.append(self.name)

        def abort(self, error: BaseException | None) -> None:
            raise AssertionError(error)

    known = Said("known", pairs[0][0], STRANGER)
    strangers = [Said(f"stranger {n}", ours, STRANGER) for n, (ours, _) in enumerate(pairs[1:101])]
    newcomer = Said("newcomer", pairs[101][0], NEWCOMER)
    reactor.set_priority(known.registration, KNOWN)
    for _, theirs in pairs[1:]:
        theirs.send(b"x")
    pairs[0][1].send(b"x" * 10)
    nursery.start_soon(reactor.run)
    with trio.fail_after(HANGS_S):
        while len(order) < 111:
            await trio.lowlevel.checkpoint()
    turns = "".join("k" if name == "known" else "." for name in order if name != "newcomer").split(
        "k"
    )
    assert max(map(len, turns[:10])) <= STRANGERS_AT_ONCE
    assert order.index("newcomer") <= STRANGERS_AT_ONCE + 1
    assert len(set(order)) == 102, "each was served"
    for each in [known, newcomer, *strangers]:
        reactor.close(each.registration, each.sock)
    for _, theirs in pairs:
        theirs.close()
    nursery.cancel_scope.cancel()
    reactor.shut()


@pytest.mark.parametrize("beside", [True, False], ids=["beside a known caller", "alone"])
async def test_newcomers_and_strangers_rest_after_each_turn(
    mock_clock: MockClock, nursery: trio.Nursery, beside: bool
) -> None:
    """In this test every connection always has data. Newcomers and strangers get one turn each. Then
    newcomers rest for as long as their turn took, and strangers for six times as long."""
    now = 0.0
    reactor = Reactor(lambda error: None, lambda: now)
    turns: Counter[int] = Counter()
    pairs = {priority: pair() for priority in (KNOWN, NEWCOMER, STRANGER)[not beside :]}

    class Endless:
        def __init__(self, priority: int) -> None:
            self.priority = priority
            self.registration = reactor.register(pairs[priority][0], self, priority=priority)
            pairs[priority][1].send(b"x")  # never read, so it is always ready

        def ready(self, readable: bool, writable: bool) -> None:
            nonlocal now
            now += TURN_S / 7.3
            turns[self.priority] += 1

        def abort(self, error: BaseException | None) -> None:
            raise AssertionError(error)

    async def taken() -> tuple[int, int]:
        turns.clear()
        for _ in range(200):  # trio's clock stands still
            await trio.lowlevel.checkpoint()
        assert (turns[KNOWN] > 20) is beside
        return turns[NEWCOMER], turns[STRANGER]

    every = [Endless(priority) for priority in pairs]
    nursery.start_soon(reactor.run)
    assert await taken() == (8, 8), "a turn each"
    assert await taken() == (0, 0)
    mock_clock.jump(TURN_S * 1.1)
    assert await taken() == (8, 0)
    mock_clock.jump(TURN_S * 5.5)
    assert await taken() == (15, 8), "newcomers have rested for longer than they must"
    for each in every:
        reactor.close(each.registration, pairs[each.priority][0])
    for _, theirs in pairs.values():
        theirs.close()
    nursery.cancel_scope.cancel()
    reactor.shut()


async def test_a_class_does_not_rest_for_long_after_a_long_turn(
    mock_clock: MockClock, nursery: trio.Nursery
) -> None:
    """The process stands still for 10 s while it serves a stranger. Strangers must then wait no longer
    than LONGEST_REST_S."""
    now = 0.0
    reactor = Reactor(lambda error: None, lambda: now)
    ours, theirs = pair()
    handler = Handler(reactor, ours)

    def stand_still() -> None:
        nonlocal now
        now += 10

    handler.act = stand_still
    reactor.set_priority(handler.registration, STRANGER)
    nursery.start_soon(reactor.run)
    theirs.send(b"x")
    with trio.fail_after(HANGS_S):
        await handler.woken.wait()
    theirs.send(b"y")
    await wait_all_tasks_blocked()
    assert handler.seen == [b"x"]
    mock_clock.jump(LONGEST_REST_S)
    await wait_all_tasks_blocked()
    assert handler.seen == [b"x", b"y"]
    reactor.close(handler.registration, ours)
    theirs.close()
    nursery.cancel_scope.cancel()
    reactor.shut()


async def test_a_stranger_that_is_not_served_in_a_pass_comes_first_in_the_next(
    reactor: Reactor,
) -> None:
    pairs = [pair() for _ in range(3 * PASS_EVENTS)]
    handlers = [Handler(reactor, ours) for ours, _ in pairs]
    for handler, (_, theirs) in zip(handlers, pairs, strict=True):
        reactor.set_priority(handler.registration, STRANGER)
        theirs.send(b"x")
    with trio.fail_after(HANGS_S):
        for handler in handlers:
            await handler.woken.wait()
    assert [handler.seen for handler in handlers] == [[b"x"]] * len(handlers)
    for handler, (_, theirs) in zip(handlers, pairs, strict=True):
        reactor.close(handler.registration, handler.sock)
        theirs.close()


async def test_a_pass_that_takes_long_goes_on_in_its_order_when_others_have_run(
    nursery: trio.Nursery,
) -> None:
    at = 0.0
    reactor = Reactor(lambda _error: None, lambda: at)
    pairs = [pair() for _ in range(4)]
    handlers = [Handler(reactor, ours) for ours, _ in pairs]
    served: list[tuple[Handler, int]] = []

    def work(handler: Handler) -> None:
        nonlocal at
        at += PASS_S
        served.append((handler, reactor.passes))
        if handler is handlers[2]:  # the last one waits for the next pass
            reactor.close(handlers[3].registration, handlers[3].sock)

    for handler in handlers:
        handler.act = partial(work, handler)
    for _, theirs in pairs:
        theirs.send(b"x")
    nursery.start_soon(reactor.run)
    with trio.fail_after(HANGS_S):
        await handlers[2].woken.wait()
    await wait_all_tasks_blocked()
    assert served == [(handler, number) for number, handler in enumerate(handlers[:3])]
    nursery.cancel_scope.cancel()
    for handler, (_, theirs) in zip(handlers, pairs, strict=True):
        if handler.registration.watched:
            reactor.close(handler.registration, handler.sock)
        theirs.close()
    reactor.shut()


async def test_who_stopped_waiting_to_read_is_not_told_to_in_the_next_pass(
    nursery: trio.Nursery,
) -> None:
    at = 0.0
    reactor = Reactor(lambda _error: None, lambda: at)
    (one, one_peer), (two, two_peer) = pair(), pair()
    first, second = Handler(reactor, one), Handler(reactor, two)

    def work() -> None:
        nonlocal at
        at += PASS_S
        reactor.modify(second.registration, WRITE)

    first.act = work
    one_peer.send(b"x")
    two_peer.send(b"y")
    nursery.start_soon(reactor.run)
    with trio.fail_after(HANGS_S):
        await second.woken.wait()
    # It was called because it can write, not because it can read.
    assert (first.seen, second.seen) == ([b"x"], [])
    nursery.cancel_scope.cancel()
    for handler, theirs in ((first, one_peer), (second, two_peer)):
        reactor.close(handler.registration, handler.sock)
        theirs.close()
    reactor.shut()
