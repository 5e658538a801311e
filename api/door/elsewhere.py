"""The relay of requests whose workspaces belong to other workers: their recognition and their way.

A request is relayed as HTTP/1.1 over a link to the worker that has the workspace. That worker's door
judges and answers it. A request that came over a link is never relayed again.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping

import httptools
import trio

from api.door.channel import Address
from api.door.conversation import (
    AwayError,
    LinkReply,
    NotBegunError,
    Outgoing,
    Receive,
    Send,
    SilentError,
    converse,
    prepared,
)
from api.door.exchange import Exchange
from api.envelope import envelope
from engine.model.read_models import Credential
from engine.nodes.parts import WorkerPart, number_of
from engine.peers.parts import Link

UNKNOWN = -1  # the part of a credential that this worker does not know, or not yet
_AWAY = "the workspace's worker is not there"
IDLE_LINKS = 256  # kept for the next request of the same client
LINK_S = 2.0  # to reach another worker, which may just be starting again
AGAIN_S = 0.05  # between two tries
AWAY_S = 1.0  # after a worker stood still, until it is tried again
CATCH_UP_S = 1.0  # to learn of a credential that another worker has just made
STRANGERS = 100  # requests with an unknown credential that wait at a time

# Opens a link for a client's requests to the worker of a part. Raises OSError.
Dial = Callable[[int, Address], Awaitable[Link]]


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
        """Let another worker answer a request. If that worker cannot be reached, or surely has not begun
        the request, the answer is 503. If the link breaks later before the answer, the result is unknown:
        500."""
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
        outgoing: Outgoing | None = None
        for fresh in (False, True):
            try:
                link = await self._link(part, client, fresh=fresh)
            except OSError:
                break
            reply = LinkReply(exchange.head.method == b"HEAD")
            try:
                outgoing = outgoing or await prepared(exchange, receive)
                sent = await self._conversed(part, link, reply, exchange, outgoing, receive, send)
            except NotBegunError:  # a kept link can end at any time, just as it is used too
                await trio.aclose_forcefully(link)
                if outgoing is not None and outgoing.streamed:
                    break
            except AwayError:
                self.leave_out(part)
                await trio.aclose_forcefully(link)
                break
            except (OSError, trio.BrokenResourceError, httptools.HttpParserError) as error:
                if isinstance(error, SilentError):
                    self.leave_out(part)
                    self._drop_idle(
                        part
                    )  # these are as dead: the next request opens a link, or gets 503
                await trio.aclose_forcefully(link)
                if exchange.started or exchange.gone:
                    raise BrokenPipeError("the link or the client broke off") from None
                await _refuse(exchange, send, 500, "internal", "the workspace's worker broke off")
                return
            except BaseException:
                await trio.aclose_forcefully(link)
                raise
            else:
                await self._keep(link, (part, client[0]), sent and reply.keep_alive)
                return
        await _refuse(exchange, send, 503, "overloaded", _AWAY)

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
        reply: LinkReply,
        exchange: Exchange,
        outgoing: Outgoing,
        receive: Receive,
        send: Send,
    ) -> bool:
        with trio.CancelScope() as scope:
            self._under_way[part].add(scope)
            try:
                return await converse(link, reply, exchange, outgoing, receive, send)
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
        self._drop_idle(part)
        for scope in self._under_way.get(part, ()):
            scope.cancel()

    def _drop_idle(self, part: int) -> None:
        for key in [key for key in self._idle if key[0] == part]:
            for link in self._idle.pop(key):
                self._kept -= 1
                link.socket.close()

    def close(self) -> None:
        """Close the idle links: the door has ended."""
        for part in {part for part, _ in self._idle}:
            self.forget(part)

    async def _link(self, part: int, client: Address, *, fresh: bool) -> Link:
        """Return a link to the node that has a part: a `fresh` one, or a kept one. Raises OSError."""
        # Before a link is used: the move must not end the requests that go to the new node.
        self.refresh()
        kept = None if fresh else self._idle.get((part, client[0]))
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
