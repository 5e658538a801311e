"""Streaming of requests and answers in the framework. At most one chunk of a request's body is in memory.
The source of an answer's body is closed when the request ends, even if the client has left."""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable
from quart.routing import QuartRule
from quart.wrappers.response import ResponseBody
from quart_trio import QuartTrio
from quart_trio.asgi import TrioASGIHTTPConnection
from quart_trio.wrappers import TrioRequest
from quart_trio.wrappers.request import TrioBody

# An ASGI extension of the door: `scope["extensions"][STREAM]` is a function, which the application calls
# before it streams a request's body. After the call, the door counts only the bytes of the body that are
# in memory, and the body can arrive for longer than 30 s if its bytes keep coming.
STREAM = "angarium.stream"
CLOSE_S = 5.0  # to close the source of an answer after its request was cancelled


class Inflow(TrioBody):
    """A request's body. At most one chunk of the body is in memory. The framework's own class has no
    limit on the chunks in memory."""

    def __init__(self, expected_content_length: int | None, max_content_length: int | None) -> None:
        super().__init__(expected_content_length, None)
        self._held = b""
        self._ended = False
        self._news = trio.Event()
        self._taken = trio.Event()
        self._wanted = trio.Event()

    def append(self, data: bytes) -> None:
        if data:
            self._held += data
            self._news.set()

    def set_complete(self) -> None:
        self._ended = True
        self._news.set()

    async def wait_wanted(self) -> None:
        await self._wanted.wait()

    async def wait_taken(self) -> None:
        while self._held:
            self._taken = trio.Event()
            await self._taken.wait()

    async def __anext__(self) -> bytes:
        self._wanted.set()
        while not self._held:
            if self._ended:
                raise StopAsyncIteration
            self._news = trio.Event()
            await self._news.wait()
        data, self._held = self._held, b""
        self._taken.set()
        return data

    def __await__(self) -> Generator[Any, None, bytes]:
        return self._whole().__await__()

    async def _whole(self) -> bytes:
        return b"".join([part async for part in self])


class Request(TrioRequest):
    """A request. The callbacks in `endings` run after its answer was sent or abandoned."""

    body_class = Inflow

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.endings = AsyncExitStack()


class Outflow(ResponseBody):
    """An answer's body, read as fast as the client takes it. This class does not close the source of the
    body: a callback in `Request.endings` closes it."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def __aenter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def __aexit__(
        self, exc_type: type, exc_value: BaseException, traceback: TracebackType
    ) -> None:
        pass


class _Connection(TrioASGIHTTPConnection):
    async def handle_messages(  # type: ignore[override]  # as quart_trio's own does
        self, nursery: trio.Nursery, request: Request, receive: ASGIReceiveCallable
    ) -> None:
        """Cancel the request if its client leaves."""
        body = request.body
        assert isinstance(body, Inflow)
        if "Expect" in request.headers:  # `receive` would send 100 Continue
            await body.wait_wanted()
        while (message := await receive())["type"] == "http.request":
            body.append(message.get("body", b""))
            if message.get("more_body", False):
                await body.wait_taken()
            else:
                body.set_complete()
        nursery.cancel_scope.cancel()

    async def handle_request(  # type: ignore[override]  # as quart_trio's own does
        self, nursery: trio.Nursery, request: Request, send: ASGISendCallable
    ) -> None:
        try:
            await super().handle_request(nursery, request, send)
        finally:
            with trio.move_on_after(CLOSE_S, shield=True):
                await request.endings.aclose()


class Path(QuartRule):
    """A URL rule that can only match requests. The framework's own rules can also build URLs, and would
    compile functions for this. The compilation would add 0.1 s to each start."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        return _no_url


def _no_url(*_: object, **__: object) -> tuple[str, str]:
    raise NotImplementedError("URLs are not made from the names of routes")


class Application(QuartTrio):
    """The framework's application, with this module's classes of connections, requests and URL rules."""

    asgi_http_class = _Connection
    request_class = Request
    url_rule_class = Path  # type: ignore[assignment]  # Quart's own type is as narrow
