"""The asynchronous client's transport: its idle connections are a stack, so the cost of a request does
not depend on the number of tasks.

httpx's pool examines all its requests and connections whenever a request begins or ends: with 64 tasks,
an event cost four times as much as with one. Each connection here is a pool of one.
"""

from collections.abc import AsyncIterator

import anyio
import httpx

MOST = 100  # connections; further requests wait for one


class StackTransport(httpx.AsyncBaseTransport):
    """A transport that prefers the connection used last. It is for one origin, without proxies."""

    def __init__(self, *, most: int = MOST) -> None:
        self._context = httpx.create_ssl_context()  # shared, because making it takes 10 ms
        self._idle: list[httpx.AsyncHTTPTransport] = []
        self._all: set[httpx.AsyncHTTPTransport] = set()
        self._places = anyio.Semaphore(most)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Its connection is free again when the answer is closed."""
        wait_s = request.extensions.get("timeout", {}).get("pool")
        try:
            with anyio.fail_after(wait_s):
                await self._places.acquire()
        except TimeoutError:
            raise httpx.PoolTimeout("no connection is free", request=request) from None
        connection = self._idle.pop() if self._idle else self._made()
        try:
            response = await connection.handle_async_request(request)
        except BaseException:
            self._release(connection)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Answer(response.stream, self, connection)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        while self._all:
            await self._all.pop().aclose()
        self._idle.clear()

    def _made(self) -> httpx.AsyncHTTPTransport:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        connection = httpx.AsyncHTTPTransport(verify=self._context, limits=limits)
        self._all.add(connection)
        return connection

    def _release(self, connection: httpx.AsyncHTTPTransport) -> None:
        self._idle.append(connection)
        self._places.release()


class _Answer(httpx.AsyncByteStream):
    """An answer's bytes. Closing them frees the connection."""

    def __init__(
        self,
        stream: httpx.AsyncByteStream,
        transport: StackTransport,
        connection: httpx.AsyncHTTPTransport,
    ) -> None:
        self._stream = stream
        self._transport = transport
        self._connection: httpx.AsyncHTTPTransport | None = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        try:
            await self._stream.aclose()
        finally:
            if connection is not None:
                self._transport._release(connection)


def async_transport(*, proxied: bool) -> StackTransport | None:
    """Return the transport of an asynchronous client, None for httpx's own, which supports proxies."""
    return None if proxied else StackTransport()


def sync_transport(*, proxied: bool) -> httpx.BaseTransport | None:
    """Return None, which means httpx's own transport: it is fast enough for the few threads of one
    client."""
    return None
