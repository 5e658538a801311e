"""The budget of bytes for the results of scripts and templates.

An attempt holds its result in memory until its request ends. A slow receiver can make this time long.
"""

from collections.abc import Callable

from msgspec import Struct

from engine.runtime.fair_queue import FairQueue

MIB = 1 << 20
# As much as the default of `engine_bytes`, the limit of the payloads in memory.
MOST_BYTES = 128 * MIB
# The limit of one workspace, so that one workspace cannot fill the budget. Each run of a script reserves
# 1 MiB, its largest possible result.
SHARE_BYTES = 48 * MIB


class HeldStatistics(Struct, frozen=True):
    """The held bytes, and the number of waiting attempts."""

    bytes: int
    waiting: int


class HeldBytes:
    """Owner of the counts of held bytes, on the trio thread. The workspaces take turns to get room. The
    attempts of one workspace get room in the order in which they asked for it.
    """

    def __init__(self, most: int = MOST_BYTES, share: int = SHARE_BYTES) -> None:
        self._most = most
        self._share = share
        self._bytes = 0
        self._of: dict[str, int] = {}
        self._waiting: FairQueue[str, tuple[int, Callable[[], None]]] = FairQueue()
        self._letting_in = False

    def ask(self, workspace: str, size: int, go: Callable[[], None]) -> None:
        """Reserve `size` bytes as soon as there is room for them, and then call `go`. If there is room
        already, `go` is called before this method returns."""
        self._waiting.put(workspace, (size, go))
        self._let_in()

    def change(self, workspace: str, before: int, after: int) -> None:
        """Count `after` bytes instead of `before` bytes, even if this exceeds the limit: the bytes are in
        memory already."""
        self._bytes += after - before
        mine = self._of.get(workspace, 0) + after - before
        if mine:
            self._of[workspace] = mine
        else:
            self._of.pop(workspace, None)
        if after < before:
            self._let_in()

    def clear(self) -> None:
        """Forget the attempts that wait."""
        self._waiting.clear()

    def statistics(self) -> HeldStatistics:
        """Return the counts."""
        return HeldStatistics(self._bytes, self._waiting.count)

    def _let_in(self) -> None:
        if self._letting_in:
            return  # `go` below has called this
        self._letting_in = True
        try:
            while (workspace := self._next()) is not None:
                size, go = self._waiting.take_of(workspace)
                self._bytes += size
                self._of[workspace] = self._of.get(workspace, 0) + size
                go()
        finally:
            self._letting_in = False

    def _next(self) -> str | None:
        """Return the workspace whose attempt gets room now, or None.

        Workspaces at their limit are passed over. If the budget has no room for the next attempt, the
        attempts behind it wait too. Otherwise small attempts could make a large attempt wait for ever.
        """
        for workspace in self._waiting:
            size, _ = self._waiting.first(workspace)
            mine = self._of.get(workspace, 0)
            if mine and mine + size > self._share:
                continue
            return workspace if not self._bytes or self._bytes + size <= self._most else None
        return None
