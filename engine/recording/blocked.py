"""The blocked outcomes: the recorder cannot write them yet, because another session has locked a row
that their statement needs.

If a statement with several outcomes is blocked, the recorder tries each half of the outcomes in a
statement of its own. It divides a blocked half again, until each blocked outcome is alone in its
statement. Each try can wait for a lock, so the recorder makes only one try between two groups of new
outcomes. Outcomes that were blocked alone take turns. If one of them is blocked again, the recorder
pauses for `AGAIN_S` before it tries the next one. After the pause, this try comes before the tries of the
halves. The outcomes of a lane stay in order: later outcomes wait behind the blocked outcome.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from math import inf

import structlog
import trio

from engine.core.vocabulary import Ordering
from engine.recording.group import QueuedOutcome, ids_of

# Seconds. Outcomes that are known to be blocked alone are tried one at a time. If such a try is blocked
# again, the recorder waits this long before it tries any of these outcomes, even one of another lane. It
# also waits this long when it finds the first of these outcomes. Each try waits at most 0.1 s for a lock
# (`LOCK_WAIT_MS` in `storage.database.profiles`). Therefore these tries take at most a tenth of the
# recorder's time.
AGAIN_S = 1.0

log = structlog.get_logger("angarium.recorder")


class BlockedOutcomes:
    """Owner of the blocked outcomes, with a queue for each lane.

    Here a lane is the deliveries that must stay in order. For a STRICT destination, these are all its
    deliveries. For a KEY destination, these are the deliveries of one ordering key. Every other delivery
    is a lane of its own.
    """

    def __init__(self) -> None:
        self._lanes: dict[str, deque[QueuedOutcome]] = {}
        # Each list has half of the lanes of a blocked statement. The first outcomes of these lanes will
        # be tried together, in one statement. If only the row of one delivery was locked, at most one
        # of the two halves is blocked again.
        self._parts: deque[list[str]] = deque()
        # The lanes whose first outcome was blocked alone. They take turns.
        self._alone: deque[str] = deque()
        self._tried: dict[str, None] = {}  # the lanes whose first outcomes were taken
        self._retrying = False  # True while a lane of `_alone` is tried
        self._again_at = 0.0
        self.count = 0
        self.by_workspace: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._lanes)

    @property
    def next_at(self) -> float:
        """The time of the next try, on trio's clock."""
        if not self._lanes:
            return inf
        return 0.0 if self._parts else self._again_at

    def sift(self, outcomes: Iterable[QueuedOutcome]) -> list[QueuedOutcome]:
        """Return those of `outcomes` that can be written now. An outcome can be written if `take` has
        just returned it, or if its lane has no blocked outcomes. If an outcome cannot be written now, put
        it at the end of its lane's queue."""
        free: list[QueuedOutcome] = []
        for outcome in outcomes:
            lane = _lane(outcome)
            if lane not in self._lanes or lane in self._tried:
                free.append(outcome)
            else:
                self._lanes[lane].append(outcome)
                self._count(outcome, 1)
        return free

    def hold(self, outcomes: Sequence[QueuedOutcome]) -> None:
        """Queue the outcomes of one statement that was blocked. Put each outcome at the front of its
        lane's queue."""
        lanes: dict[str, None] = {}
        for outcome in reversed(outcomes):
            lane = _lane(outcome)
            lanes[lane] = None
            self._lanes.setdefault(lane, deque()).appendleft(outcome)
            self._tried.pop(lane, None)
            self._count(outcome, 1)
        names, middle = list(reversed(lanes)), len(lanes) // 2
        if middle:
            self._parts += [names[:middle], names[middle:]]
        elif names:
            if not self._retrying:
                log.warning("outcome.row_locked", **ids_of(outcomes[0][0]))
            if self._retrying or not self._alone:  # a new lane does not put off those that wait
                self._again_at = trio.current_time() + AGAIN_S
            self._alone += names

    def take(self) -> list[QueuedOutcome]:
        """Choose the lanes whose turn it is. Remove the first outcome from each of these lanes' queues,
        and return these outcomes. The caller tries to write them, and then calls `release`."""
        due = bool(self._alone) and self._again_at <= trio.current_time()
        self._retrying = due or not self._parts
        lanes = [self._alone.popleft()] if self._retrying else self._parts.popleft()
        self._tried = dict.fromkeys(lanes)
        taken = [self._lanes[each].popleft() for each in lanes]
        for outcome in taken:
            self._count(outcome, -1)
        return taken

    def release(self) -> list[QueuedOutcome]:
        """Call this after the try to write the outcomes that `take` returned, and after `hold` got those
        that must be tried again. The lanes of the other outcomes are free. Remove the queues of the free
        lanes, and return the outcomes that waited in these queues."""
        free = [outcome for lane in self._tried for outcome in self._lanes.pop(lane)]
        self._tried, self._retrying = {}, False
        for outcome in free:
            self._count(outcome, -1)
        return free

    def _count(self, outcome: QueuedOutcome, change: int) -> None:
        self.count += change
        self.by_workspace[outcome[1].config.workspace] += change


def _lane(outcome: QueuedOutcome) -> str:
    """Return the lane of an outcome. The lane stays the same while the outcome waits, because the
    owner's `ordering` changes only after all settlements of the owner are durable."""
    delivery, ordering = outcome[0].delivery, outcome[1].ordering
    if ordering is Ordering.STRICT:
        return delivery.destination
    keyed = ordering is Ordering.KEY and delivery.lane is not None
    return f"{delivery.destination} {delivery.lane}" if keyed else delivery.id
