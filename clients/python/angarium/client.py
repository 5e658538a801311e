"""The synchronous client: a connection pool, retries, and the resources."""

import time
from types import TracebackType
from typing import Self, TypeVar, cast

import httpx

from angarium import calls
from angarium.calls import Call
from angarium.exchange import TIMEOUT_S, Again, Exchange, client_options
from angarium.resources import Deliveries, Destinations, Events, RoutingRules
from angarium.retry import RetryPolicy
from angarium.shapes import AuthContext

Answer = TypeVar("Answer")


class Client:
    """Talks to one Angarium service with one key. Safe to share between threads.

    `environment` is for MCP keys only, which name it on every call. `trust_env=False` ignores proxy
    variables. `transport` is for tests.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        environment: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retry: RetryPolicy | None = None,
        trust_env: bool = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        options = client_options(base_url, api_key, environment, timeout_s, trust_env)
        self._http = httpx.Client(transport=transport, **options)
        self._policy = retry or RetryPolicy()
        self.events = Events(self.send)
        self.destinations = Destinations(self.send)
        self.routing_rules = RoutingRules(self.send)
        self.deliveries = Deliveries(self.send)

    def auth_context(self) -> AuthContext:
        """Return who the key is."""
        return self.send(calls.auth_context())

    def send(self, call: Call[Answer]) -> Answer:
        """Perform a call, again where that is safe and useful. Raises AngariumError."""
        exchange = Exchange(call, self._policy)
        while True:
            try:
                verdict = exchange.answered(self._http.send(exchange.request(self._http)))
            except httpx.RequestError as error:
                verdict = exchange.failed(error)
            if not isinstance(verdict, Again):
                return cast(Answer, verdict)
            time.sleep(verdict.delay_s)

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
