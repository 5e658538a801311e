"""What all destinations together hold in memory. Past the bound arrivals stay in the store, and each
destination reads back but a few at a time, so that none starves and none grows."""

from engine.core.commands import Limits

LEAST_READ = 8  # deliveries that a destination may read back however full memory is
LEAST_BYTES = 64 * 1024


class Memory:
    """Owner of the sums. Actors report their changes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.deliveries = 0
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Whether arrivals must stay in the store."""
        return self.deliveries >= self._limits.deliveries or self.bytes >= self._limits.bytes

    def changed(self, deliveries: int, size: int) -> None:
        """Add what one actor holds more than it did (or less)."""
        self.deliveries += deliveries
        self.bytes += size

    def readable(self, limit: int, size: int) -> tuple[int, int]:
        """Return how many deliveries and bytes may be read back where that many were asked for."""
        room = max(self._limits.deliveries - self.deliveries, LEAST_READ)
        space = max(self._limits.bytes - self.bytes, LEAST_BYTES)
        return min(limit, room), min(size, space)
