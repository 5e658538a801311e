"""The check of a new destination's host: a host that leads only to forbidden addresses is refused.

The check only shows a customer's mistake early. It is no protection, because a name can lead to another
address later. The protection is the egress guard, which checks every connection.
"""

import trio

from engine.wire.egress import EgressGuard, forbidden
from engine.wire.failure import WireError
from engine.wire.resolver import Resolution, Resolver

LOOKUP_S = 2.0  # a caller waits for the answer; the first attempt resolves the name again


class HostCheck:
    """The check of destinations' hosts. A process has one such object, used on the trio thread only."""

    def __init__(self, guard: EgressGuard, resolver: Resolver) -> None:
        self._guard = guard
        self._resolver = resolver

    async def objection(self, host: str, workspace: str) -> str | None:
        """Return an error message if every address of `host` is forbidden. Return None if an address is
        allowed, or if the name was not resolved within LOOKUP_S. The thread of the look-up counts towards
        the workspace's share of the resolver's threads."""
        resolution: Resolution | None = None
        with trio.move_on_after(LOOKUP_S):
            resolution = await self._resolver.addresses(host, workspace)
        if resolution is None or isinstance(resolution, WireError):
            return None
        reachable = any(self._guard.allows(address) for _, address in resolution)
        return None if reachable else forbidden(host)
