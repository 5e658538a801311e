"""The groups of outcomes that the recorder writes with one statement each. Also here is `SettledReplays`:
the outcomes of replays that the recorder has written. They wait for the replay runner."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import structs

from engine.core.destination import Destination
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus, Ordering
from engine.model.identity import shard_of
from engine.model.trace import log_fields
from engine.ports import BacklogMark, ReplayDelta, SettleGroup, SnapshotWrite
from engine.runtime.wake import Wake

_UNSETTLED = (DeliveryStatus.RETRYING, DeliveryStatus.PENDING)


class SettlementOwner(Protocol):
    """The owner of a settlement: it decided the settlement and waits for its commit."""

    config: Destination
    ordering: Ordering  # the order of its settlements; `config` can have another one already

    def committed(self, settlements: list[Settlement]) -> None:
        """Learn that these settlements are durable."""

    def refused(self, settlement: Settlement, error: Exception) -> None:
        """Learn that the store refuses a settlement."""


QueuedOutcome = tuple[Settlement, SettlementOwner]


def build_group(
    settlements: list[Settlement],
    marks: list[BacklogMark],
    snapshots: list[SnapshotWrite],
) -> SettleGroup:
    """Return a group of the given rows. The group also has the shards of their destinations, and the
    changes of the replay jobs' counts."""
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
    """Return how these outcomes change the replay jobs' counts.

    A replay that was dead-lettered before is already in the job's `failed`. If it fails again, no count
    changes. If it is delivered now, `failed` becomes smaller.
    """
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


def without_response(settlement: Settlement) -> Settlement | None:
    """Return a copy of the settlement without the receiver's response. Return None if there is no
    response to leave out."""
    attempt = settlement.attempt
    if attempt is None:
        return None
    outcome = attempt.outcome
    if not (outcome.body or outcome.headers or outcome.message or settlement.last_error):
        return None
    bare = structs.replace(outcome, body=b"", headers=(), message=None)
    return structs.replace(
        settlement, attempt=structs.replace(attempt, outcome=bare), last_error=None
    )


def ids_of(settlement: Settlement) -> dict[str, object]:
    """Return the fields that name a settlement in the log."""
    delivery, attempt = settlement.delivery, settlement.attempt
    return {
        "delivery": delivery.id,
        "event_id": delivery.event.id,
        "destination": delivery.destination,
        "environment": delivery.event.environment,
        "status": settlement.status.name,
        "attempt": None if attempt is None else attempt.number,
        **log_fields(delivery.event.trace),
    }


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
