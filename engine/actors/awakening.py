"""What a start reads for a destination with a backlog: its actor is made when its turn has come."""

from typing import Protocol

from engine.actors.reading import Restoration
from engine.ports import BacklogStore


class Starting(Protocol):
    """The actor that was made."""

    def restoration(self) -> Restoration:
        """Return the reading that its machine needs."""


class Resting(Protocol):
    """Who knows what rests."""

    def activate_dormant(self, destination: str) -> Starting | None:
        """Make an actor for a destination with a backlog; None where there is one, or nothing to do."""


class Awakening:
    """One destination's."""

    __slots__ = ("_destination", "_directory", "_restoration", "workspace")

    def __init__(self, directory: Resting, destination: str, workspace: str) -> None:
        self._directory = directory
        self._destination = destination
        self.workspace = workspace
        self._restoration: Restoration | None = None

    def wanted(self) -> bool:
        """Whether no actor has come about otherwise."""
        if self._restoration is None:
            actor = self._directory.activate_dormant(self._destination)
            if actor is None:
                return False
            self._restoration = actor.restoration()
        return self._restoration.wanted()

    async def read(self, store: BacklogStore) -> None:
        """Read for the actor."""
        assert self._restoration is not None
        await self._restoration.read(store)

    def failed(self) -> None:
        """Let the actor ask again."""
        if self._restoration is not None:
            self._restoration.failed()
