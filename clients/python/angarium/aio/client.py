"""The asynchronous client: a connection pool, retries, and the resources."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar, cast
from urllib.request import getproxies

import httpx

from angarium.aio.made.groups import AsyncGroups
from angarium.calls import Call
from angarium.connections import async_transport
from angarium.errors import ConnectionFailedError
from angarium.exchange import TIMEOUT_S, Again, Exchange, client_options, refused
from angarium.pauses import asleep
from angarium.retry import RetryPolicy
from angarium.shapes import AuthContext, Environment, Throughput

Answer = TypeVar("Answer")


class AsyncClient(AsyncGroups):
    """The client of one Angarium service, with one key. Share it between tasks.

    `environment` is for MCP keys only, and is sent with every call. `timeout_s` is the limit of each
    attempt. `trust_env=False` ignores proxy variables. `transport` is for tests.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        environment: Environment | None = None,
        timeout_s: float = TIMEOUT_S,
        retry: RetryPolicy | None = None,
        trust_env: bool = True,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(self.send, self.read)
        options = client_options(base_url, api_key, environment, timeout_s, trust_env)
        made = transport or async_transport(proxied=trust_env and bool(getproxies()))
        self._http = httpx.AsyncClient(transport=made, **options)
        self._policy = retry or RetryPolicy()

    async def auth_context(self) -> AuthContext:
        """Return the key's workspace, environment and scope."""
        return await self.send(Call("GET", "/auth/context"))

    async def throughput(self, environment: Environment) -> Throughput:
        """Return an environment's rates over the last minute."""
        query = {"environment": environment}
        return await self.send(Call("GET", "/observability/throughput", query))

    async def send(self, call: Call[Answer]) -> Answer:
        """Perform a call, with retries as the policy allows. Raises AngariumError."""
        exchange = Exchange(call, self._policy)
        while True:
            try:
                verdict = exchange.answered(await self._http.send(exchange.request(self._http)))
            except httpx.RequestError as error:
                verdict = exchange.failed(error)
            if not isinstance(verdict, Again):
                return cast(Answer, verdict)
            await asleep(verdict.delay_s)

    async def read(self, path: str) -> AsyncIterator[bytes]:
        """Yield the bytes of an answer, without retries. Raises AngariumError, also if the connection
        breaks between two pieces."""
        try:
            async with self._http.stream("GET", path, headers={"accept": "*/*"}) as response:
                if not response.is_success:
                    await response.aread()
                    raise refused(response)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx.RequestError as error:
            raise ConnectionFailedError(f"GET {path}: {error or type(error).__name__}") from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
