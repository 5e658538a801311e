"""A request that is sent on a link to another worker, and its answer.

If the body is not streamed, the other worker begins the request only when the whole request has come.
So if the request could not be sent whole, the other worker has not begun it. Before a worker closes an
idle link, it sends `GOODBYE`.
"""

import fcntl
import socket
import struct
import termios
from collections.abc import Awaitable, Callable
from contextlib import suppress

import httptools
import trio
from msgspec import Struct

from api.door.exchange import HOP_BY_HOP, Exchange, Message
from api.door.link_form import GONE, body_on_link, head_on_link
from engine.peers.parts import Link

PIECE = 64 * 1024
LINK_S = 2.0  # for a worker to read a request
REFUSED = frozenset({429, 503})  # statuses that promise that nothing was done
FIRST_LOOK_S = 0.0005  # until the first check of the worker; doubled up to LAST_LOOK_S
LAST_LOOK_S = 0.05

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class AwayError(Exception):
    """The other worker did not read the whole request in time. The link was closed before the worker had
    read the rest, so the worker drops the request and never serves it."""


class NotBegunError(Exception):
    """The other worker has not begun the request, and will not begin it. So the request can safely be
    sent again."""


class SilentError(trio.BrokenResourceError):
    """The other machine has not confirmed the request, but can have received it."""


class Outgoing(Struct):
    """A request as it is sent on a link to another worker.

    `data`: the head, and the body if the whole body has come. `rest`: if the body is still arriving, the
    bytes of the body that have come so far. Otherwise None.
    """

    data: bytes
    rest: bytes | None = None

    @property
    def streamed(self) -> bool:
        """True if the body is still arriving. Such a request can be sent only once, because the pieces of
        its body are not kept."""
        return self.rest is not None


async def prepared(exchange: Exchange, receive: Receive) -> Outgoing:
    """Return a request to send, with its body if the body has come. Raises BrokenPipeError if the client
    is gone."""
    head = exchange.head
    data = head_on_link(head, exchange.request_id)
    if not (head.chunked or head.length):
        return Outgoing(data)
    first = await receive()
    if first["type"] != "http.request":
        raise BrokenPipeError("the client is gone")
    body = body_on_link(head, first["body"], last=not first["more_body"])
    if not first["more_body"]:
        return Outgoing(data + body)
    exchange.stream()  # the other worker enforces the body's least rate
    return Outgoing(data, body)


