"""A running replay job: its legs, and the order in which the runner serves them. Nothing here awaits."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from msgspec import structs

from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus, ReplayStatus
from engine.replay.job import Leg, ReplayJob
from engine.replay.pace import Meter
from engine.replay.ports import Chunk, OrderStep
from engine.runtime.fair_queue import FairQueue

ASK_AGAIN_S = 5.0  # how often the store is asked whether a job without news has ended
LOOKED_AT = 256  # legs that one turn examines to find one with room; there can be thousands
_UNSETTLED = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


class RunningJob:
    """An unfinished job, owned by the runner. `lost` is True if the job in memory differs from the job in
    the store. The runner then loads the job again."""

    def __init__(self, job: ReplayJob, legs: list[Leg], now: float) -> None:
        self.job = job
        self.meter = Meter(now)
        self.lost = False
        self.stirred = True  # something ended, so that the job may have ended
        self._asked_at = now
        self.given: dict[str, float] = {}  # by delivery with an open order: when it was first given
        self.repeat_at = 0.0  # when open orders are to be given again
        self.blocked: dict[str, str] = {}  # by destination: the lane that has no room
        self._took_lane: set[str] = set()  # destinations whose last step was a parked lane's
        self.destinations = [leg.destination for leg in legs]
        self._uncounted = [leg for leg in legs if not leg.all_counted]
        # The open legs in the order of their turns. A `FairQueue` would need more memory: it has a queue
        # of items for each leg.
        self._legs = OrderedDict((leg.destination, leg) for leg in legs if not leg.ended)

    def renew(self, job: ReplayJob) -> None:
        """Replace the job in memory by `job`, which was read from the store. The selection in memory is
        kept, because `job` can lack its selection. If the status in the store differs from the status in
        memory, set `lost` to True: the runner then also loads the job's legs again."""
        if job.status is not self.job.status:
            self.lost = True
        self.job = structs.replace(job, selection=self.job.selection)

    @property
    def size(self) -> int:
        return len(self._legs)

    def began(self, now_ms: int) -> None:
        """Note that the counting is done; empty legs are dropped."""
        self._legs = OrderedDict((key, leg) for key, leg in self._legs.items() if leg.total)
        self.destinations = list(self._legs)
        self.job = structs.replace(self.job, status=ReplayStatus.RUNNING, started_at_ms=now_ms)

    def became(self, status: ReplayStatus) -> None:
        """Note that the job was paused or resumed."""
        self.job = structs.replace(self.job, status=status)

    def heard(self, settlement: Settlement) -> None:
        """Note the settlement of one of the job's deliveries."""
        if settlement.status not in _UNSETTLED:
            self.meter.add(1)
            self.stirred = True

    def may_have_ended(self, now: float) -> bool:
        """Return True if the runner must now ask the store whether the job has ended. The runner asks
        when a delivery or a leg of the job has ended. Without such news, it asks every ASK_AGAIN_S."""
        if not self.stirred and now < self._asked_at + ASK_AGAIN_S:
            return False
        self.stirred, self._asked_at = False, now
        return True

    def uncounted(self) -> Leg | None:
        """Return the leg that is to be counted next."""
        return self._uncounted[-1] if self._uncounted else None

    def put(self, leg: Leg) -> None:
        """Replace a leg by its state after the count."""
        self._legs[leg.destination] = leg
        if leg.all_counted:
            self._uncounted.pop()
        else:
            self._uncounted[-1] = leg

    @property
    def open(self) -> bool:
        return bool(self._legs)

    def legs_in_turn(self) -> Iterator[Leg]:
        """Yield a bounded number of open legs, from the one after the leg that was served last."""
        for _ in range(min(LOOKED_AT, len(self._legs))):
            destination = next(iter(self._legs))
            self._legs.move_to_end(destination)
            yield self._legs[destination]

    def lane_first(self, leg: Leg) -> bool:
        """Return True if a leg's next step must read a parked lane, and False if the step must read on
        from the leg's cursor. The two kinds of steps alternate. Call this only while both kinds are
        possible."""
        if leg.destination in self._took_lane:
            self._took_lane.remove(leg.destination)
            return False
        self._took_lane.add(leg.destination)
        return True

    def moved(self, chunk: Chunk, written: int) -> None:
        """Note that a chunk's step is durable."""
        leg = self._legs[chunk.destination]
        skipped = chunk.skipped + len(chunk.deliveries) - written
        leg.step += 1
        leg.enqueued += written
        leg.skipped += skipped
        self.job = structs.replace(
            self.job,
            enqueued=self.job.enqueued + written,
            skipped=self.job.skipped + skipped,
            paced_until_ms=chunk.paced_until_ms,
        )
        if chunk.lane is None:
            leg.cursor, leg.exhausted = chunk.through, chunk.exhausted
            leg.parked |= chunk.parks
        else:
            del leg.parked[chunk.lane]
            if not chunk.exhausted:  # the lane goes behind the other parked lanes
                leg.parked[chunk.lane] = chunk.through
        if leg.ended:
            self.close(leg)

    def ordered(self, step: OrderStep) -> None:
        """Note that a step of orders is durable."""
        leg = self._legs[step.destination]
        leg.step += 1
        leg.cursor, leg.exhausted, leg.ordered = step.through, step.exhausted, step.ordered
        leg.enqueued += step.done
        leg.skipped += step.skipped
        self.meter.add(step.done)
        self.job = structs.replace(
            self.job,
            enqueued=self.job.enqueued + step.done,
            skipped=self.job.skipped + step.skipped,
        )
        if leg.ended:
            self.close(leg)

    def close(self, leg: Leg) -> None:
        """Note that a leg has ended."""
        leg.exhausted = True
        leg.parked.clear()
        self._legs.pop(leg.destination, None)
        self.blocked.pop(leg.destination, None)
        self.stirred = True


def in_turn(jobs: Iterable[RunningJob]) -> list[RunningJob]:
    """Return all jobs: first one of each environment, then a second one of each, and so on. So an
    environment with many jobs does not delay others."""
    queue: FairQueue[int, RunningJob] = FairQueue()
    for running in jobs:
        queue.put(running.job.environment, running)
    return [running for _, running in iter(queue.take, None)]
