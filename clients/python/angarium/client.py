"""Both clients: `Client` for threads, `AsyncClient` for asyncio and trio. The methods are the same."""

from angarium.aio.client import AsyncClient
from angarium.sync.client import Client

__all__ = ["AsyncClient", "Client"]
