"""One request over HTTP/2, with the deadlines, bounds and endings that the door gives HTTP/1.1.

Wraps the application. Hypercorn below knows none of these, and its flow control waits for ever.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio

from api.door.asgi import App
from api.door.exchange import Message
from api.door.limits import NO_WORKSPACE, SLICE_BYTES, Limits
from api.door.progress import Progress
from api.envelope import request_id_of
from api.ingestion import PATHS, Ingestion, at_gate, body_late, no_room, refusal_of
from api.streaming import STREAM
from engine.errors import Refusal

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Http2Requests:
    """The application as Hypercorn calls it."""

    def __init__(
        self,
        app: App,
        ingestion: Ingestion,
        limits: Limits,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._app = app
        self._ingestion = ingestion
        self._limits = limits
        self._on_error = on_error

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """See ASGI."""
        request = _Request(self._ingestion, self._limits, scope, receive, send)
        try:
            with request.scope:
                await self._app(request.asgi, request.receive, request.send)
        except Exception as error:  # the adapter's barrier: one request
            if not request.gone:
                self._on_error(error)
            await request.refuse(Refusal("internal", "the request failed"))
            return
        finally:
            request.give_back()
        if request.refusal is not None:
            await request.refuse(request.refusal)


class _Request:
    """What is known of one request while the application answers it."""

    def __init__(
        self, ingestion: Ingestion, limits: Limits, scope: Message, receive: Receive, send: Send
    ) -> None:
        fields = dict(scope["headers"])
        self.request_id = request_id_of(fields.get(b"x-request-id"))
        self.asgi = {
            **scope,
            "state": {"request_id": self.request_id},
            "extensions": {STREAM: self.stream},
        }
        self.scope = trio.CancelScope(deadline=trio.current_time() + limits.body_s)
        self.refusal: Refusal | None = body_late()  # what has happened when the scope is cancelled
        self.gone = False
        self._started = False
        self._ingestion = ingestion
        self._limits = limits
        self._receive = receive
        self._send = send
        self._fields: dict[bytes, bytes] = fields
        # The ingestion routes draw on their workspace's budget themselves.
        self._draws = scope["raw_path"] not in PATHS
        self._drawn = 0
        self._receiving = False
        self._progress: Progress | None = None  # of a body that is streamed, and has not ended

    def stream(self) -> None:
        """See `Passing.stream`."""
        self.give_back()
        self._draws = False
        if self.refusal is not None:  # the body has not ended
            self._progress = Progress(self._limits)
            self._progress.stream()
            self.scope.deadline = float("inf")
            if self._receiving:
                self._await_body()

    def _await_body(self) -> None:
        """Give the client time for what is to come of a streamed body."""
        if self._progress is not None:
            now = trio.current_time()
            self.scope.deadline = now + self._progress.wait(now)

    async def receive(self) -> Message:
        """Pass a part of the body on; its last part ends the body's deadline."""
        self._receiving = True
        self._await_body()
        message: Message = await self._receive()
        self._receiving = False
        size = len(message.get("body", b""))
        if self._progress is not None:
            self._progress.came(size, trio.current_time())
            self.scope.deadline = float("inf")
        if message["type"] == "http.disconnect":
            self.gone = True
            self._body_ended()
        elif not message.get("more_body", False):
            self._body_ended()
        if size and self._draws:
            if not self._ingestion.bodies.draw(NO_WORKSPACE, size):
                self.refusal = no_room()
                self.scope.cancel()
                await trio.sleep_forever()  # until the cancellation arrives, at once
            self._drawn += size
        return message

    def _body_ended(self) -> None:
        self.scope.deadline = float("inf")
        self.refusal = None
        self._progress = None

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on in slices, each with the write deadline. Raises
        BrokenPipeError when the client does not take it."""
        body = message.get("body", b"")
        if message["type"] == "http.response.body" and len(body) > SLICE_BYTES:
            for at in range(0, len(body), SLICE_BYTES):
                last = at + SLICE_BYTES >= len(body)
                more = message.get("more_body", False) if last else True
                piece = body[at : at + SLICE_BYTES]
                await self._pass({"type": message["type"], "body": piece, "more_body": more})
        else:
            await self._pass(message)

    async def _pass(self, message: Message) -> None:
        self._started = True
        if message["type"] == "http.response.start" and b"origin" in self._fields:
            own = list(message["headers"])
            method = self.asgi["method"].encode("latin-1")
            told = self._ingestion.cors.headers(method, self._fields, message["status"], own)
            message = {**message, "headers": own + told}
        with trio.move_on_after(self._limits.write_s) as waiting:
            await self._send(message)
        if waiting.cancelled_caught:
            self.gone = True
            raise BrokenPipeError("the client does not read")

    async def refuse(self, refusal: Refusal) -> None:
        """Answer in the application's stead, where it has not begun to."""
        if self._started or self.gone:
            return
        allowance = self._ingestion.gate.anonymous()
        answer = refusal_of(at_gate(refusal, allowance), allowance, self.request_id)
        start = {"type": "http.response.start", "status": answer.status}
        with suppress(BrokenPipeError):
            await self.send({**start, "headers": answer.headers()})
            await self.send({"type": "http.response.body", "body": answer.body})

    def give_back(self) -> None:
        """Return what was drawn for the body."""
        if self._drawn:
            self._ingestion.bodies.give_back(NO_WORKSPACE, self._drawn)
            self._drawn = 0
