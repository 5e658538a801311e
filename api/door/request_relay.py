"""The relay of requests whose workspaces belong to other workers.

A request that came over a link is never relayed again.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping

import httptools
import msgspec
import trio
from msgspec import Struct

from api.door.channel import Address
from api.door.conversation import (
    AwayError,
    Conversation,
    NotBegunError,
    Outgoing,
    Receive,
    Send,
    SilentError,
    prepared,
)
from api.door.exchange import Exchange
from api.door.framing import Head
from api.envelope import envelope
from api.ingestion import PATHS
from engine.model.idempotency import HEADER
from engine.model.read_models import Credential
from engine.nodes.parts import WorkerPart, number_of
from engine.peers.parts import Link

SAFE = frozenset({b"GET", b"HEAD", b"OPTIONS"})  # they change nothing (RFC 9110, 9.2.1)
_ONCE = frozenset({b"/events", b"/files"})  # paths that use the header Idempotency-Key
UNKNOWN = -1  # the part of a credential that this worker does not know yet
_OUTCOME_UNKNOWN = (
    "the workspace's server process failed during the request, and the outcome is unknown: see whether"
    " the change was made, and repeat the request if it was not"
)
_AWAY = "the workspace's server process does not respond: try again"
IDLE_LINKS = 256  # kept for the next request of the same client
LINK_S = 2.0  # to reach another worker, which can be restarting
# When the outcome of a request is unknown, the relay sends the request again to the part's next worker.
# The relay waits this long for a link to the next worker. A killed worker or a dead computer is replaced
# in 1 to 4 s.
AFRESH_S = 5.0
AGAIN_S = 0.05  # between two tries
# The relay tries up to three times to send a request. Each entry is a try: False if the try can use an
# idle link, True if the try opens a new link. The first try can fail because its idle link has ended. The
# second try can fail because the other worker is killed meanwhile.
TRIES = (False, True, True)
AWAY_S = 1.0  # from the time when a worker does not respond until it is tried again
CATCH_UP_S = 1.0  # to learn of a credential that another worker has just made
STRANGERS = 64  # the requests with unknown credentials that can wait at once

# Opens a link for a client's requests to the worker of a part. Raises OSError.
Dial = Callable[[int, Address], Awaitable[Link]]


class RequestRelay:
    """The relay and its idle links."""

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
        """`catch_up` waits until this worker has read all configuration written so far. `places` limits
        the requests that are relayed at once: each relayed request needs a file descriptor in this worker
        and in the other worker. `moved` is a function, or None if parts do not move. Each call returns
        the parts that have moved to other nodes since the call before."""
        self._places = trio.CapacityLimiter(places)
        self._part = part
        self._lookup = lookup
        self._dial = dial
        self._catch_up = catch_up
        self._idle: dict[tuple[int, str], list[Link]] = {}
        self._kept = 0
        self._under_way: defaultdict[int, set[trio.CancelScope]] = defaultdict(set)
        self._strangers = trio.CapacityLimiter(STRANGERS)
        self._decides = trio.Lock()
        self._moved = moved
        self._moves: Counter[int] = Counter()
        self._away_until: dict[int, float] = {}  # by part, in trio's time
        self.relayed = 0

    def part_of(self, fields: Mapping[bytes, bytes]) -> int | None:
        """Return the part whose worker must answer a request. None: this worker must answer it. UNKNOWN:
        `decide` must find out.
        """
        authorization = fields.get(b"authorization")
        if authorization is None:
            return None
        credential = self._lookup(authorization)
        if credential is None:
            return UNKNOWN if self._strangers.available_tokens else None
        number = number_of(credential.workspace, self._part.of)
        return None if number == self._part.number else number

    async def decide(self, fields: Mapping[bytes, bytes]) -> int | None:
        """Read newer configuration, because the request's credential was unknown. Return the part whose
        worker must answer the request. None: this worker must answer it, perhaps because the credential
        is still unknown."""
        if self._strangers.available_tokens:
            async with self._strangers:
                with trio.move_on_after(CATCH_UP_S):
                    await self._catch_up()
                # Many requests can wait for the same configuration. If all these requests continued in
                # one round of trio's loop, the round would take 10 ms. So let only one request continue
                # in each round.
                async with self._decides:
                    await trio.lowlevel.checkpoint()
        part = self.part_of(fields)
        return None if part == UNKNOWN else part

    async def relay(
        self, part: int, exchange: Exchange, client: Address, receive: Receive, send: Send
    ) -> None:
        """Let another worker answer a request.

        `part`: the part of the workspaces whose worker must answer.

        The relay tries up to three times (`TRIES`) to send the request. Each try goes to the worker that
        then serves the part. If surely no worker has begun the request, the answer is 503.

        If a worker may have begun the request, and the link breaks before the answer has begun, the
        outcome is unknown. The relay then tries again, except in three cases: the relay no longer has the
        whole request, a repeat could have a second effect, or the error is a SilentError. If the outcome
        stays unknown, the answer is 503 for a method that changes nothing, and 500 for any other method.

        Raises BrokenPipeError if the client is gone, or if the link breaks after the answer has begun.
        """
        self.relayed += 1
        if self.is_away(part):
            await _refuse(exchange, send, 503, "overloaded", _AWAY)
            return
        with trio.move_on_after(LINK_S) as waiting:
            await self._places.acquire_on_behalf_of(exchange)
        if waiting.cancelled_caught:
            await _refuse(
                exchange, send, 503, "overloaded", "too many requests are being relayed: try again"
            )
            return
        try:
            await self._relay(part, exchange, client, receive, send)
        finally:
            self._places.release_on_behalf_of(exchange)

    async def _relay(
        self, part: int, exchange: Exchange, client: Address, receive: Receive, send: Send
    ) -> None:
        outgoing: Outgoing | None = None
        doubtful = False  # a worker may have served the request
        for fresh in TRIES:
            try:
                within_s = AFRESH_S if doubtful else LINK_S
                link = await self._link(part, client, fresh=fresh, within_s=within_s)
            except OSError:
                break
            conversation = Conversation(link, exchange, receive, send, doubtful=doubtful)
            try:
                outgoing = outgoing or await prepared(exchange, receive)
                sent = await self._conversed(part, conversation, outgoing)
            except NotBegunError:  # a kept link can end at any time
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
                    # The part's idle links lead to the computer that has just failed to respond. Drop
                    # the idle links, so that the part's next request opens a new link.
                    self._drop_idle(part)
                await trio.aclose_forcefully(link)
                if exchange.started or exchange.gone:
                    raise BrokenPipeError("the link or the client broke off") from None
                doubtful = True
                if (
                    isinstance(error, SilentError)
                    or outgoing is None
                    or outgoing.streamed
                    or not can_repeat(exchange.head, outgoing.data)
                ):
                    break
            except BaseException:
                await trio.aclose_forcefully(link)
                raise
            else:
                await self._keep(link, (part, client[0]), sent and conversation.reply.keep_alive)
                return
        if doubtful and exchange.head.method not in SAFE:
            await _refuse(
                exchange,
                send,
                500,
                "internal",
                _OUTCOME_UNKNOWN,
            )
        else:
            await _refuse(exchange, send, 503, "overloaded", _AWAY)

    def leave_out(self, part: int) -> None:
        """Refuse a part's requests for `AWAY_S`."""
        self._away_until[part] = trio.current_time() + AWAY_S

    def is_away(self, part: int) -> bool:
        """Return True while the requests of a part are refused."""
        return trio.current_time() < self._away_until.get(part, 0.0)

    async def _conversed(self, part: int, conversation: Conversation, outgoing: Outgoing) -> bool:
        with trio.CancelScope() as scope:
            self._under_way[part].add(scope)
            try:
                return await conversation.hold(outgoing)
            finally:
                self._under_way[part].discard(scope)
        raise trio.BrokenResourceError("another node has the part now")

    def refresh(self) -> None:
        """Drop the links of the parts that have moved."""
        for part in () if self._moved is None else self._moved():
            self.forget(part)

    def forget(self, part: int) -> None:
        """Close all links of a part, and cancel the requests on them."""
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
        """Close the idle links."""
        for part in {part for part, _ in self._idle}:
            self.forget(part)

    async def _link(self, part: int, client: Address, *, fresh: bool, within_s: float) -> Link:
        # `refresh` cancels all requests of a part that has moved to another node. Call `refresh` before
        # opening a link to the new node: a later call would also cancel the request on the new link.
        self.refresh()
        kept = None if fresh else self._idle.get((part, client[0]))
        while kept:
            link = kept.pop()
            self._kept -= 1
            if not link.socket.is_readable():  # readable: the link has ended
                return link
            await trio.aclose_forcefully(link)
        with trio.move_on_after(within_s):
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
                    await trio.aclose_forcefully(link)  # it leads to the part's former node
                self.refresh()
        raise TimeoutError("the worker does not answer")

    async def _keep(self, link: Link, key: tuple[int, str], keep: bool) -> None:
        if not keep:
            await trio.aclose_forcefully(link)
            return
        if self._kept >= IDLE_LINKS:  # close the links of the client that was added first
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


class _Keyed(Struct, rename="camel"):
    idempotency_key: str | None = None


class _KeyedBatch(Struct):
    events: list[_Keyed]


_event, _batch = msgspec.json.Decoder(_Keyed), msgspec.json.Decoder(_KeyedBatch)


def can_repeat(head: Head, data: bytes) -> bool:
    """Return True if serving a request twice has the same effect as serving the request once. `data` is
    the whole request in the form for a link (`api.door.link_form`)."""
    if head.method in SAFE:
        return True
    if head.method != b"POST":
        return False
    if head.path in _ONCE and HEADER in head.index:
        return True
    is_batch = PATHS.get(head.path)
    if is_batch is None or head.chunked:
        return False
    body = data[data.find(b"\r\n\r\n") + 4 :]
    try:
        events = _batch.decode(body).events if is_batch else [_event.decode(body)]
    except msgspec.DecodeError:
        return False
    return all(event.idempotency_key for event in events)
