"""The loading of the library of the Model Context Protocol, which takes 0.5 s of CPU and 21 MB.

A server loads it once, in a thread. No module that a server imports when it starts may import the
library.
"""

from typing import Any

import trio


async def loaded() -> Any:
    """Return the module `api.mcp.exchange`."""
    return await trio.to_thread.run_sync(_exchange)


async def load_early(*needed: trio.Event) -> None:
    """Load the library once all of `needed` are set."""
    for event in needed:
        await event.wait()
    await trio.to_thread.run_sync(_exchange, abandon_on_cancel=True)


def _exchange() -> Any:
    from api.mcp import exchange

    return exchange
