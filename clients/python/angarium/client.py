"""Both clients, with the same methods: `Client` for threads, `AsyncClient` for asyncio and trio."""

from angarium.aio.client import AsyncClient
from angarium.sync.client import Client

__all__ = ["AsyncClient", "Client"]
