"""Lines of those who wait for something that all workspaces share: one line each, served in turn.

So many of one workspace may wait as like, another's first still comes next. Nothing here decides when
somebody is served.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lines(Generic[T]):
    """Who waits, by workspace, in the order of their coming. Owner: whoever serves them."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[T, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __contains__(self, workspace: str) -> bool:
        return workspace in self._lines

    def add(self, workspace: str, waiting: T) -> bool:
        """Put somebody at the end of its workspace's line; who is there already keeps its place.
        Returns whether it is new there."""
        line = self._lines.setdefault(workspace, {})
        new = waiting not in line
        line[waiting] = None
        return new

    def drop(self, workspace: str, waiting: T) -> None:
        """Let somebody leave; harmless for who does not wait."""
        line = self._lines.get(workspace)
        if line is not None:
            line.pop(waiting, None)
            if not line:
                del self._lines[workspace]

    def next(self, may: Callable[[str], bool] = lambda _workspace: True) -> tuple[str, T] | None:
        """Take the first of the workspace whose turn it is, of those that may; None where none may."""
        workspace = next(filter(may, self._lines), None)
        if workspace is None:
            return None
        line = self._lines.pop(workspace)
        first = next(iter(line))
        del line[first]
        if line:  # behind the others
            self._lines[workspace] = line
        return workspace, first


def fair(own: int, free: int, portion: int) -> bool:
    """Whether a workspace that has `own` of something may have one more while `free` are left.

    It has at most `portion` times what is free. So whatever it does it leaves some: one alone stops at
    `portion` of `portion` + 1 parts, and n of them leave one part of n * `portion` + 1. (Dynamic
    thresholds, as switches share their buffers: without a number that would be wrong for one tenant or
    for a thousand.)
    """
    return own < portion * free


def room(own: int, free: int, portion: int) -> int:
    """Return how many more such a workspace may take at once, one after the other, by the same rule."""
    return max(0, (portion * free - own + portion) // (portion + 1))
