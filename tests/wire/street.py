"""Receivers for a wire client, on real sockets of 127.0.0.1.

A receiver is an async function of a `Visit`, which is one connection. Exceptions that a disconnecting
client causes are ignored.
"""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import trio
from trio.testing import wait_all_tasks_blocked

from engine.core.destination import Destination, SigningKey
from engine.core.records import Delivery, Event, Outcome
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryOrigin,
    DestinationStatus,
    SigningAlgorithm,
)
from engine.ports import Transmission
from engine.runtime.clock import Clock
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.settings import Settings
from engine.wire.client import WireClient
from engine.wire.resolver import Lookup, system_lookup
from engine.wire.target import parse_target
from tests.patience import HANGS_S

KEY = SigningKey(algorithm=SigningAlgorithm.HMAC_SHA256, key=b"k" * 32)
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Visit:
    """One connection, as its receiver sees it."""

    stream: trio.SocketStream | trio.SSLStream[trio.SocketStream]
    number: int  # from 0
    receiver: "Receiver"
    buffer: bytearray = field(default_factory=bytearray)

    async def request(self) -> bytes | None:
        """Read one complete request, or return None if the client closed the connection."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if not await self._more():
                return None
        head = bytes(self.buffer[: end + 4])
        _, _, after = head.lower().partition(b"content-length: ")
        length = int(after.split(b"\r\n")[0] or 0)
        while len(self.buffer) < len(head) + length:
            if not await self._more():
                return None
        request = bytes(self.buffer[: len(head) + length])
        del self.buffer[: len(request)]
        self.receiver.requests.append(request)
        self.receiver.seen.set()
        return request

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def closed(self) -> None:
        while await self._more():
            pass

    def reset(self) -> None:
        stream = (
            self.stream.transport_stream if isinstance(self.stream, trio.SSLStream) else self.stream
        )
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        stream.socket.close()

    async def _more(self) -> bool:
        data = await self.stream.receive_some(65536)
        self.buffer += data
        return bool(data)


Serve = Callable[[Visit], Awaitable[None]]


@dataclass
class Receiver:
    """A listener, and a record of its connections and requests."""

    url: str = ""
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    seen: trio.Event = field(default_factory=trio.Event)
    open: int = 0


async def answer_ok(visit: Visit) -> None:
    """A healthy receiver: it keeps connections and answers every request."""
    while await visit.request() is not None:
        await visit.send(OK)


def answering(answer: bytes) -> Serve:
    async def serve(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.send(answer)

    return serve


def closing_after(answer: bytes) -> Serve:
    async def serve(visit: Visit) -> None:
        if await visit.request() is not None:
            await visit.send(answer)

    return serve


def endlessly(start: bytes, again: bytes) -> Serve:
    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(start)
        while True:
            await visit.send(again)

    return serve


class Gate:
    """A receiver that answers after `opened` is set."""

    def __init__(self) -> None:
        self.opened = trio.Event()

    async def serve(self, visit: Visit) -> None:
        while await visit.request() is not None:
            await self.opened.wait()
            await visit.send(OK)


class Street:
    """A wire client with its reactor and timers, and the receivers opened for it."""

    def __init__(self, nursery: trio.Nursery, client: WireClient, errors: list[Exception]) -> None:
        self.client = client
        self.errors = errors
        self._nursery = nursery
        self._count = 0

    async def open(
        self,
        serve: Serve,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        *,
        address: str = "127.0.0.1",
        port: int = 0,
    ) -> Receiver:
        """Open a receiver with this host in its URL."""
        receiver = Receiver()
        listener = (await trio.open_tcp_listeners(port, host=address))[0]
        port = listener.socket.getsockname()[1]
        receiver.url = f"{'https' if tls else 'http'}://{host}:{port}/hook"
        handler = partial(self._visit, receiver, serve, tls)
        self._nursery.start_soon(partial(trio.serve_listeners, handler, [listener]))
        return receiver

    def begin(
        self,
        destination: Destination,
        done: Callable[[Outcome], None],
        *,
        number: int = 1,
        event: Event | None = None,
        origin: DeliveryOrigin = DeliveryOrigin.NORMAL,
    ) -> None:
        """Send an attempt without waiting for its outcome."""
        self._count += 1
        event = event or an_event(self._count)
        delivery = Delivery(
            id=event.id[:-3] + "001",
            event=event,
            destination=destination.id,
            queue=DeliveryClass.STANDARD,
            origin=origin,
        )
        self.client.send(Transmission(destination, delivery, number), done)

    async def attempt(self, destination: Destination, **more: object) -> Outcome:
        send, receive = trio.open_memory_channel[Outcome](10)
        self.begin(destination, send.send_nowait, **more)  # type: ignore[arg-type]  # passed on
        with trio.fail_after(HANGS_S):
            outcome = await receive.receive()
        try:
            receive.receive_nowait()
        except trio.WouldBlock:
            return outcome
        raise AssertionError("an attempt was reported twice")

    async def _visit(
        self,
        receiver: Receiver,
        serve: Serve,
        tls: ssl.SSLContext | None,
        stream: trio.SocketStream,
    ) -> None:
        number = receiver.connections
        receiver.connections += 1
        receiver.open += 1
        try:
            whole = (
                trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
                if tls
                else stream
            )
            await serve(Visit(whole, number, receiver))
        except (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
            pass
        finally:
            receiver.open -= 1
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)


def an_event(number: int = 1, payload: bytes = b'{"n": 1}') -> Event:
    return Event(
        id=f"01936b2e-0000-7000-8000-{number:09x}000",
        environment=1,
        type="order.created",
        occurred_at_ms=1_700_000_000_123,
        payload=payload,
    )


def a_destination(url: str, **changes: object) -> Destination:
    fields: dict[str, object] = {
        "id": url,
        "environment": 1,
        "workspace": "w",
        "version": 1,
        "status": DestinationStatus.ACTIVE,
        "name": "orders",
        "url": url,
        "target": parse_target(url),
        "timeout_ms": 8_000,
        "signing": (KEY,),
    }
    return Destination(**(fields | changes))  # type: ignore[arg-type]  # fields of a destination


class Opened(NamedTuple):
    """A selector or a TCP socket of this process."""

    descriptor: int
    what: str
    port: int | None = None  # the local port
    listens: bool = False


def open_descriptors() -> set[Opened]:
    """Return this process's selectors and TCP sockets.

    Other descriptors are left out, because threads that look up names can still run when a test ends.
    These threads can open /etc/hosts and sockets to name servers at any time.
    """
    held = set()
    for number in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):  # the listing's own descriptor, or one that a thread has closed
            what = os.readlink(f"/proc/self/fd/{number}")
            if what == "anon_inode:[eventpoll]":
                held.add(Opened(number, what))
            elif what.startswith("socket:"):
                with socket.socket(fileno=os.dup(number)) as found:
                    internet = found.family in (socket.AF_INET, socket.AF_INET6)
                    if internet and found.type == socket.SOCK_STREAM:
                        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
                        held.add(Opened(number, what, found.getsockname()[1], listens))
    return held


@asynccontextmanager
async def open_street(
    *,
    allow: str = "127.0.0.0/8",
    tls: ssl.SSLContext | None = None,
    lookup: Lookup = system_lookup,
    share: float = 0.45,
    **more: object,
) -> AsyncIterator[Street]:
    """Run a client with its reactor and timers. At the end, check that no socket is left open."""
    before = open_descriptors()
    errors: list[Exception] = []
    reactor, timers = Reactor(errors.append), Timers(errors.append)
    settings = Settings.model_validate(
        {"egress_allow": allow, "descriptor_share_outbound": share, **more}
    )
    client = WireClient(settings, reactor, timers, Clock(), tls=tls, lookup=lookup)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            nursery.start_soon(timers.run)
            yield Street(nursery, client, errors)
            await client.aclose()
            found = client.statistics()
            assert found.descriptors == found.descriptors_most == 0
            assert found.openings == found.openings_waiting == found.handshakes_waiting == 0
            nursery.cancel_scope.cancel()
    finally:
        reactor.shut()
    assert errors == []
    # A receiver of other tests can still run in a thread of this process. If this receiver accepts a
    # connection, it opens a socket on its port. The client has not opened that socket, so this check
    # leaves out the sockets on the ports of such receivers.
    others = {each.port for each in before if each.listens}
    left = [each for each in open_descriptors() - before if each.port not in others]
    assert not left, f"still open: {left}"


async def until(condition: Callable[[], object]) -> None:
    with trio.fail_after(HANGS_S):
        while not condition():
            await wait_all_tasks_blocked(0.001)
