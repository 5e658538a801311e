"""Requests and answers of the framework as streams: of a body one part is held at a time, and what an
answer is read from is closed whatever happens. Knows no route.
"""

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

# In a scope's `extensions`: call it before a body is streamed, and the door counts what it holds of it
# instead of all that came, and wants progress instead of an end in 30 s.
STREAM = "angarium.stream"
CLOSE_S = 5.0  # to close what an answer was read from, when its request was cancelled


class Inflow(TrioBody):
    """A request's body. A part is held until the application takes it, and no more comes before, so
    that what comes next waits at the client. (The framework's own takes whatever comes.)"""

    def __init__(self, expected_content_length: int | None, max_content_length: int | None) -> None:
        # How long a body may be is for its route to say.
        super().__init__(expected_content_length, None)
        self._held = b""
        self._ended = False
        self._news = trio.Event()  # for the application: a part, or the end
        self._taken = trio.Event()
        self._wanted = trio.Event()

    def append(self, data: bytes) -> None:
        """Hold a part."""
        if data:
            self._held += data
            self._news.set()

    def set_complete(self) -> None:
        """Note that no more comes."""
        self._ended = True
        self._news.set()

    async def wait_wanted(self) -> None:
        """Wait until the application asks for the body."""
        await self._wanted.wait()

    async def wait_taken(self) -> None:
        """Wait until nothing is held."""
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
    """A request whose body is an `Inflow`. `endings` are run when its answer has left, or will not."""

    body_class = Inflow

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.endings = AsyncExitStack()


class Outflow(ResponseBody):
    """An answer's body, read as fast as its client takes it. Closing is for the request's `endings`."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def __aenter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def __aexit__(
        self, exc_type: type, exc_value: BaseException, traceback: TracebackType
    ) -> None:
        pass


class _Connection(TrioASGIHTTPConnection):
    """One request between the server and the framework."""

    async def handle_messages(  # type: ignore[override]  # as quart_trio's own does
        self, nursery: trio.Nursery, request: Request, receive: ASGIReceiveCallable
    ) -> None:
        """Hand the body over part by part; cancel the request if its client leaves."""
        body = request.body
        assert isinstance(body, Inflow)
        if "Expect" in request.headers:  # to receive is to say that the body may come
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
        """Answer, and run the endings."""
        try:
            await super().handle_request(nursery, request, send)
        finally:
            with trio.move_on_after(CLOSE_S, shield=True):
                await request.endings.aclose()


class Path(QuartRule):
    """A rule that only matches. Nothing here makes a URL of a rule's name, and to compile what would do
    that for all of them took 0.1 s of each start."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        return _no_url


def _no_url(*_: object, **__: object) -> tuple[str, str]:
    raise NotImplementedError("URLs are not made from the names of routes")


class Application(QuartTrio):
    """The framework's application with these requests and rules."""

    asgi_http_class = _Connection
    request_class = Request
    url_rule_class = Path  # type: ignore[assignment]  # the framework's own takes no more either
