"""The pace of an intake: under load, groups gather for a moment, and deliveries come before new events.

No tenant waits for another tenant's load: while deliveries go first, events of light environments (those
with few events in the last group) are still written.
"""

from collections.abc import Callable, Collection, Mapping

import trio

from engine.intake.environment_locks import NO_ENVIRONMENTS, EnvironmentLocks
from engine.intake.queue import IntakeQueue
from engine.runtime.idleness import Idleness

# A statement costs some 400 us of CPU before its first row, so few large groups are cheaper than many
# small groups. After a group of at least BUSY_EVENTS events, the next group gathers for LINGER_S.
LINGER_S = 0.002
BUSY_EVENTS = 8
# Under load, the next group waits while at least AHEAD deliveries wait in memory. Without this wait, new
# deliveries would not fit into memory. They would be read back from PostgreSQL later, which costs CPU
# time. When AHEAD was 2,000 instead of 1,000, throughput was the same and latency was higher. The wait
# ends after AHEAD_LONGEST_S at the latest. If receivers are slow, it ends earlier. Receivers count as
# slow if fewer than AHEAD_STEP_ATTEMPTS attempts end within AHEAD_STEP_S.
AHEAD = 1_000
AHEAD_STEP_S = 0.004
AHEAD_STEP_ATTEMPTS = 20
AHEAD_LONGEST_S = 0.06
# If few attempts end within a step of AHEAD_STEP_S, the cause can be slow receivers or a busy process.
# This process counts as busy if its loop was idle for less than IDLE_PART of the step, or if the step
# ended more than LATE_S too late. In a busy process, receivers count as slow only if no attempt at all
# ends in STILL_STEPS steps in a row.
IDLE_PART = 1 / 4
LATE_S = 0.002
STILL_STEPS = 2
# When the wait for deliveries ends (see AHEAD), at least AHEAD deliveries can still wait in memory. If
# the process is also busy, the next group is limited: it has at most as many events as attempts ended
# since the last group began. A group that leaves out environments does not count as the last group. Only
# the first submission of a group can exceed the limit. Without the limit, new events would take all the
# time of the process.
#
# The limit does not apply if the receivers are slow. Here they count as slow if the number of attempts
# that ended is less than WORKED_PART times the number of the last group's events.
WORKED_PART = 1 / 4
LEAST_EVENTS = 100  # the limit is never lower: at least 1,600 events a second
# After a group of at least this many events, other tasks run before the next group begins, because
# answering the callers of so many events has already taken half a millisecond.
MANY_EVENTS = 100


class Pace:
    """Owner of the measures of the load. It decides how long the intake waits before the next group, how
    many events this group has at most, and which environments it leaves out."""

    def __init__(
        self,
        waiting: IntakeQueue,
        locks: EnvironmentLocks,
        progress: Callable[[], tuple[int, int]],
        group_events: int,
        idleness: Idleness | None = None,
    ) -> None:
        """`progress`: how many deliveries wait in memory, and how many attempts have ended so far."""
        self._waiting = waiting
        self._locks = locks
        self._progress = progress
        self._group_events = group_events
        self._idleness = idleness or Idleness()
        self._last_events = 0  # of the last group that passed over no environment
        # environments with at least BUSY_EVENTS events in that group
        self._heavy: frozenset[int] = NO_ENVIRONMENTS
        self._ahead_until: float | None = None  # until when deliveries go first
        self._ended = 0  # attempts that had ended when the last group began
        self._busy = False
        self._still = 0  # steps in a row in which too few attempts ended
        self.most_events = group_events  # of the next group

    async def linger(self) -> None:
        busy = self._last_events >= BUSY_EVENTS and not self._light_waits
        if busy and self._waiting.events < self._group_events:
            await trio.sleep(LINGER_S)

    async def let_deliveries_go_first(self) -> None:
        """Wait until fewer than `AHEAD` deliveries wait in memory. The comment on `AHEAD` says when this
        wait ends earlier."""
        self.most_events = self._group_events
        if self._last_events < BUSY_EVENTS:
            _, self._ended = self._progress()
            self._busy = False
            return
        if self._ahead_until is None:
            self._ahead_until, self._still = trio.current_time() + AHEAD_LONGEST_S, 0
        if not await self._worked_off(self._ahead_until):
            return
        self._ahead_until = None
        waits, ended = self._progress()
        worked, self._ended = ended - self._ended, ended
        if self._busy and waits >= AHEAD and worked >= WORKED_PART * self._last_events:
            self.most_events = min(self._group_events, max(LEAST_EVENTS, worked))

    async def _worked_off(self, until: float) -> bool:
        """Wait as `let_deliveries_go_first` says, and return True at the end of this wait.

        Before each step of this wait, return False if events of light environments wait. The next group
        must write these events before this wait continues. Light environments exist only if another
        environment had at least BUSY_EVENTS events in the last group. A light environment had fewer
        events, and is not barred.
        """
        waits, ended = self._progress()
        if waits < AHEAD:
            return True
        with self._idleness.running():
            while waits >= AHEAD and (began := trio.current_time()) < until:
                if self._light_waits:
                    return False
                await trio.sleep(AHEAD_STEP_S)
                late = trio.current_time() - began > AHEAD_STEP_S + LATE_S
                self._busy = self._idleness.part() < IDLE_PART or late
                before = ended
                waits, ended = self._progress()
                moved = ended - before >= (1 if self._busy else AHEAD_STEP_ATTEMPTS)
                self._still = 0 if moved else self._still + 1
                if self._still >= (STILL_STEPS if self._busy else 1):
                    break
        return True

    @property
    def many(self) -> bool:
        return self._last_events >= MANY_EVENTS

    @property
    def _light_waits(self) -> bool:
        return bool(self._heavy) and self._waiting.others(self._heavy | self._locks.barred)

    @property
    def passed_over(self) -> Collection[int]:
        """The environments that the next group leaves out."""
        return (
            self._heavy if self._ahead_until is not None and self._light_waits else NO_ENVIRONMENTS
        )

    def gathered(self, counts: Mapping[int, int]) -> None:
        """Note how many events of each environment a group has. Do not call this for a group that left
        out environments, because it does not show their load."""
        self._last_events = sum(counts.values())
        self._heavy = frozenset(each for each, count in counts.items() if count >= BUSY_EVENTS)
