"""The door of a simulated process: it answers callers' requests while the process lives.

If there are several nodes, the real relay passes each request to the node that owns the request's
workspace.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec
import trio

from api.door.exchange import Exchange, Message
from api.door.framing import Head
from api.door.request_relay import RequestRelay
from engine.core.vocabulary import CredentialKind, Scope
from engine.ingest.ingest import Reply
from engine.model.errors import Refusal
from engine.model.read_models import Credential
from engine.ports import StoreAwayError, StoreError
from tests.sim.tenants import workspace_of
from tests.sim.trace import Relayed

if TYPE_CHECKING:
    from tests.sim.process import Process

Work = Callable[["Process"], Awaitable[Any]]
ADDRESSES = [(f"203.0.113.{number}", 40_000) for number in range(3)]
FAR_S = 25.0  # a node keeps no caller waiting for longer
HALVED = 0.3  # this share of the relayed requests comes in two pieces


class Client:
    """One request and its result. `work` is None if the request posts events. Otherwise, it is the
    function that serves the request."""

    def __init__(
        self, request: int, environment: int, body: bytes, *, batch: bool = False,
        work: Work | None = None,
    ) -> None:  # fmt: skip
        self.request = request
        self.environment = environment
        self.body = body
        self.batch = batch
        self.work = work
        self.results: list[Any] = []


class Door:
    """Owner of the callers who wait for a process's answers."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._waiters: dict[trio.Event, None] = {}
        self._request_relay: RequestRelay | None = None
        if not process.part.whole:
            self._request_relay = RequestRelay(process.part, _credential, self._dial, _caught_up)

    async def take(self, client: Client, patience_s: float) -> Reply | None:
        """Serve a request that posts events. Return the reply, or None if no answer comes."""
        if (
            self._request_relay is not None
            and (part := self._request_relay.part_of(_fields(client))) is not None
        ):
            return await self._relayed(part, client, patience_s)
        return await self._own(client, patience_s)

    async def _own(self, client: Client, patience_s: float) -> Reply | None:
        process = self._process
        replies: list[Reply] = []
        answered = trio.Event()

        def done(reply: Reply) -> None:
            if not process.dead:
                replies.append(reply)
                answered.set()

        async def submit() -> None:
            await process.awake()
            environment = process.models.environments[client.environment]
            process.ingest.submit(environment, client.body, client.batch, done)

        await self._asked(submit, answered, patience_s)
        return replies[0] if replies else None

    async def perform(self, client: Client, patience_s: float) -> Sequence[Any | Exception]:
        """Run a client's `work`. Return a list with its result, or an empty list if no answer comes."""
        if (
            self._request_relay is not None
            and (part := self._request_relay.part_of(_fields(client))) is not None
        ):
            reply = await self._relayed(part, client, patience_s)
            if reply is None:
                return []
            if reply.code == "overloaded":
                return [StoreAwayError("the node of the workspace is not there")]
            return client.results if reply.code is None else [RuntimeError(reply.code)]
        return await self._performed(client, patience_s)

    async def _performed(self, client: Client, patience_s: float) -> Sequence[Any | Exception]:
        process = self._process
        results: list[Any | Exception] = []
        answered = trio.Event()
        assert client.work is not None
        work = client.work

        async def attempt() -> None:
            await process.awake()
            try:
                result = await work(process)
            except (Refusal, StoreError) as error:
                result = error
            if not process.dead:
                results.append(result)
                answered.set()

        await self._asked(attempt, answered, patience_s)
        return results

    @property
    def asked(self) -> bool:
        """True if a caller waits for an answer."""
        return bool(self._waiters)

    def close(self) -> None:
        """End the waiting of all callers: no answer will come."""
        for waiter in self._waiters:
            waiter.set()

    async def _asked(
        self, work: Callable[[], Awaitable[None]], answered: trio.Event, patience_s: float
    ) -> None:
        try:
            self._process.background.spawn(work)
        except RuntimeError:  # the node is ending: its connections close
            return
        self._waiters[answered] = None
        with trio.move_on_after(patience_s):
            await answered.wait()
        self._waiters.pop(answered, None)

    # --- several nodes

    async def answer(self, client: Client, body: bytes) -> tuple[int, bytes] | None:
        """Serve a relayed request. Return the status and the body, or None if no answer comes."""
        assert body == client.body
        self._process.world.tell(Relayed, client.request, self._process.number)
        if client.work is not None:
            results = await self._performed(client, FAR_S)
            client.results = list(results)
            return (200, b"{}") if results else None
        reply = await self._own(client, FAR_S)
        if reply is None:
            return None
        if reply.code is None:
            return reply.status, reply.body
        return reply.status, msgspec.json.encode({"code": reply.code})

    async def _relayed(self, part: int, client: Client, patience_s: float) -> Reply | None:
        process, request_relay = self._process, self._request_relay
        assert request_relay is not None
        links = process.world.links
        links.clients[client.request] = client
        halved = links.chance.random() < HALVED
        address = links.chance.choice(ADDRESSES)
        exchange = _Exchange(process, client, halved=halved)
        answered = trio.Event()

        async def relay() -> None:
            await process.awake()
            with suppress(BrokenPipeError), exchange.scope:
                await request_relay.relay(
                    part, cast(Exchange, exchange), address, exchange.receive, exchange.send
                )
            answered.set()

        await self._asked(relay, answered, patience_s)
        exchange.gone = True
        exchange.scope.cancel()
        return exchange.reply() if exchange.whole and not process.dead else None

    async def _dial(self, part: int, client: tuple[str, int]) -> trio.SocketStream:
        del client
        return await self._process.world.links.dial(self._process, part)


