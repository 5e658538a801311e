"""The pace of an intake: under load groups gather for a moment, and deliveries come before new events.

Other tenants do not wait for the load that one tenant causes: events of light environments are written
meanwhile.
"""

from collections.abc import Callable, Collection, Mapping

import trio

from engine.intake.environment_locks import NO_ENVIRONMENTS, EnvironmentLocks
from engine.intake.queue import IntakeQueue
from engine.runtime.idleness import Idleness

# A statement costs some 400 us of CPU before its first row. Under load, that is when the last group was
# of this many events, the next one gathers for so long; a lone event never waits.
LINGER_S = 0.002
BUSY_EVENTS = 8
# Under load deliveries come before new events: while this many wait in memory and are being worked off,
# the next group waits, or they would be written off to PostgreSQL and read back: a third more CPU. Twice
# as many brought no more through, and everything later. A step in which fewer attempts end than
# `AHEAD_STEP_ATTEMPTS` (slow receivers) ends the wait; so does its bound.
AHEAD = 1_000
AHEAD_STEP_S = 0.004
AHEAD_STEP_ATTEMPTS = 20
AHEAD_LONGEST_S = 0.06
# A process is busy if its loop rests for less than this part of a step, or ends the step this much too
# late. While it is busy, any progress counts, however slow the machine is, and work that comes in bursts
# can leave one step without any. After two such steps in a row it is busy with other things.
IDLE_PART = 1 / 4
LATE_S = 0.002
STILL_STEPS = 2
# If deliveries still do not catch up, a group has at most as many events as attempts ended since the
# group before: accepting is the cheaper half and would use up the process. Below this part of the last
# group, the receivers are slow; above, it is the process.
WORKED_PART = 1 / 4
LEAST_EVENTS = 100  # of such a group, so that a mistake in that costs little: 1,600 a second go on
# Telling this many events takes half a millisecond of the loop, and the next group is built right after
# it.
MANY_EVENTS = 100


class Pace:
    """Owner of what is known of the load: who waits until when, and who has brought it about."""

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
        self._last_events = 0  # in the last group that was not of light environments alone
        self._heavy: frozenset[int] = NO_ENVIRONMENTS  # environments with many of these
        self._ahead_until: float | None = None  # while deliveries go first
        self._ended = 0  # attempts, when the last group was let go
        self._busy = False  # the process, when that was last seen
        self._still = 0  # steps in succession in which nothing was worked off
        self.most_events = group_events  # of the next group

    async def linger(self) -> None:
        """Let more events gather if many come."""
        busy = self._last_events >= BUSY_EVENTS and not self._light_waits
        if busy and self._waiting.events < self._group_events:
            await trio.sleep(LINGER_S)

    async def let_deliveries_go_first(self) -> None:
        """Wait while the engine works off what it was given; see `AHEAD`."""
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
        """Wait while deliveries are worked off. Returns False if they are not done yet but light
        environments' events must be written."""
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
        """Whether the last group was large enough for others to have their turn before the next one."""
        return self._last_events >= MANY_EVENTS

    @property
    def _light_waits(self) -> bool:
        """Whether something waits of an environment that has no part in the load: what the others bring
        on themselves is not for it to wait for."""
        return bool(self._heavy) and self._waiting.others(self._heavy | self._locks.barred)

    @property
    def passed_over(self) -> Collection[int]:
        """Environments whose events wait until deliveries have gone first, while others' do not."""
        return (
            self._heavy if self._ahead_until is not None and self._light_waits else NO_ENVIRONMENTS
        )

    def gathered(self, counts: Mapping[int, int]) -> None:
        """Learn of a group that nobody was passed over for, by how many events each environment has."""
        self._last_events = sum(counts.values())
        self._heavy = frozenset(each for each, count in counts.items() if count >= BUSY_EVENTS)
