"""The simulated statement of the recorder: it writes attempts, states, counters, marks and snapshots, or
nothing.

Like the real statement, it has two forms. The lean form is for groups in which all deliveries have
succeeded without anything to note (`_is_success`). The other form is for all other groups.
"""

from functools import partial
from math import ceil

import trio
from msgspec.structs import replace

from engine.core import minutes
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble, DlqStatus
from engine.nodes.parts import WorkerPart
from engine.ports import BlockedError, PoisonError, SettleGroup, StoreError
from tests.sim.store.connection import HotConnection
from tests.sim.store.intake import POISON
from tests.sim.store.stored import (
    WAITING,
    StoredAttempt,
    StoredDelivery,
    StoredMinute,
    trouble_of,
)
from tests.sim.store.tables import Tables

LOCK_WAIT_S = 0.1  # the statement's wait for a lock, as `storage.database.profiles` has it


def settle(tables: Tables, group: SettleGroup, part: WorkerPart, process: int, epoch: int) -> None:
    _require_values(group)
    # If the database has several parts, a process holds either all slots of its part or none. Then the
    # check of one slot is enough.
    tables.rights.require_settle(process, epoch, group.shards if part.whole else [part.number])
    tables.rights.require_unlocked([(each.environment, each.destination) for each in group.marks])
    _require_free(tables, group)
    lean = bool(group.settlements) and not group.again and all(map(_is_success, group.settlements))
    made = _new_attempts(tables, group)
    changed = _changed(tables, group, lean=lean)
    whole = len(changed) == len(group.settlements)
    if group.again:
        attempted = sum(each.attempt is not None for each in group.settlements)
        done = not made and not any(_lasts(each) for _, each in changed)
        if not (whole and len(made) == attempted) and not done:
            raise PoisonError(f"deliveries changed: {len(changed)} of {len(group.settlements)}")
    elif not whole:
        raise PoisonError(f"deliveries changed: {len(changed)} of {len(group.settlements)}")
    for row, settlement in changed:
        if lean:
            _succeed(row, settlement)
        else:
            _change(row, settlement)
    for key, attempt in made.items():
        tables.attempts[key] = attempt
    if whole:
        _count(tables, group)
    _stand(tables, group)


def _require_free(tables: Tables, group: SettleGroup) -> None:
    locked = tables.locked
    if locked and any(
        locked.get(each.delivery.id, 0.0) > tables.now() for each in group.settlements
    ):
        raise BlockedError("55P03 a delivery's row is locked")


def _require_values(group: SettleGroup) -> None:
    for each in group.settlements:
        if each.attempt is not None and POISON in each.attempt.outcome.body:
            raise PoisonError("a response that asks to be refused")
    keys = [(each.environment, each.destination) for each in group.snapshots]
    if len(set(keys)) < len(keys):
        raise StoreError("21000 ON CONFLICT DO UPDATE cannot affect a row twice: snapshots")


def _is_success(settlement: Settlement) -> bool:
    attempt = settlement.attempt
    return (
        attempt is not None
        and settlement.status is DeliveryStatus.DELIVERED
        and attempt.outcome.success
        and attempt.number == settlement.expects + 1
        and attempt.outcome.message is None
        and not settlement.skipped
    )


def _new_attempts(tables: Tables, group: SettleGroup) -> dict[tuple[int, str, int], StoredAttempt]:
    made: dict[tuple[int, str, int], StoredAttempt] = {}
    for settlement in group.settlements:
        attempt = settlement.attempt
        if attempt is None:
            continue
        delivery = settlement.delivery
        key = (delivery.event.environment, delivery.id, attempt.number)
        if key in tables.attempts or key in made:
            if group.again:
                continue
            raise PoisonError("23505 duplicate key value: attempts")
        made[key] = StoredAttempt(
            delivery.id,
            attempt.number,
            attempt.destination_version,
            int(attempt.outcome.started_at * 1000),
            replace(attempt.outcome),
        )
    return made


def _changed(
    tables: Tables, group: SettleGroup, *, lean: bool
) -> list[tuple[StoredDelivery, Settlement]]:
    """Return the rows that the group may change, each with its settlement. A row is left out if it no
    longer has the state that the settlement expects. If two settlements name a row, the first counts."""
    changed: dict[str, tuple[StoredDelivery, Settlement]] = {}
    for settlement in group.settlements:
        delivery = settlement.delivery
        row = tables.deliveries.get((delivery.event.environment, delivery.id))
        if row is None or row.attempts != settlement.expects:
            continue
        if lean:
            if row.status in WAITING:
                changed.setdefault(row.id, (row, settlement))
        elif row.seq == delivery.seq and (row.status in WAITING or _discards(row, settlement)):
            changed.setdefault(row.id, (row, settlement))
    return list(changed.values())


