"""The relay of requests whose workspaces belong to other workers: their recognition and their way.

A request is relayed as HTTP/1.1 over a link to the worker that has the workspace. That worker's door
judges and answers it. A request that came over a link is never relayed again.
"""

import fcntl
import socket
import struct
import termios
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress

import httptools
import trio

from api.door.channel import Address
from api.door.exchange import HOP_BY_HOP, Exchange, Message
from api.door.link_form import body_on_link, head_on_link
from api.envelope import envelope
from engine.model.read_models import Credential
from engine.nodes.parts import WorkerPart, number_of
from engine.peers.parts import Link

UNKNOWN = -1  # the part of a credential that this worker does not know, or not yet
PIECE = 64 * 1024
_AWAY = "the workspace's worker is not there"
IDLE_LINKS = 256  # kept for the next request of the same client
LINK_S = 2.0  # to reach another worker, which may just be starting again
AGAIN_S = 0.05  # between two tries
AWAY_S = 1.0  # after a worker stood still, until it is tried again
FIRST_LOOK_S = 0.0005  # until the first look for a read head; doubled each time
CATCH_UP_S = 1.0  # to learn of a credential that another worker has just made
STRANGERS = 100  # requests with an unknown credential that wait at a time

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Opens a link for a client's requests to the worker of a part. Raises OSError.
Dial = Callable[[int, Address], Awaitable[Link]]


class AwayError(Exception):
    """The other worker stands still, and will not serve the request."""


