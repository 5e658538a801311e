"""The byte budgets of request bodies.

A request draws the size of its body from a budget, and gives it back when the request is answered. A
request with an event is answered after the commit. A request with a streamed body or answer draws a fixed
size, because only a part of the stream is in memory at once. Nothing here awaits.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.model.errors import Refusal
from engine.runtime.tally import Tally

STREAM_BYTES = 128 * 1024  # of a stream in memory: 64 KiB at the door, 64 KiB in the application
STREAMS_SHARE = 2  # streams can use half of a budget: they last long, and events must not wait
RETRY_AFTER_S = 2


class BodyBudget:
    """Bytes of request bodies in memory. Owner: the trio thread."""

    def __init__(self, total: int, per_workspace: int) -> None:
        self._total = total
        self._per_workspace = per_workspace
        self._drawn_by: dict[str, int] = {}
        self.drawn = 0
        self.streams = Streams(self, _places(total), _places(per_workspace))

    def has_room(self, workspace: str, size: int) -> bool:
        return (
            self.drawn + size <= self._total
            and self._drawn_by.get(workspace, 0) + size <= self._per_workspace
        )

    def draw(self, workspace: str, size: int) -> bool:
        """Draw `size` bytes from the budget. If there is no room, draw nothing and return False."""
        drawn = self._drawn_by.get(workspace, 0) + size
        if drawn > self._per_workspace or self.drawn + size > self._total:
            return False
        self._drawn_by[workspace] = drawn
        self.drawn += size
        return True

    def give_back(self, workspace: str, size: int) -> None:
        self.drawn -= size
        left = self._drawn_by[workspace] - size
        if left:
            self._drawn_by[workspace] = left
        else:
            del self._drawn_by[workspace]


class Streams:
    """The limit on requests with a streamed body or answer."""

    def __init__(self, bodies: BodyBudget, most: int, per_workspace: int) -> None:
        self._bodies = bodies
        self._most = most
        self._per_workspace = per_workspace
        self._held = Tally()

    @property
    def open(self) -> int:
        return self._held.total

    def enter(self, workspace: str) -> None:
        """Take a place. Raises Refusal 503."""
        if (
            self.open >= self._most
            or self._held.of(workspace) >= self._per_workspace
            or not self._bodies.draw(workspace, STREAM_BYTES)
        ):
            raise Refusal(
                "overloaded", "too many transfers at once: try again", retry_after_s=RETRY_AFTER_S
            )
        self._held.add(workspace)

    def leave(self, workspace: str) -> None:
        self._bodies.give_back(workspace, STREAM_BYTES)
        self._held.remove(workspace)

    @contextmanager
    def place(self, workspace: str) -> Iterator[None]:
        self.enter(workspace)
        try:
            yield
        finally:
            self.leave(workspace)


def _places(budget: int) -> int:
    return max(1, budget // STREAMS_SHARE // STREAM_BYTES)
