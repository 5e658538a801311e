"""The orders (commands to cancel or retry a delivery) of replay jobs. A destination's actor gets its
orders in chunks.

The store records a chunk before the actor gets it. After a crash the actor gets the chunk again, and
skips the deliveries that have ended.
"""

from collections.abc import Sequence

import trio

from engine.actors.mailbox import Ordered
from engine.core.orders import Order
from engine.core.vocabulary import DestinationStatus, JobKind
from engine.replay.job import Leg, ReplayJob
from engine.replay.ports import (
    Finder,
    OrderRange,
    OrderState,
    OrderStep,
    ReplayActors,
    ReplayStore,
)
from engine.replay.running_job import RunningJob

CHUNK = 64  # orders in one message: the actor searches all its deliveries for them, some 5 ms
OPEN = 512  # the limit on the open orders of one leg; most of them wait for an attempt in flight
# How long a job's step waits for the actor to carry out the new orders. The actor carries out most orders
# in this time. A longer wait would delay other jobs.
SOON_S = 0.05
AGAIN_S = 1.0  # between repeats of open cancellations: the actor may have been restarted
# A delivery that still waits this long after a retry order counts as retried. The order made the delivery
# due, so the delivery waits only for its lane or for a free slot.
GIVEN_S = 5.0
_ORDERS = {JobKind.CANCEL: Order.CANCEL, JobKind.RETRY: Order.RETRY}


class OrderGiver:
    """The part of the runner that gives the orders of all jobs to the actors. The state of each job is in
    its `RunningJob`."""

    def __init__(
        self,
        store: ReplayStore,
        actors: ReplayActors,
        find: Finder,
    ) -> None:
        self._store = store
        self._actors = actors
        self._find = find

    async def advance(self, running: RunningJob) -> bool:
        """Do the next step of a job. Return True if the job can do another step now."""
        for leg in running.legs_in_turn():
            destination = self._find(leg.destination)
            if destination is None:
                continue  # another process made it, and this one is not notified yet
            if destination.status is DestinationStatus.ARCHIVED:
                running.lost = not await self._store.abandon(running.job, leg)
                running.close(leg)
                return True
            if running.job.kind is JobKind.RETRY and destination.status is not (
                DestinationStatus.ACTIVE
            ):
                continue
            return await self._step(running, leg)
        return False

    async def _step(self, running: RunningJob, leg: Leg) -> bool:
        job = running.job
        open_, done = await self._ended(running, leg)
        skipped = len(leg.ordered) - len(open_) - done
        counted = leg.enqueued + leg.skipped + len(leg.ordered)
        limit = job.selection.limit
        left = OPEN if limit is None else limit - counted
        room = min(CHUNK, OPEN - len(open_), left)
        found = OrderRange([], leg.cursor, end=left <= 0)
        if room > 0:
            found = await self._store.outstanding(job, leg, room)
        ordered = open_ + found.ids
        ends = found.end and not ordered
        if ordered != leg.ordered or found.through != leg.cursor or ends:
            step = OrderStep(
                job.environment, job.id, leg.destination, leg.step, found.through, ends, ordered,
                done, skipped,
            )  # fmt: skip
            if not await self._store.order(step):
                running.lost = True
                return False
            running.ordered(step)
        await self._give(running, leg, open_, found.ids)
        return not found.end and room > 0

    async def _ended(self, running: RunningJob, leg: Leg) -> tuple[list[str], int]:
        """Look at the leg's orders. Return the deliveries whose orders are still open, and the number of
        orders that were carried out. Orders that are neither open nor carried out had no effect."""
        if not leg.ordered:
            return [], 0
        now = trio.current_time()
        open_, done = [], 0
        for each in await self._store.order_states(running.job, leg.ordered):
            carried_out = judged(running.job, each, now - running.given.get(each.id, now))
            if carried_out is None:
                open_.append(each.id)
            else:
                done += carried_out
        return open_, done

    async def _give(
        self, running: RunningJob, leg: Leg, open_: Sequence[str], new: Sequence[str]
    ) -> None:
        """Give the actor the new orders. Repeat open orders, because an actor that was restarted has lost
        its orders.

        After the runner has loaded a job, it repeats the job's open orders once. If the job cancels
        deliveries, the runner also repeats the open orders every `AGAIN_S`.
        """
        now = trio.current_time()
        order = _ORDERS[running.job.kind]
        repeated = [each for each in open_ if each not in running.given]
        if order is Order.CANCEL and now >= running.repeat_at:
            repeated = list(open_)
        running.given = {each: running.given.get(each, now) for each in (*open_, *new)}
        if repeated:
            running.repeat_at = now + AGAIN_S
            self._actors.tell(leg.destination, Ordered(order, tuple(repeated)))
        if not new:
            return
        with self._actors.awaited.of(new) as changed:
            self._actors.tell(leg.destination, Ordered(order, tuple(new)))
            with trio.move_on_after(SOON_S):
                for settled in changed:
                    await settled.wait()


def judged(job: ReplayJob, delivery: OrderState, given_s: float) -> bool | None:
    """Return True if a delivery was cancelled or retried as the job ordered. Return False if the delivery
    ended in another way. Return None if the order is still open."""
    if job.kind is JobKind.CANCEL:
        return None if delivery.waits else delivery.discarded
    if delivery.waits:
        return True if delivery.changed or given_s >= GIVEN_S else None
    return delivery.changed and not delivery.discarded
