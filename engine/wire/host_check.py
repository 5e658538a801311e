"""The check of a new destination's host: a host that leads only to forbidden addresses is refused.

It is no protection: names change, and the egress guard checks every connection.
"""

import trio

from engine.wire.egress import EgressGuard, forbidden
from engine.wire.failure import WireError
from engine.wire.resolver import Resolution, Resolver

LOOKUP_S = 2.0  # a caller waits for the answer; the first attempt resolves the name again


class HostCheck:
    """The check of hosts, one for each process; used on the trio thread only."""

    def __init__(self, guard: EgressGuard, resolver: Resolver) -> None:
        self._guard = guard
        self._resolver = resolver

    async def objection(self, host: str, workspace: str) -> str | None:
        """Return the error message if every address of `host` is forbidden. None: an address is allowed,
        or the name was not resolved within LOOKUP_S. The look-up's thread counts as the workspace's."""
        resolution: Resolution | None = None
        with trio.move_on_after(LOOKUP_S):
            resolution = await self._resolver.addresses(host, workspace)
        if resolution is None or isinstance(resolution, WireError):
            return None
        reachable = any(self._guard.allows(address) for _, address in resolution)
        return None if reachable else forbidden(host)