def _lasts(settlement: Settlement) -> bool:
    """Return True if a settlement must not be written twice. Return False if it only sets the time of a
    retry. When the group is written again, such a settlement sets the same time again, which is harmless.
    """
    attempt = settlement.attempt
    attempted = attempt is not None and attempt.number != settlement.expects
    return attempted or settlement.status is not DeliveryStatus.RETRYING


def _discards(row: StoredDelivery, settlement: Settlement) -> bool:
    return row.dlq is DlqStatus.IN_DLQ and settlement.dlq_status is DlqStatus.DISCARDED


def _succeed(row: StoredDelivery, settlement: Settlement) -> None:
    attempt = settlement.attempt
    assert attempt is not None
    outcome = attempt.outcome
    row.status = DeliveryStatus.DELIVERED
    row.attempts = attempt.number
    row.response_status = outcome.status
    row.delivered_at_ms = row.updated_at_ms = int(outcome.started_at * 1000) + outcome.duration_ms
    row.trouble = None if row.dlq is None else DeliveryTrouble.REQUEUED
    row.category = row.last_error = row.due_ms = None


def _change(row: StoredDelivery, settlement: Settlement) -> None:
    attempt = settlement.attempt
    if attempt is None:
        at_ms = int(settlement.at * 1000)
    else:
        at_ms = int(attempt.outcome.started_at * 1000) + attempt.outcome.duration_ms
    number = settlement.expects if attempt is None else attempt.number
    response, category = settlement.response_status, settlement.error_category
    error = settlement.last_error
    if settlement.status is DeliveryStatus.FAILED and number == settlement.expects:
        # The delivery fails finally without a new attempt. So its row keeps the response and the error of
        # its last attempt.
        response = row.response_status if response is None else response
        category = row.category if category is None else category
        error = row.last_error if error is None else error
    row.status = settlement.status
    row.attempts = number
    row.updated_at_ms = at_ms
    row.delivered_at_ms = at_ms if settlement.status is DeliveryStatus.DELIVERED else None
    if settlement.dead_lettered:
        row.dead_lettered_at_ms = at_ms
    due = settlement.next_attempt_at
    row.due_ms = None if due is None else ceil(due * 1000)
    row.dlq = row.dlq if settlement.dlq_status is None else settlement.dlq_status
    row.trouble = trouble_of(row.status, row.dlq)
    row.response_status, row.category, row.last_error = response, category, error
    row.skipped = settlement.skipped


def _count(tables: Tables, group: SettleGroup) -> None:
    for each in minutes.minute_deltas(group.settlements):  # where bugs are planted
        key = (each.environment, each.destination, each.minute)
        minute = tables.minutes.setdefault(key, StoredMinute())
        minute.attempts += each.attempts
        minute.failed += each.failed
        minute.retried += each.retried
        minute.delivered += each.delivered
        minute.dead_lettered += each.dead_lettered
        minute.errors = [a + b for a, b in zip(minute.errors, each.errors, strict=True)]
        minute.latency = [a + b for a, b in zip(minute.latency, each.latency, strict=True)]
    for delta in group.replays:
        tally = tables.replays.tallies.setdefault((delta.environment, delta.job), [0, 0])
        tally[0] += delta.delivered
        tally[1] += delta.failed


def _stand(tables: Tables, group: SettleGroup) -> None:
    for mark in group.marks:
        row = tables.backlog.get((mark.environment, mark.destination))
        if row is not None:  # only the intake knows when a destination becomes dirty
            row.low_seq = max(row.low_seq, mark.low_seq)
            row.due_ms = mark.next_due_at_ms
    for write in group.snapshots:
        tables.snapshots[write.environment, write.destination] = write.state


class SimulatedSettle:
    """The simulated `engine.ports.SettleStore`."""

    def __init__(self, tables: Tables, connection: HotConnection) -> None:
        self._tables = tables
        self.connection = connection

    async def settle(self, group: SettleGroup) -> None:
        await self.connection.ensure()
        part = self.connection.ownership.part
        try:
            await self.connection.write(
                "settle", partial(settle, self._tables, _as_sent(group), part)
            )
        except BlockedError:
            await trio.sleep(LOCK_WAIT_S)
            raise


def _as_sent(group: SettleGroup) -> SettleGroup:
    """Return a copy of a group, as a real statement would carry it. Actors can change the deliveries of
    the original before the statement runs."""
    return replace(
        group,
        settlements=[replace(each, delivery=replace(each.delivery)) for each in group.settlements],
        marks=list(group.marks),
        snapshots=list(group.snapshots),
        replays=list(group.replays),
    )
