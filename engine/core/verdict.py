"""The verdict on a delivery, after an attempt or without one: the delivery's next durable state."""

import math
from enum import IntEnum
from typing import NamedTuple

from engine.core.destination import Destination
from engine.core.records import Attempt, Delivery, Outcome, Settlement
from engine.core.schedule import exhausted, longest_wait_s, retry_at
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus, ErrorCategory

CANCEL_MESSAGE = "cancelled"
QUARANTINE_MESSAGE = "the delivery stopped its destination's actor again and again"


class DeliverySignal(IntEnum):
    """The events that change a delivery's state."""

    SEND = 0
    SUCCESS = 1  # 2xx, body ended or 16 KiB of it read
    FAILURE = 2  # an attempt failed, and a retry follows
    EXHAUSTION = 3  # a failure with no attempt left, or a schedule that a PATCH shortened
    GONE = 4  # a 410
    DRY_RUN = 5  # the destination has `dry_run`: nothing is sent
    ARCHIVE = 6  # the destination was archived: no attempt begins any more
    QUARANTINE = 7  # the delivery crashed its destination's actor again and again
    POSTPONE = 8  # its wait was corrected: another clock or schedule had made it too long
    REQUEUE = 9  # out of the dead-letter queue, with a fresh schedule
    LATE_ARCHIVE = 10  # an attempt failed in an archived destination
    CANCEL = 11  # a person cancelled it: before an attempt, or after one that failed
    HASTEN = 12  # a person asked for its next attempt now


class End(NamedTuple):
    """The state of a delivery after a DeliverySignal. `dlq` None: the signal does not change the DLQ
    status."""

    status: DeliveryStatus
    dlq: DlqStatus | None = None


_D = DeliveryStatus
_DELIVERED = DeliveryStatus.DELIVERED  # the look-up of an enum's member costs more than a call
_S = DeliverySignal
_DEAD = End(_D.FAILED, DlqStatus.IN_DLQ)
_DISCARDED = End(_D.FAILED, DlqStatus.DISCARDED)
_SETTLED_FOR_GOOD: dict[DeliverySignal, End | None] = dict.fromkeys(DeliverySignal)
_WAITING: dict[DeliverySignal, End | None] = {
    **_SETTLED_FOR_GOOD,
    _S.SEND: End(_D.DELIVERING),
    _S.EXHAUSTION: _DEAD,
    _S.DRY_RUN: End(_D.DRY_RUN),
    _S.ARCHIVE: _DISCARDED,
    _S.QUARANTINE: _DEAD,
    _S.CANCEL: _DISCARDED,
}
_BY_STATE: dict[DeliveryStatus, dict[DeliverySignal, End | None]] = {
    _D.PENDING: _WAITING,
    _D.RETRYING: {**_WAITING, _S.POSTPONE: End(_D.RETRYING), _S.HASTEN: End(_D.RETRYING)},
    _D.DELIVERING: {
        **_SETTLED_FOR_GOOD,
        _S.SUCCESS: End(_D.DELIVERED),
        _S.FAILURE: End(_D.RETRYING),
        _S.EXHAUSTION: _DEAD,
        _S.GONE: _DEAD,
        _S.LATE_ARCHIVE: _DISCARDED,
        _S.CANCEL: _DISCARDED,
        _S.QUARANTINE: _DEAD,
    },
    _D.DELIVERED: _SETTLED_FOR_GOOD,
    _D.DRY_RUN: _SETTLED_FOR_GOOD,
    # A FAILED delivery has the dead-letter status IN_DLQ or DISCARDED. Only an IN_DLQ delivery gets
    # REQUEUE or ARCHIVE.
    _D.FAILED: {
        **_SETTLED_FOR_GOOD,
        _S.REQUEUE: End(_D.PENDING, DlqStatus.RETRIED_FROM_DLQ),
        _S.ARCHIVE: _DISCARDED,
    },
}
TRANSITIONS: dict[tuple[DeliveryStatus, DeliverySignal], End | None] = {
    (state, signal): end for state, ends in _BY_STATE.items() for signal, end in ends.items()
}  # None: cannot happen


def next_state(state: DeliveryStatus, signal: DeliverySignal) -> End:
    """Return the state after `signal`. Raises AssertionError if `state` never gets this signal."""
    end = TRANSITIONS[state, signal]
    if end is None:
        raise AssertionError(f"a {state.name} delivery cannot meet {signal.name}")
    return end


