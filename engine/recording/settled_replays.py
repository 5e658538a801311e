"""The settled replays: a mailbox that the recorder fills and the runner of replay jobs empties.

It holds no more than the replays that can be queued at once. Nothing here awaits.
"""

from collections.abc import Sequence

from engine.core.records import Settlement
from engine.runtime.wake import Wake


class SettledReplays:
    """Owner of the durable settlements that the runner has not read yet. `wake` is the runner's."""

    def __init__(self) -> None:
        self._waiting: list[Settlement] = []
        self.wake = Wake()

    def put(self, settlements: Sequence[Settlement]) -> None:
        """Add durable settlements, and wake the runner."""
        self._waiting.extend(settlements)
        self.wake.set()

    def take(self) -> list[Settlement]:
        """Return all that wait, in their order; they leave the mailbox."""
        taken, self._waiting = self._waiting, []
        return taken
