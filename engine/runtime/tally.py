"""A count of something by workspace, and in all. Its owner sets the limits."""


class Tally:
    """Counts by workspace. One that has none takes no room."""

    __slots__ = ("_of", "total")

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self.total = 0

    def __len__(self) -> int:
        """The number of workspaces that have any."""
        return len(self._of)

    def of(self, workspace: str) -> int:
        """Return how many a workspace has."""
        return self._of.get(workspace, 0)

    @property
    def most(self) -> int:
        """The largest count of a workspace."""
        return max(self._of.values(), default=0)

    def add(self, workspace: str) -> None:
        """Count one more."""
        self.total += 1
        self._of[workspace] = self._of.get(workspace, 0) + 1

    def remove(self, workspace: str) -> None:
        """Count one less for a workspace, which must have one."""
        self.total -= 1
        left = self._of[workspace] - 1
        if left:
            self._of[workspace] = left
        else:
            del self._of[workspace]
