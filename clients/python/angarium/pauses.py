"""Sleeping, in both worlds."""

from time import sleep

from anyio import sleep as asleep  # what httpx itself runs on: asyncio and trio alike

__all__ = ["asleep", "sleep"]
