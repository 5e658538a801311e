"""The parts of a database. Each workspace belongs to one part, and one worker at a time works for a part.

A database has 256 slots, each with a lease. The slots are shared out among the parts: with n parts, part
k has the slots k, k + n, k + 2n, and so on. Nothing here awaits.
"""

from msgspec import Struct

from engine.core.destination import Destination
from engine.model.identity import SHARDS
from engine.model.read_models import Models


class WorkerPart(Struct, frozen=True):
    """One part of a database. `of`: how many parts the database has. `number`: the part's number, from 0.
    By default, the database is undivided: its only part is the whole database."""

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
        """Return a destination if its workspace belongs to the part, else None. A node runs no actor for
        a destination of another part."""
        found = self._models.destinations.get(identifier)
        return found if found is not None and self._part.has(found.workspace) else None

    def has(self, environment: int) -> bool:
        """Return True if an environment's workspace belongs to the part."""
        found = self._models.environments.get(environment)
        return found is not None and self._part.has(found.workspace)


def number_of(workspace: str, parts: int) -> int:
    """Return the number of the part that a workspace belongs to. The number is the last byte of the
    workspace's UUID (a random byte), modulo the number of parts."""
    return int(workspace[-2:], 16) % parts


def first_parts(workers: int, most: int) -> int:
    """Return the number of parts of a new database whose first computer has `workers` workers. There are
    twice as many parts as workers, so that a second computer of this size can take half of the parts.

    With one worker there is only one part, to save memory: every computer runs one process for each
    part."""
    return 1 if workers == 1 else min(2 * workers, most)
