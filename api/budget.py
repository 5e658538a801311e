"""The byte budgets that request bodies draw on: one for all callers, one for each workspace.

What a request has drawn stays drawn until it is answered, so that bodies which wait for their commit
count as well. Nothing here awaits.
"""


class BodyBudget:
    """Bytes of request bodies in memory. Owner: the trio thread."""

    def __init__(self, total: int, per_workspace: int) -> None:
        self._total = total
        self._per_workspace = per_workspace
        self._drawn_by: dict[str, int] = {}
        self.drawn = 0

    def has_room(self, workspace: str, size: int) -> bool:
        """Whether `size` bytes more could be drawn now."""
        return (
            self.drawn + size <= self._total
            and self._drawn_by.get(workspace, 0) + size <= self._per_workspace
        )

    def draw(self, workspace: str, size: int) -> bool:
        """Take `size` bytes; False, taking nothing, when there is no room for them."""
        drawn = self._drawn_by.get(workspace, 0) + size
        if drawn > self._per_workspace or self.drawn + size > self._total:
            return False
        self._drawn_by[workspace] = drawn
        self.drawn += size
        return True

    def give_back(self, workspace: str, size: int) -> None:
        """Return what was drawn."""
        self.drawn -= size
        left = self._drawn_by[workspace] - size
        if left:
            self._drawn_by[workspace] = left
        else:
            del self._drawn_by[workspace]