class Elsewhere:
    """Owner of the idle links. `lookup` finds the credential of an Authorization header."""

    def __init__(
        self,
        part: WorkerPart,
        lookup: Callable[[bytes | None], Credential | None],
        dial: Dial,
        catch_up: Callable[[], Awaitable[None]],
        places: int = 1_000,
        *,
        moved: Callable[[], Iterable[int]] | None = None,
    ) -> None:
        """`catch_up` waits until this worker has everything written so far. `places`: requests relayed
        at a time; each takes a descriptor on both sides. `moved` returns the parts that other nodes have
        since the last call. None: parts do not move."""
        self._places = trio.CapacityLimiter(places)
        self._part = part
        self._lookup = lookup
        self._dial = dial
        self._catch_up = catch_up
        self._idle: dict[tuple[int, str], list[Link]] = {}
        self._kept = 0
        self._under_way: defaultdict[int, set[trio.CancelScope]] = defaultdict(set)
        self._strangers = trio.CapacityLimiter(STRANGERS)
        self._moved = moved
        self._moves: Counter[int] = Counter()  # of each part
        self._away_until: dict[int, float] = {}  # by part, of trio's clock
        self.relayed = 0  # requests

    def part_of(self, fields: Mapping[bytes, bytes]) -> int | None:
        """Return the part that a request belongs to, UNKNOWN, or None if this worker answers it."""
        authorization = fields.get(b"authorization")
        if authorization is None:
            return None
        credential = self._lookup(authorization)
        if credential is None:
            return UNKNOWN
        number = number_of(credential.workspace, self._part.of)
        return None if number == self._part.number else number

    async def decide(self, fields: Mapping[bytes, bytes]) -> int | None:
        """Return the part of a request whose credential was unknown, None if it stays unknown."""
        if self._strangers.available_tokens:
            async with self._strangers:
                with trio.move_on_after(CATCH_UP_S):
                    await self._catch_up()
        part = self.part_of(fields)
        return None if part == UNKNOWN else part

    async def relay(
        self, part: int, exchange: Exchange, client: Address, receive: Receive, send: Send
    ) -> None:
        """Let another worker answer a request. If that worker cannot be reached the answer is 503. If
        the link breaks before the answer, the result is unknown: 500."""
        self.relayed += 1
        if self.is_away(part):
            await _refuse(exchange, send, 503, "overloaded", _AWAY)
            return
        with trio.move_on_after(LINK_S) as waiting:
            await self._places.acquire_on_behalf_of(exchange)
        if waiting.cancelled_caught:
            await _refuse(exchange, send, 503, "overloaded", "too many requests are relayed")
            return
        try:
            await self._relay(part, exchange, client, receive, send)
        finally:
            self._places.release_on_behalf_of(exchange)

    async def _relay(
        self, part: int, exchange: Exchange, client: Address, receive: Receive, send: Send
    ) -> None:
        try:
            link = await self._link(part, client)
        except OSError:
            await _refuse(exchange, send, 503, "overloaded", _AWAY)
            return
        reply = _Reply(exchange.head.method == b"HEAD")
        try:
            sent = await self._conversed(part, link, reply, exchange, receive, send)
        except AwayError:
            self.leave_out(part)
            await trio.aclose_forcefully(link)
            await _refuse(exchange, send, 503, "overloaded", _AWAY)
            return
        except (OSError, trio.BrokenResourceError, httptools.HttpParserError):
            await trio.aclose_forcefully(link)
            if exchange.started or exchange.gone:
                raise BrokenPipeError("the link or the client broke off") from None
            await _refuse(exchange, send, 500, "internal", "the workspace's worker broke off")
            return
        except BaseException:
            await trio.aclose_forcefully(link)
            raise
        await self._keep(link, (part, client[0]), sent and reply.keep_alive)

    def leave_out(self, part: int) -> None:
        """Refuse the requests of a part for a moment: its worker stands still or ends."""
        self._away_until[part] = trio.current_time() + AWAY_S

    def is_away(self, part: int) -> bool:
        """Return whether the requests of a part are refused for the moment."""
        return trio.current_time() < self._away_until.get(part, 0.0)

    async def _conversed(
        self,
        part: int,
        link: Link,
        reply: "_Reply",
        exchange: Exchange,
        receive: Receive,
        send: Send,
    ) -> bool:
        with trio.CancelScope() as scope:
            self._under_way[part].add(scope)
            try:
                return await _converse(link, reply, exchange, receive, send)
            finally:
                self._under_way[part].discard(scope)
        raise trio.BrokenResourceError("another node has the part now")

    def refresh(self) -> None:
        """Drop the links of the parts that have moved."""
        for part in () if self._moved is None else self._moved():
            self.forget(part)

    def forget(self, part: int) -> None:
        """Drop all links of a part, with the requests under way: another node has the part now."""
        self._moves[part] += 1
        self._away_until.pop(part, None)
        for key in [key for key in self._idle if key[0] == part]:
            for link in self._idle.pop(key):
                self._kept -= 1
                link.socket.close()
        for scope in self._under_way.get(part, ()):
            scope.cancel()

    def close(self) -> None:
        """Close the idle links: the door has ended."""
        for part in {part for part, _ in self._idle}:
            self.forget(part)

    async def _link(self, part: int, client: Address) -> Link:
        """Return a link to the node that has a part. Raises OSError."""
        # Before a link is used: the move must not end the requests that go to the new node.
        self.refresh()
        kept = self._idle.get((part, client[0]))
        while kept:
            link = kept.pop()
            self._kept -= 1
            if not link.socket.is_readable():  # else it has ended
                return link
            await trio.aclose_forcefully(link)
        with trio.move_on_after(LINK_S):
            while True:
                moves = self._moves[part]
                try:
                    link = await self._dial(part, client)
                except OSError:
                    await trio.sleep(AGAIN_S)
                else:
                    self.refresh()
                    if self._moves[part] == moves:
                        return link
                    await trio.aclose_forcefully(link)  # to the former node
                self.refresh()
        raise TimeoutError("the worker does not answer")

    async def _keep(self, link: Link, key: tuple[int, str], keep: bool) -> None:
        if not keep:
            await trio.aclose_forcefully(link)
            return
        if self._kept >= IDLE_LINKS:  # the oldest client's go
            oldest = next(iter(self._idle))
            for each in self._idle.pop(oldest):
                self._kept -= 1
                await trio.aclose_forcefully(each)
        kept = self._idle.pop(key, [])
        kept.append(link)
        self._idle[key] = kept
        self._kept += 1


