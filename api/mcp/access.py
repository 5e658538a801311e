"""The access of one caller's tools to the API."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from angarium import AsyncClient
from angarium.shapes import Environment

Connect = Callable[[Environment | None], AsyncClient]


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """One caller's access to the API.

    `connect(environment)` returns a client for that environment; `connect(None)` returns a client for the
    environment of the key. `environment`: the environment of a tool call that names no environment.
    `manages`: True if the key's scope is `manage`.
    """

    connect: Connect
    environment: Environment | None
    manages: bool

    @asynccontextmanager
    async def client(self, environment: Environment | None) -> AsyncIterator[AsyncClient]:
        async with self.connect(environment or self.environment) as client:
            yield client
