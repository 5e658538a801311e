"""Outcomes that wait for their commit: a line for each workspace, of which a group takes in turn.

Ten thousand attempts of one that end together go ahead of nobody's single one, and keep nobody else from
sending. Nothing here awaits.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.core.destination import Destination
from engine.core.records import Settlement

GROUP_BYTES = 4 * 1024 * 1024  # of recorded responses in one commit
# Taken of a line in its turn: no more than a statement's fixed costs are worth.
RUN = 32
# Destinations with outcomes in one commit, as far as they come one after the other: each brings counters
# and a row of its own, some 4 us of the loop, and half of that again when it is told.
GROUP_OWNERS = 256


class SettlementOwner(Protocol):
    """Who decided a settlement and waits for its commit."""

    config: Destination

    def committed(self, settlements: list[Settlement]) -> None:
        """Learn that these are durable."""

    def refused(self, settlement: Settlement, error: Exception) -> None:
        """Learn that the store refuses one: its row is not what the decision was made from."""


Outcome = tuple[Settlement, SettlementOwner]


class OutcomeQueue:
    """Owner of what waits, and of who is to begin nothing more for as long as so much of its own does."""

    def __init__(self, group: int) -> None:
        """`group`: how many are written together at the most."""
        self._group = group
        self._lines: dict[str, deque[Outcome]] = {}  # by workspace; whose turn is next comes first
        self._count = 0
        self.held: set[str] = set()  # workspaces

    def __len__(self) -> int:
        return self._count

    def add(self, settlements: Sequence[Settlement], owner: SettlementOwner) -> int:
        """Put settlements behind those of the same workspace. Returns how many wait in all."""
        workspace = owner.config.workspace
        line = self._lines.get(workspace)
        if line is None:
            line = self._lines[workspace] = deque()
        line.extend([(settlement, owner) for settlement in settlements])
        self._count += len(settlements)
        # Past two groups whoever has an equal part of what waits, or more, is held; one alone has all.
        if self._count > 2 * self._group and len(line) * len(self._lines) >= self._count:
            self.held.add(workspace)
        return self._count

    def give_back(self, taken: Iterable[Outcome]) -> None:
        """Put what was taken last back to the front of its lines: it was not written."""
        for outcome in reversed(list(taken)):
            self._lines.setdefault(outcome[1].config.workspace, deque()).appendleft(outcome)
            self._count += 1

    def take(self) -> list[Outcome]:
        """Take a group: of each workspace in its order, workspaces in turn."""
        lines = self._lines
        taken: list[Outcome] = []
        last: SettlementOwner | None = None
        size = owners = 0
        left = min(self._group, self._count)
        while left > 0 and size < GROUP_BYTES and owners < GROUP_OWNERS:
            workspace = next(iter(lines))
            line = lines.pop(workspace)
            for _ in range(min(RUN, left, len(line))):
                outcome = line.popleft()
                taken.append(outcome)
                left -= 1
                settlement, owner = outcome
                if owner is not last:
                    last = owner
                    owners += 1
                if settlement.attempt is not None:
                    size += len(settlement.attempt.outcome.body)
                if size >= GROUP_BYTES or owners >= GROUP_OWNERS:
                    break
            if line:  # behind the others
                lines[workspace] = line
        self._count -= len(taken)
        return taken

    def relieve(self) -> bool:
        """Hold nobody any more who has no more than its part of one group waiting. Returns whether
        there was somebody."""
        if not self.held:
            return False
        lines = self._lines
        most = self._group // max(1, len(lines))
        over = [each for each in self.held if len(lines.get(each, ())) <= most]
        self.held.difference_update(over)
        return bool(over)
