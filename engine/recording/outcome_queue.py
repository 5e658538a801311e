"""The outcome queue: the fair queue of settlements that wait for their commit, by workspace.

If ten thousand attempts of one workspace end together, their outcomes do not delay other workspaces.
"""

from collections.abc import Iterable, Sequence

from engine.core.records import Settlement
from engine.recording.blocked import BlockedOutcomes
from engine.recording.group import QueuedOutcome, SettlementOwner
from engine.runtime.fair_queue import FairQueue

GROUP_BYTES = 4 * 1024 * 1024  # of recorded responses in one commit
# The limit on the outcomes taken from one workspace in its turn. Writing 32 outcomes takes no longer than
# the fixed part of a statement, so one turn delays the other workspaces little.
RUN = 32
# The limit on the destinations in one commit. Each destination takes 6 us of the event loop: 4 us for its
# counters and its row, and 2 us for the call to the owner of its outcomes. Adjacent outcomes of one
# destination count as one destination. If its outcomes are not adjacent, it counts more than once.
GROUP_OWNERS = 256


class OutcomeQueue:
    """The owner of the waiting outcomes. If too many outcomes of a workspace wait, the workspace is held:
    it must begin no attempt."""

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
        """The number of waiting outcomes that are not blocked."""
        return self._waiting.count

    def add(self, settlements: Sequence[Settlement], owner: SettlementOwner) -> int:
        """Put settlements at the end of their workspace's queue. Return the number of waiting outcomes
        that are not blocked."""
        workspace, waiting = owner.config.workspace, self._waiting
        waiting.put_all(workspace, [(settlement, owner) for settlement in settlements])
        count = waiting.count + self.blocked.count
        # This workspace is held if two conditions are met: more than 2 * `group` outcomes of all
        # workspaces wait, and this workspace has at least as many waiting outcomes as an average
        # workspace.
        if count > 2 * self.group and self._of(workspace) * waiting.keys >= count:
            self.held.add(workspace)
        return waiting.count

    def _of(self, workspace: str) -> int:
        return self._waiting.waiting(workspace) + self.blocked.by_workspace[workspace]

    def holds(self, workspace: str) -> bool:
        """Return True if a workspace must begin no attempt.

        While the database is away, no outcome becomes durable, and a crash would repeat the attempts of
        all waiting outcomes. Therefore every workspace is held if more than 2 * `group` outcomes wait.
        """
        return workspace in self.held or (self.store_away and self._waiting.count > 2 * self.group)

    def give_back(self, taken: Iterable[QueuedOutcome]) -> None:
        """Return unwritten outcomes to the front of their workspaces' queues, in the given order."""
        for outcome in reversed(list(taken)):
            self._waiting.put_back(outcome[1].config.workspace, outcome)

    def take(self) -> list[QueuedOutcome]:
        """Take the outcomes of a group. The workspaces take turns. In its turn, a workspace gives its
        first outcomes, at most `RUN`."""
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
        """Release every held workspace that has few waiting outcomes: at most `group` divided by the
        number of workspaces with waiting outcomes. Return True if a workspace can begin attempts again.

        The caller calls this after the store has answered. If the store was away until now, workspaces
        that were held only because the store was away are released too.
        """
        was_away, self.store_away = self.store_away, False
        if not self.held:
            return was_away
        waiting = self._waiting
        most = self.group // max(1, waiting.keys)
        over = [each for each in self.held if self._of(each) <= most]
        self.held.difference_update(over)
        return bool(over) or was_away
