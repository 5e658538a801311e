"""What all destinations together hold in memory. Past the bound arrivals stay in the store, and who
holds a few deliveries reads back no more; who holds less reads a few, so that nobody starves."""

from engine.core.commands import Limits

LEAST_READ = 8  # deliveries that a destination may hold and read however full memory is
LEAST_BYTES = 64 * 1024  # about as much


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

    def may_read(self, held: int) -> bool:
        """Return whether a destination that holds so many may read back now."""
        return held < LEAST_READ or not self.full

    def readable(self, limit: int, size: int) -> tuple[int, int]:
        """Return how many deliveries and bytes may be read back where that many were asked for."""
        room = max(self._limits.deliveries - self.deliveries, LEAST_READ)
        space = max(self._limits.bytes - self.bytes, LEAST_BYTES)
        return min(limit, room), min(size, space)
