"""Submissions that wait for their commit: a line for each environment, gathered from in turn.

In one line the first comes first. Between lines none waits for what another has before it: a tenant that
sends batches without end fills its own line, not the groups, and not the room that others have left.
"""

from collections import deque
from collections.abc import Collection, Iterable
from itertools import islice

from engine.submission.submission import Submission

# A line holds at most so many times what is free of the bounds: one alone four fifths of them, so that
# the next tenant's events find room whatever the first one does.
PORTION = 4


class IntakeQueue:
    """Owner of what waits. `weight` counts rows, `size` bytes."""

    def __init__(self, most_weight: int, most_size: int) -> None:
        self._most_weight = most_weight
        self._most_size = most_size
        self._lines: dict[int, deque[Submission]] = {}  # by environment, in turn
        self._of: dict[int, tuple[int, int]] = {}  # weight and size of each line
        self.events = self.weight = self.size = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __contains__(self, environment: int) -> bool:
        return environment in self._lines

    def put(self, submission: Submission) -> bool:
        """Put a submission at the end of its line; False, and nothing done, where there is no room.

        Where nothing waits there is room for any: a request may be larger than the bounds are set, and
        who was told to send it again would be told so for ever.
        """
        environment = environment_of(submission)
        weight, size = self.weight + submission.weight, self.size + submission.size
        if self._lines and (weight > self._most_weight or size > self._most_size):
            return False
        own_weight, own_size = self._of.get(environment, (0, 0))
        if len(self._lines) > (environment in self._lines) or own_weight:
            # Who comes first may always come, however large it is beside the bounds.
            free_weight = self._most_weight - self.weight
            free_size = self._most_size - self.size
            if own_weight > PORTION * free_weight or own_size > PORTION * free_size:
                return False
        self._lines.setdefault(environment, deque()).append(submission)
        self._of[environment] = own_weight + submission.weight, own_size + submission.size
        self.events += len(submission.events)
        self.weight, self.size = weight, size
        return True

    def others(self, than: Collection[int]) -> bool:
        """Whether something waits of other environments than these."""
        return any(environment not in than for environment in self._lines)

    def gather(
        self, most_events: int, most_size: int, without: Collection[int] = ()
    ) -> list[Submission]:
        """Take whole submissions, one of each line in turn, until the group is full. Lines of `without`
        stay. One whose next does not fit keeps its place, before those that were served.

        At most as many lines are looked at as a group has events: thousands wait where as many
        environments send while the database pauses, and each group is to cost only what it takes.
        """
        group: list[Submission] = []
        events = size = 0
        turn = list(islice((each for each in self._lines if each not in without), most_events))
        while turn and events < most_events:
            going: list[int] = []
            for environment in turn:
                line = self._lines[environment]
                first = line[0]
                more, larger = events + len(first.events), size + first.size
                if group and (more > most_events or larger > most_size):
                    continue
                group.append(self._take(environment, line))
                events, size = more, larger
                if line:
                    self._lines[environment] = self._lines.pop(environment)  # behind the others
                    going.append(environment)
            turn = going
        return group

    def clear(self) -> list[Submission]:
        """Take everything."""
        return self.take_all(list(self._lines))

    def take_all(self, environments: Iterable[int]) -> list[Submission]:
        """Take everything of these environments."""
        taken: list[Submission] = []
        for environment in environments:
            line = self._lines.get(environment)
            while line:
                taken.append(self._take(environment, line))
        return taken

    def _take(self, environment: int, line: deque[Submission]) -> Submission:
        taken = line.popleft()
        weight, size = self._of[environment]
        if line:
            self._of[environment] = weight - taken.weight, size - taken.size
        else:
            del self._lines[environment], self._of[environment]
        self.events -= len(taken.events)
        self.weight -= taken.weight
        self.size -= taken.size
        return taken


def environment_of(submission: Submission) -> int:
    """Return whose a submission is: all of its events are of one environment."""
    return submission.events[0].environment
