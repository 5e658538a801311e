"""The outcome queue: the fair queue of settlements that wait for their commit, by workspace.

If ten thousand attempts of one workspace end together, they do not delay other workspaces.
"""

from collections.abc import Iterable, Sequence

from engine.core.records import Settlement
from engine.recording.blocked import BlockedOutcomes
from engine.recording.group import QueuedOutcome, SettlementOwner
from engine.runtime.fair_queue import FairQueue

GROUP_BYTES = 4 * 1024 * 1024  # of recorded responses in one commit
# The limit on the outcomes taken from one workspace in its turn. Writing 32 outcomes costs no more than a
# statement's fixed costs.
RUN = 32
# The limit on the destinations in one commit. A destination counts again if its outcomes are not
# adjacent. Its counters and row cost 4 us of the loop, and the call of its owner 2 us.
GROUP_OWNERS = 256


class OutcomeQueue:
    """The owner of the waiting outcomes, and of the set of workspaces that must begin no attempt because
    too many of their outcomes wait."""

    def __init__(self, group: int) -> None:
        """`group`: the limit on outcomes that are written together."""
        self.group = group
        self._waiting: FairQueue[str, QueuedOutcome] = FairQueue()
        self.blocked = BlockedOutcomes()
        self.held: set[str] = set()  # workspaces
        self.store_away = False  # set by the recorder, until outcomes are durable again

    def __len__(self) -> int:
        return self._waiting.count + self.blocked.count

    @property
    def ready(self) -> int:
        """How many outcomes wait that are not blocked."""
        return self._waiting.count

    def add(self, settlements: Sequence[Settlement], owner: SettlementOwner) -> int:
        """Put settlements behind those of the same workspace. Return how many are ready."""
        workspace, waiting = owner.config.workspace, self._waiting
        waiting.put_all(workspace, [(settlement, owner) for settlement in settlements])
        count = waiting.count + self.blocked.count
        # If more than two groups wait, a workspace with at least an equal share of them is held.
        if count > 2 * self.group and self._of(workspace) * waiting.keys >= count:
            self.held.add(workspace)
        return waiting.count

    def _of(self, workspace: str) -> int:
        return self._waiting.waiting(workspace) + self.blocked.by_workspace[workspace]

    def holds(self, workspace: str) -> bool:
        """Return True if a workspace must begin no attempt.

        While the database is away and more than two groups wait, every workspace is held. Otherwise each
        workspace could add two groups of its own, and a crash would repeat them all.
        """
        return workspace in self.held or (self.store_away and self._waiting.count > 2 * self.group)

    def give_back(self, taken: Iterable[QueuedOutcome]) -> None:
        """Put outcomes back to the front of their workspaces' queues. They were taken last, and were not
        written."""
        for outcome in reversed(list(taken)):
            self._waiting.put_back(outcome[1].config.workspace, outcome)

    def take(self) -> list[QueuedOutcome]:
        """Take a group: workspaces take turns, each with up to `RUN` outcomes in their order."""
        waiting = self._waiting
        taken: list[QueuedOutcome] = []
        last: SettlementOwner | None = None
        size = owners = 0
        left = min(self.group, waiting.count)
        while left > 0 and size < GROUP_BYTES and owners < GROUP_OWNERS:
            run = waiting.turn(min(RUN, left))
            left -= len(run)
            for place, (settlement, owner) in enumerate(run, 1):
                if owner is not last:
                    last = owner
                    owners += 1
                if settlement.attempt is not None:
                    size += len(settlement.attempt.outcome.body)
                if size >= GROUP_BYTES or owners >= GROUP_OWNERS:
                    self.give_back(run[place:])
                    del run[place:]
                    break
            taken += run
        return taken

    def relieve(self) -> bool:
        """Release every held workspace whose waiting outcomes fit into an equal share of one group. The
        store has answered, so if all workspaces are held because it was away, release them too. Return
        True if any can begin attempts again."""
        was_away, self.store_away = self.store_away, False
        if not self.held:
            return was_away
        waiting = self._waiting
        most = self.group // max(1, waiting.keys)
        over = [each for each in self.held if self._of(each) <= most]
        self.held.difference_update(over)
        return bool(over) or was_away
