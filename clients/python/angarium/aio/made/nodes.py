# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.nodes` that are made."""

from collections.abc import AsyncIterator

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import Call, query_of
from angarium.shapes import Node, Page


class AsyncNodes(AsyncResource):
    """How destinations and the environment do, from live actors and committed counters."""

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Node]:
        """List the servers of this installation: one page.

        By name, from the memory of the server that answers. Only a key of scope `manage` of
        the installation's first workspace may. One server is ACTIVE and does all work, or
        each of several workers has its slots and does their work. A STANDBY relays its
        clients' connections to the active server, and takes over when that is gone.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/observability/nodes", query))

    def iterate(self) -> AsyncIterator[Node]:
        """List the servers of this installation: all pages.

        By name, from the memory of the server that answers. Only a key of scope `manage` of
        the installation's first workspace may. One server is ACTIVE and does all work, or
        each of several workers has its slots and does their work. A STANDBY relays its
        clients' connections to the active server, and takes over when that is gone.
        """
        return follow_pages(self._send, "/observability/nodes", {})