class _Exchange:
    """A simulated `api.door.exchange.Exchange`, with the methods that the relay calls. It stands for a
    request at the node that got it from the client and relays it."""

    def __init__(self, process: "Process", client: Client, *, halved: bool) -> None:
        path = b"/events/batch" if client.batch else b"/events"
        if client.work is not None:
            path = b"/work"
        self.head = Head(b"POST", path, b"", 1, list(_fields(client).items()))
        self.head.length = len(client.body)
        self.request_id = str(client.request)
        self.started = self.relayed = self.gone = self.whole = False
        self.scope = trio.CancelScope()
        self._process = process
        half = len(client.body) // 2 if halved else 0
        self._body_sent = client.body
        self._pieces = [client.body[half:], client.body[:half]] if half else [client.body]
        self._status = 0
        self._body = b""

    def rewind(self) -> None:
        """Let the body be read again, for a planted bug."""
        self._pieces = [self._body_sent]

    def stream(self) -> None:
        """Note that the body is relayed piece by piece."""

    async def receive(self) -> Message:
        await self._process.awake()
        if not self._pieces:
            await trio.sleep_forever()
        body = self._pieces.pop()
        return {"type": "http.request", "body": body, "more_body": bool(self._pieces)}

    async def send(self, message: Message) -> None:
        await self._process.awake()
        self.started = True
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        self._body += message["body"]
        self.whole = not message.get("more_body")

    def reply(self) -> Reply:
        if self._status < 300:
            return Reply(self._status, self._body)
        return Reply(self._status, b"", msgspec.json.decode(self._body)["code"])


def _fields(client: Client) -> dict[bytes, bytes]:
    return {b"authorization": b"Bearer %d" % client.environment}


def _credential(authorization: bytes | None) -> Credential | None:
    if authorization is None:
        return None
    return Credential(
        kind=CredentialKind.API_KEY,
        key_id="caller",
        workspace=workspace_of(int(authorization.removeprefix(b"Bearer "))),
        environment=None,
        scope=Scope.MANAGE,
    )


async def _caught_up() -> None:
    """Return at once: every node knows every key."""
