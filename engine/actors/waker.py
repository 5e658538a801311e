"""The waker: slow loops that activate dormant destinations, and stop idle actors.

The waker activates a destination shortly before a retry is due. The timer of the destination's actor
then keeps the exact time.
"""

import trio

from engine.actors.directory import Directory
from engine.ports import BacklogStore
from engine.ports.outage import Outage
from engine.runtime.clock import Clock
from engine.runtime.wake import Wake

LOOK_EVERY_S = 5.0
LOOK_AHEAD_S = 10.0  # more than LOOK_EVERY_S and the start of an actor together
# The most backlog rows that one read of the store returns: those with the earliest retries.
WAKE_AT_ONCE = 1_000
# The pause after a read of WAKE_AT_ONCE rows, if some of these rows activated no destination. Most such
# rows belong to destinations that an earlier read has activated. These rows stay due until the actors of
# the destinations have read the store, and the pause gives the actors time for this. If a read activates
# no destination at all, the next pause is twice as long.
AGAIN_S = 0.1
# After this many activations, the waker yields to other tasks. 100 activations take a millisecond.
ROUSE_AT_ONCE = 100
SWEEPS = 4  # sweeps within the time after which an idle actor leaves
# If the clock steps back by more than this, the waker activates all dormant destinations with waiting
# retries. A smaller step needs no action, because it delays the retries only a little.
SLEPT_OVER_S = 60.0


class Waker:
    """The loops of the waker."""

    def __init__(
        self, directory: Directory, store: BacklogStore, clock: Clock, passivate_after_s: float
    ) -> None:
        self._directory = directory
        self._store = store
        self._clock = clock
        self._sweep_every_s = passivate_after_s / SWEEPS
        self._stepped, self._back_s = Wake(), 0.0
        self.looks = 0

    def clock_stepped(self, by_s: float) -> None:
        """Note a step of the clock. Each actor gets a turn soon, because a retry can be due now.

        If the clock was set back by an hour, all waiting retries would be sent an hour late. Therefore
        each actor shortens the waits that are longer than the retry schedule allows. After a step back by
        more than SLEPT_OVER_S, dormant destinations with waiting retries get actors, too.
        """
        self._directory.steps.add(by_s, self._clock.now())
        self._back_s -= min(by_s, 0.0)
        self._stepped.set()

    async def run(self) -> None:
        """Wake and sweep until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep)
            nursery.start_soon(self._follow_clock)
            outage = Outage("retries of idle destinations")
            nursery.start_soon(outage.every, LOOK_EVERY_S, self._wake_due)

    async def _sweep(self) -> None:
        while True:
            await trio.sleep(self._sweep_every_s)
            await self._directory.passivate_idle()

    async def _follow_clock(self) -> None:
        while True:
            await self._stepped.wait()
            back_s, self._back_s = self._back_s, 0.0
            try:
                await self._directory.stir_all(sleepers=back_s > SLEPT_OVER_S)
            except BaseException:  # the next run of this loop gives the turns
                self._back_s += back_s
                self._stepped.set()
                raise

    async def _wake_due(self) -> None:
        again_s = AGAIN_S
        while self._directory.sleepers:
            roused, more = await self._look()
            if not more or (not roused and again_s > LOOK_EVERY_S):
                return
            if roused:
                again_s = AGAIN_S
            if roused < WAKE_AT_ONCE:
                await trio.sleep(again_s)
                again_s *= 2

    async def _look(self) -> tuple[int, bool]:
        """Activate the destinations that are due next. Return how many were activated, and whether the
        store can have more destinations that are due."""
        self.looks += 1
        before_ms = int((self._clock.now() + LOOK_AHEAD_S) * 1000)
        rows = await self._store.due_destinations(before_ms, WAKE_AT_ONCE)
        roused = 0
        for first in range(0, len(rows), ROUSE_AT_ONCE):
            if first:
                await trio.lowlevel.checkpoint()
            roused += self._directory.rouse(rows[first : first + ROUSE_AT_ONCE])
        return roused, len(rows) == WAKE_AT_ONCE
