"""The intake queue: a fair queue of submissions that wait for their commit, bounded by rows and bytes."""

from collections.abc import Collection, Iterable, Set
from itertools import islice

from engine.runtime.fair_queue import FairQueue
from engine.submission.submission import Submission

# An environment gets no more room in the queue if its submissions already take more than PORTION times
# the free room. So an environment that sends alone can fill only some four fifths of the queue. The last
# fifth is left for other environments.
PORTION = 4
_NOTHING = (0, 0)  # weight and size of an environment without submissions


class IntakeQueue:
    """Owner of the submissions that wait. `weight` counts rows, `size` bytes."""

    def __init__(self, most_weight: int, most_size: int) -> None:
        self._most_weight = most_weight
        self._most_size = most_size
        self._queue: FairQueue[int, Submission] = FairQueue()
        self._of: dict[int, tuple[int, int]] = {}  # weight and size
        self.events = self.weight = self.size = 0

    def __bool__(self) -> bool:
        return bool(self._of)

    def __contains__(self, environment: int) -> bool:
        return environment in self._of

    def put(self, submission: Submission) -> bool:
        """Put a submission at the end of its environment's queue. Returns False if there is no room.

        An empty queue has room for any submission: otherwise a request larger than the bounds would be
        refused for ever.
        """
        if self._of and not self._has_room(submission):
            return False
        environment, weight, size = submission.environment, submission.weight, submission.size
        own_weight, own_size = self._of.get(environment, _NOTHING)
        self._of[environment] = own_weight + weight, own_size + size
        self._queue.put(environment, submission)
        self.events += len(submission.events)
        self.weight += weight
        self.size += size
        return True

    def _has_room(self, submission: Submission) -> bool:
        free_weight, free_size = self._most_weight - self.weight, self._most_size - self.size
        if submission.weight > free_weight or submission.size > free_size:
            return False
        # An environment without waiting submissions passes this check, even if the new submission takes
        # all the free room.
        own_weight, own_size = self._of.get(submission.environment, _NOTHING)
        return own_weight <= PORTION * free_weight and own_size <= PORTION * free_size

    def others(self, than: Set[int]) -> bool:
        return not than >= self._of.keys()

    def gather(
        self, most_events: int, most_size: int, without: Collection[int] = ()
    ) -> list[Submission]:
        """Take whole submissions, one of each environment in turn, until the group is full.

        An environment whose next submission does not fit keeps its place in the order of turns. The call
        looks at no more than `most_events` environments, since thousands can have submissions after an
        outage of the database.
        """
        queue = self._queue
        group: list[Submission] = []
        events = size = 0
        free = (each for each in queue if each not in without) if without else iter(queue)
        turn = list(islice(free, most_events))
        while turn and events < most_events:
            going: list[int] = []
            for environment in turn:
                first = queue.first(environment)
                more, larger = events + len(first.events), size + first.size
                if group and (more > most_events or larger > most_size):
                    continue
                group.append(queue.take_of(environment))
                events, size = more, larger
                if self._left(environment, first):
                    going.append(environment)
            turn = going
        self._discount(group)
        return group

    def clear(self) -> list[Submission]:
        self._of.clear()
        self.events = self.weight = self.size = 0
        return self._queue.take_all()

    def take_all(self, environments: Iterable[int]) -> list[Submission]:
        taken: list[Submission] = []
        for environment in environments:
            for _ in range(self._queue.waiting(environment)):
                taken.append(self._queue.take_of(environment))
                self._left(environment, taken[-1])
        self._discount(taken)
        return taken

    def _left(self, environment: int, taken: Submission) -> bool:
        """Note that a submission has left its environment's queue. Returns whether further ones wait."""
        weight, size = self._of[environment]
        if weight > taken.weight:  # there are further submissions, because each has a weight
            self._of[environment] = weight - taken.weight, size - taken.size
            return True
        del self._of[environment]
        return False

    def _discount(self, taken: list[Submission]) -> None:
        self.events -= sum([len(each.events) for each in taken])
        self.weight -= sum([each.weight for each in taken])
        self.size -= sum([each.size for each in taken])