class _Reply:
    """The answer being received, by the parser's callbacks."""

    def __init__(self, silent: bool) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []
        self.complete = False
        self.keep_alive = False
        self.begun = False
        self._silent = silent  # an answer to HEAD: it has no body, whatever its head says
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take bytes. Raises HttpParserError."""
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if not self.begun and name not in HOP_BY_HOP:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self.keep_alive = self._parser.should_keep_alive()
        self.begun = True
        self.complete = self._silent

    def on_body(self, data: bytes) -> None:
        self.pieces.append(data)

    def on_message_complete(self) -> None:
        self.complete = True


async def _answer(
    link: Link, reply: _Reply, exchange: Exchange, send: Send, data: bytes = b""
) -> None:
    """Pass the answer on to the client as it arrives; `data` has arrived already."""
    started = False
    while not reply.complete:
        data = data or await link.receive_some(PIECE)
        if not data:
            raise trio.BrokenResourceError("the worker closed the link")
        reply.feed(data)
        data = b""
        if reply.begun and not started:
            started = exchange.relayed = True
            await send(
                {
                    "type": "http.response.start",
                    "status": reply.status,
                    "headers": reply.headers,
                }
            )
        if reply.pieces and not reply.complete:
            body = b"".join(reply.pieces)
            reply.pieces.clear()
            await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b"".join(reply.pieces), "more_body": False})


async def _converse(
    link: Link, reply: _Reply, exchange: Exchange, receive: Receive, send: Send
) -> bool:
    """Send the request and pass the answer on; return whether the whole request was sent."""
    head = exchange.head
    data = head_on_link(head, exchange.request_id)
    if head.chunked or head.length:
        first = await receive()
        if first["type"] != "http.request":
            raise BrokenPipeError("the client is gone")
        body = body_on_link(head, first["body"], last=not first["more_body"])
        if first["more_body"]:
            exchange.stream()  # the other worker enforces the body's least rate
            await link.send_all(data)
            await _read(link)
            return await _stream(link, reply, exchange, receive, send, body)
        data += body
    sent, answer = False, b""
    with trio.move_on_after(LINK_S) as waiting:
        await link.send_all(data)
        sent = True
        answer = await link.receive_some(PIECE)
        if not answer:
            raise trio.BrokenResourceError("the worker closed the link")
    if waiting.cancelled_caught:
        see_that_read(link, sent=sent)  # the worker may work for longer on what it has read
    await _answer(link, reply, exchange, send, answer)
    return True


async def _read(link: Link) -> None:
    """Wait until the worker has read all that was sent. Raises AwayError."""
    rest_s = FIRST_LOOK_S
    with trio.move_on_after(LINK_S):
        while _unread(link):
            await trio.sleep(rest_s)
            rest_s = min(2 * rest_s, AGAIN_S)
    see_that_read(link, sent=True)


def see_that_read(link: Link, *, sent: bool) -> None:
    """Raise AwayError if the worker has not read the whole request, and now never serves the request: its
    door drops a request whose link was closed before it was read."""
    if sent and not _unread(link):
        return
    link.socket.shutdown(socket.SHUT_RDWR)
    if sent and not _unread(link):  # the worker has just read the rest
        raise trio.BrokenResourceError("the link was closed just as the worker began the request")
    raise AwayError


def _unread(link: Link) -> int:
    """Return how much memory the bytes take that the other end has not read: 0 if it has read all."""
    size = fcntl.ioctl(link.socket.fileno(), termios.TIOCOUTQ, bytes(4))
    return int(struct.unpack("i", size)[0])


async def _stream(
    link: Link,
    reply: _Reply,
    exchange: Exchange,
    receive: Receive,
    send: Send,
    data: bytes,
) -> bool:
    """Relay a request whose body is still arriving: its answer can come before the body's end."""
    sent, broken = False, None

    async def send_on() -> None:
        nonlocal data, sent
        with suppress(OSError, trio.BrokenResourceError):  # the answer can be there
            while not sent:
                await link.send_all(data)
                message = await receive()
                if message["type"] != "http.request":
                    return
                data = body_on_link(exchange.head, message["body"], last=not message["more_body"])
                if not message["more_body"]:
                    await link.send_all(data)
                    sent = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_on)
        try:
            await _answer(link, reply, exchange, send)
        except (OSError, trio.BrokenResourceError, httptools.HttpParserError) as error:
            broken = error
        nursery.cancel_scope.cancel()
    if broken is not None:
        raise broken
    return sent


async def _refuse(exchange: Exchange, send: Send, status: int, code: str, message: str) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"x-request-id", exchange.request_id.encode()),
    ]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    body = envelope(code, message, exchange.request_id)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
