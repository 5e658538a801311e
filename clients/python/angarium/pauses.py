"""The sleep of both clients."""

from time import sleep

from anyio import sleep as asleep  # as httpx, for asyncio and trio

__all__ = ["asleep", "sleep"]
