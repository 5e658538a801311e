"""The parts of a database: each workspace belongs to one part, and each part to one worker.

The 256 slots are assigned to the parts in turn. Nothing here awaits.
"""

from msgspec import Struct

from engine.core.destination import Destination
from engine.model.identity import SHARDS
from engine.model.read_models import Models


class WorkerPart(Struct, frozen=True):
    """Part `number` of `of` parts, counted from 0. The default is the whole database."""

    number: int = 0
    of: int = 1

    @property
    def whole(self) -> bool:
        return self.of == 1

    @property
    def slots(self) -> range:
        """The slots of the part. A lease is for one slot."""
        return range(self.number, SHARDS, self.of)

    def has(self, workspace: str) -> bool:
        """Return True if a workspace belongs to the part."""
        return number_of(workspace, self.of) == self.number


WHOLE = WorkerPart()


class OwnPart:
    """The rows of a node's part in the read models."""

    def __init__(self, models: Models, part: WorkerPart) -> None:
        self._models = models
        self._part = part

    def destination(self, identifier: str) -> Destination | None:
        """Return a destination if its workspace belongs to the part, else None: it gets no actor."""
        found = self._models.destinations.get(identifier)
        return found if found is not None and self._part.has(found.workspace) else None

    def has(self, environment: int) -> bool:
        """Return True if an environment's workspace belongs to the part."""
        found = self._models.environments.get(environment)
        return found is not None and self._part.has(found.workspace)


def number_of(workspace: str, parts: int) -> int:
    """Return the number of a workspace's part: the last byte of its UUID, which is random, modulo the
    number of parts."""
    return int(workspace[-2:], 16) % parts


def first_parts(workers: int, most: int) -> int:
    """Return the number of parts of a database whose first computer has `workers` workers: twice as many,
    so that a second computer of this size can take half of them. With one worker there is one part: with
    two, the first computer would need a second process."""
    return 1 if workers == 1 else min(2 * workers, most)