def waiting_state(delivery: Delivery) -> DeliveryStatus:
    return DeliveryStatus.PENDING if delivery.next_attempt_at is None else DeliveryStatus.RETRYING


def delivered(delivery: Delivery, outcome: Outcome, version: int, now: float) -> Settlement:
    """Return the settlement of a success. To save time, it does not look DELIVERED up in TRANSITIONS."""
    count = delivery.attempt_count
    return Settlement(  # in the order of its fields: keywords would double the cost
        delivery,
        _DELIVERED,
        Attempt(count + 1, outcome, version),
        count,
        None,  # no next attempt
        delivery.dlq_status,
        False,  # not dead-lettered
        None,  # no error
        outcome.status,
        None,
        now,
        outcome.skipped,
    )


def failed(
    delivery: Delivery,
    outcome: Outcome,
    version: int,
    config: Destination,
    now: float,
    chance: float,
    *,
    cancelled: bool = False,
    lost: bool = False,
) -> Settlement:
    """Return the settlement of a failed attempt. The present configuration decides whether a retry
    follows. `lost`: no retry follows, because the destination's address has been forbidden for long."""
    number = delivery.attempt_count + 1
    retry = retry_at(config, number - delivery.schedule_start, now, chance)
    if config.status == DestinationStatus.ARCHIVED:
        signal = DeliverySignal.LATE_ARCHIVE
    elif cancelled:
        signal = DeliverySignal.CANCEL
    elif outcome.category == ErrorCategory.DESTINATION_GONE:
        signal = DeliverySignal.GONE
    elif lost or retry is None:
        signal = DeliverySignal.EXHAUSTION
    else:
        signal = DeliverySignal.FAILURE
    end = next_state(DeliveryStatus.DELIVERING, signal)
    return Settlement(
        delivery=delivery,
        status=end.status,
        attempt=Attempt(number, outcome, version),
        expects=delivery.attempt_count,
        next_attempt_at=retry if end.status is DeliveryStatus.RETRYING else None,
        dlq_status=delivery.dlq_status if end.dlq is None else end.dlq,
        dead_lettered=end.dlq is DlqStatus.IN_DLQ,
        error_category=outcome.category,
        response_status=outcome.status,
        last_error=CANCEL_MESSAGE if cancelled else outcome.message,
        at=now,
    )


def settled_unsent(
    delivery: Delivery, state: DeliveryStatus, signal: DeliverySignal, now: float
) -> Settlement:
    """Return the settlement of a delivery whose state changes without an attempt. `signal`: the reason.

    If the settlement has no error, the delivery's row keeps the error of the last attempt.
    """
    end = next_state(state, signal)
    quarantined = signal is DeliverySignal.QUARANTINE
    messages = {
        DeliverySignal.QUARANTINE: QUARANTINE_MESSAGE,
        DeliverySignal.CANCEL: CANCEL_MESSAGE,
    }
    return Settlement(
        delivery=delivery,
        status=end.status,
        attempt=None,
        expects=delivery.attempt_count,
        next_attempt_at=delivery.next_attempt_at if end.status is DeliveryStatus.RETRYING else None,
        dlq_status=delivery.dlq_status if end.dlq is None else end.dlq,
        dead_lettered=end.dlq is DlqStatus.IN_DLQ,
        error_category=ErrorCategory.INTERNAL if quarantined else None,
        last_error=messages.get(signal),
        at=now,
    )


def corrected_wait(
    delivery: Delivery, config: Destination, now: float
) -> tuple[float, Settlement | None]:
    """Shorten a delivery's wait if it is longer than the present schedule allows.

    Returns the latest due time that the schedule allows, and a settlement if the delivery now has this
    due time instead of a later one. The settlement makes the new due time durable. If the schedule allows
    no further attempt, the delivery becomes due now, and there is no settlement: the delivery will soon
    be dead-lettered instead of sent.
    """
    latest = math.ceil((now + longest_wait_s(config)) * 1000) / 1000
    due = delivery.next_attempt_at
    if due is None:
        return latest, None
    if exhausted(delivery, config):
        delivery.next_attempt_at = min(due, now)
        return latest, None
    if due <= latest:
        return latest, None
    delivery.next_attempt_at = latest
    postponed = Settlement(
        delivery=delivery,
        status=next_state(DeliveryStatus.RETRYING, DeliverySignal.POSTPONE).status,
        attempt=None,
        expects=delivery.attempt_count,
        next_attempt_at=latest,
        dlq_status=delivery.dlq_status,
        at=now,
    )
    return latest, postponed