class LinkReply:
    """An answer that is being received."""

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
        """Take bytes of the answer. Raises HttpParserError if the answer is malformed. Bytes after the
        answer are not an error, because a worker sends `GOODBYE` before it closes the link."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if not self.complete:
                raise
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if not self.begun and name not in HOP_BY_HOP:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.complete:
            self.keep_alive = False
            return
        self.status = self._parser.get_status_code()
        self.keep_alive = self._parser.should_keep_alive()
        self.begun = True
        self.complete = self._silent

    def on_body(self, data: bytes) -> None:
        if self.complete:
            self.keep_alive = False
        else:
            self.pieces.append(data)

    def on_message_complete(self) -> None:
        self.complete = True


class Conversation:
    """A request on a link, and its answer.

    `doubtful`: the request was sent on another link before, and can have been served there. Then the
    client must not get a refusal, because a refusal promises that the request was not served.
    """

    def __init__(
        self,
        link: Link,
        exchange: Exchange,
        receive: Receive,
        send: Send,
        *,
        doubtful: bool = False,
    ) -> None:
        self.link = link
        self._unwanted = {GONE, *REFUSED} if doubtful else {GONE}
        self.reply = LinkReply(exchange.head.method == b"HEAD")
        self._exchange = exchange
        self._receive = receive
        self._send = send

    async def hold(self, outgoing: Outgoing) -> bool:
        """Send the request to the worker, and pass the worker's answer on to the client. Return True if
        the whole request was sent. If this raises NotBegunError or AwayError, the worker has done
        nothing. After any other error it is unknown what the worker has done."""
        link = self.link
        if outgoing.rest is not None:
            await _hand_over(link, outgoing.data)
            await _read(link)
            return await self._stream(outgoing.rest)
        sent, answer = False, b""
        with trio.move_on_after(LINK_S) as waiting:
            await _hand_over(link, outgoing.data)
            sent = True
            answer = await _received(link, begun=False)
            if not answer:
                raise trio.BrokenResourceError("the worker closed the link")
        if waiting.cancelled_caught:
            see_that_read(link, sent=sent)  # a worker that has read the request can take longer
        await self._answer(answer)
        return True

    async def _answer(self, data: bytes = b"") -> None:
        reply, send, started = self.reply, self._send, False
        while not reply.complete:
            data = data or await _received(self.link, begun=reply.begun)
            if not data:
                raise trio.BrokenResourceError("the worker closed the link")
            reply.feed(data)
            data = b""
            if reply.begun and reply.status in self._unwanted:
                raise NotBegunError
            if reply.begun and not started:
                started = self._exchange.relayed = True
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
        body = b"".join(reply.pieces)
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _stream(self, data: bytes) -> bool:
        sent = False
        broken: Exception | None = None

        async def send_on() -> None:
            nonlocal data, sent
            with suppress(OSError, trio.BrokenResourceError):  # the answer can have come before
                while not sent:
                    await self.link.send_all(data)
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return
                    last = not message["more_body"]
                    data = body_on_link(self._exchange.head, message["body"], last=last)
                    if last:
                        await self.link.send_all(data)
                        sent = True

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_on)
            try:
                await self._answer()
            except (
                OSError,
                trio.BrokenResourceError,
                httptools.HttpParserError,
                NotBegunError,
            ) as error:
                broken = error
            nursery.cancel_scope.cancel()
        if broken is not None:
            raise broken
        return sent


async def _received(link: Link, *, begun: bool) -> bytes:
    """Return the next bytes of the answer.

    Raises NotBegunError if a link within this machine is reset before the answer has `begun`: the worker
    ended before it had read the whole request. A link to another machine can be reset for other reasons
    too. So a reset of such a link raises BrokenResourceError instead.
    """
    try:
        return await link.receive_some(PIECE)
    except trio.BrokenResourceError as error:
        unread = isinstance(error.__cause__, ConnectionResetError)
        if unread and not begun and link.socket.family == socket.AF_UNIX:
            raise NotBegunError from error
        raise


async def _hand_over(link: Link, data: bytes) -> None:
    try:
        await link.send_all(data)
    except (OSError, trio.BrokenResourceError) as error:
        raise NotBegunError from error  # the request's last byte was not sent


async def _read(link: Link) -> None:
    """Wait until the worker has read everything that was sent to it, but at most LINK_S. If the worker
    has not read everything by then, close the link and raise an error, as `see_that_read` does."""
    rest_s = FIRST_LOOK_S
    with trio.move_on_after(LINK_S):
        while _unread(link):
            await trio.sleep(rest_s)
            rest_s = min(2 * rest_s, LAST_LOOK_S)
    see_that_read(link, sent=True)


def see_that_read(link: Link, *, sent: bool) -> None:
    """Check that the worker has read `Outgoing.data`: the whole request, or only its head if its body is
    still arriving. If the worker has not, close the link and raise an error. `sent`: all of the data was
    sent on the link.

    - AwayError: the link was closed before the worker had read the data. Such a request is never served,
      because the worker drops it.
    - SilentError: all of the data was sent to another machine, and that machine has not acknowledged all
      bytes. It is unknown whether the worker has got the data.
    - Any other BrokenResourceError: the worker read the rest of the data just before the link was closed.
      The worker can have begun the request.
    """
    if sent and not _unread(link):
        return
    local = link.socket.family == socket.AF_UNIX
    link.socket.shutdown(socket.SHUT_RDWR)
    if sent and not local:
        raise SilentError("the other machine does not answer")
    if sent and not _unread(link):  # the worker has just read the rest
        raise trio.BrokenResourceError("the link was closed just as the worker began the request")
    raise AwayError


def _unread(link: Link) -> int:
    """Return 0 if the other end has read everything that was sent."""
    size = fcntl.ioctl(link.socket.fileno(), termios.TIOCOUTQ, bytes(4))
    return int(struct.unpack("i", size)[0])
