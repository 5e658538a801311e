"""The tally: counts by workspace (or network or account), and their total. Its owner sets the limits."""


class Tally:
    """Counts by workspace. A count of 0 takes no memory."""

    __slots__ = ("_of", "total")

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self.total = 0

    def __len__(self) -> int:
        """The number of workspaces with a count above 0."""
        return len(self._of)

    def of(self, workspace: str) -> int:
        return self._of.get(workspace, 0)

    @property
    def most(self) -> int:
        return max(self._of.values(), default=0)

    def add(self, workspace: str) -> None:
        self.total += 1
        self._of[workspace] = self._of.get(workspace, 0) + 1

    def remove(self, workspace: str) -> None:
        """The count must be above 0."""
        self.total -= 1
        left = self._of[workspace] - 1
        if left:
            self._of[workspace] = left
        else:
            del self._of[workspace]
