# Made of the API's routes by `python -m api.generation`; do not edit.
"""The synchronous client: a connection pool, retries, and the resources."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self, TypeVar, cast
from urllib.request import getproxies

import httpx

from angarium.calls import Call
from angarium.connections import sync_transport
from angarium.errors import ConnectionFailedError
from angarium.exchange import TIMEOUT_S, Again, Exchange, client_options, refused
from angarium.pauses import sleep
from angarium.retry import RetryPolicy
from angarium.shapes import AuthContext, Environment, Throughput
from angarium.sync.made.groups import Groups

Answer = TypeVar("Answer")


class Client(Groups):
    """The client of one Angarium service, with one key. Safe to share between threads.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(self.send, self.read)
        options = client_options(base_url, api_key, environment, timeout_s, trust_env)
        made = transport or sync_transport(proxied=trust_env and bool(getproxies()))
        self._http = httpx.Client(transport=made, **options)
        self._policy = retry or RetryPolicy()

    def auth_context(self) -> AuthContext:
        """Return the key's workspace, environment and scope."""
        return self.send(Call("GET", "/auth/context"))

    def throughput(self, environment: Environment) -> Throughput:
        """Return an environment's rates over the last minute."""
        query = {"environment": environment}
        return self.send(Call("GET", "/observability/throughput", query))

    def send(self, call: Call[Answer]) -> Answer:
        """Perform a call, with retries as the policy allows. Raises AngariumError."""
        exchange = Exchange(call, self._policy)
        while True:
            try:
                verdict = exchange.answered(self._http.send(exchange.request(self._http)))
            except httpx.RequestError as error:
                verdict = exchange.failed(error)
            if not isinstance(verdict, Again):
                return cast(Answer, verdict)
            sleep(verdict.delay_s)

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an answer, without retries. Raises AngariumError, also if the connection
        breaks between two pieces."""
        try:
            with self._http.stream("GET", path, headers={"accept": "*/*"}) as response:
                if not response.is_success:
                    response.read()
                    raise refused(response)
                yield from response.iter_bytes()
        except httpx.RequestError as error:
            raise ConnectionFailedError(f"GET {path}: {error or type(error).__name__}") from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
