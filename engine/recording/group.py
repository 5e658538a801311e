"""A group of outcomes, which one statement of the recorder writes, and the list of settled replays."""

from collections.abc import Sequence

from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus
from engine.model.identity import shard_of
from engine.ports import BacklogMark, ReplayDelta, SettleGroup, SnapshotWrite
from engine.runtime.wake import Wake

_UNSETTLED = (DeliveryStatus.RETRYING, DeliveryStatus.PENDING)


def build_group(
    settlements: list[Settlement],
    marks: list[BacklogMark],
    snapshots: list[SnapshotWrite],
) -> SettleGroup:
    """Return a group. The shards and the counts of replays follow from the given rows."""
    destinations = {each.delivery.destination for each in settlements}
    destinations.update(mark.destination for mark in marks)
    destinations.update(write.destination for write in snapshots)
    return SettleGroup(
        settlements=settlements,
        marks=marks,
        snapshots=snapshots,
        shards=sorted({shard_of(each) for each in destinations}),
        now_ms=0,
        replays=_replays(settlements),
    )


def _replays(settlements: list[Settlement]) -> list[ReplayDelta]:
    """Return the changes of the jobs' counts. A replay that was in the DLQ before this outcome is counted
    in `failed` already."""
    deltas: dict[str, ReplayDelta] = {}
    for settlement in settlements:
        delivery = settlement.delivery
        job = delivery.replay_job
        if job is None or settlement.status in _UNSETTLED:
            continue
        failed = settlement.status is DeliveryStatus.FAILED
        again = delivery.dlq_status is not None
        if failed and again:
            continue
        delta = deltas.get(job)
        if delta is None:
            delta = deltas[job] = ReplayDelta(delivery.event.environment, job)
        if failed:
            delta.failed += 1
        else:
            delta.delivered += 1
            delta.failed -= again
    return list(deltas.values())


class SettledReplays:
    """Owner of the durable settlements of replays, until the replay runner takes them."""

    def __init__(self) -> None:
        self._waiting: list[Settlement] = []
        self.wake = Wake()

    def put(self, settlements: Sequence[Settlement]) -> None:
        self._waiting.extend(settlements)
        self.wake.set()

    def take(self) -> list[Settlement]:
        taken, self._waiting = self._waiting, []
        return taken
