"""A client of an ASGI application in this process. Bodies and answers are held whole."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

import httpx
import trio

_Message = MutableMapping[str, Any]
Application = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]],
    Awaitable[None],
]
Fields = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class InsideAnswer:
    """The answer. The names of `fields` are in lower case."""

    status: int
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes


async def ask(
    application: Application,
    method: str,
    path: str,
    fields: Fields,
    body: bytes,
    *,
    query: bytes = b"",
    address: str = "",
) -> InsideAnswer:
    """Call the application. `path` is not percent-encoded. `address` is the client's address."""
    requests: list[_Message] = [{"type": "http.request", "body": body, "more_body": False}]
    answers: list[_Message] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": list(fields),
        "client": (address, 0),
        "server": None,
        "extensions": {},
        "state": {},
    }

    async def receive() -> _Message:
        if requests:
            return requests.pop()
        await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: _Message) -> None:
        answers.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            ended.set()

    ended = trio.Event()
    await application(scope, receive, send)
    start = answers[0]
    parts = (message.get("body", b"") for message in answers[1:])
    return InsideAnswer(start["status"], tuple(start["headers"]), b"".join(parts))


class InsideTransport(httpx.AsyncBaseTransport):
    """A transport that connects the client library with an application in this process."""

    def __init__(self, application: Application, address: str) -> None:
        self._application = application
        self._address = address

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await ask(
            self._application,
            request.method,
            request.url.path,
            [(name.lower(), value) for name, value in request.headers.raw],
            await request.aread(),
            query=request.url.query,
            address=self._address,
        )
        return httpx.Response(answer.status, headers=list(answer.fields), content=answer.body)
