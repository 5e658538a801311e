"""The meaning of an attempt's outcome for its delivery: each pair of state and signal in the table, and
the settlements that result.
"""

import pytest

from engine.core.records import Delivery
from engine.core.verdict import (
    TRANSITIONS,
    DeliverySignal,
    corrected_wait,
    delivered,
    failed,
    next_state,
    settled_unsent,
)
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus, ErrorCategory
from tests.core.making import NOW, a_410, a_delivery, a_destination, a_failure, a_success

D, S = DeliveryStatus, DeliverySignal
DEAD = (D.FAILED, DlqStatus.IN_DLQ)
DISCARDED = (D.FAILED, DlqStatus.DISCARDED)
POSSIBLE = {
    (D.PENDING, S.SEND): (D.DELIVERING, None),
    (D.PENDING, S.EXHAUSTION): DEAD,
    (D.PENDING, S.DRY_RUN): (D.DRY_RUN, None),
    (D.PENDING, S.ARCHIVE): DISCARDED,
    (D.PENDING, S.QUARANTINE): DEAD,
    (D.RETRYING, S.SEND): (D.DELIVERING, None),
    (D.RETRYING, S.EXHAUSTION): DEAD,
    (D.RETRYING, S.DRY_RUN): (D.DRY_RUN, None),
    (D.RETRYING, S.ARCHIVE): DISCARDED,
    (D.RETRYING, S.QUARANTINE): DEAD,
    (D.PENDING, S.CANCEL): DISCARDED,
    (D.RETRYING, S.CANCEL): DISCARDED,
    (D.DELIVERING, S.CANCEL): DISCARDED,
    (D.RETRYING, S.HASTEN): (D.RETRYING, None),
    (D.RETRYING, S.POSTPONE): (D.RETRYING, None),
    (D.DELIVERING, S.SUCCESS): (D.DELIVERED, None),
    (D.DELIVERING, S.FAILURE): (D.RETRYING, None),
    (D.DELIVERING, S.EXHAUSTION): DEAD,
    (D.DELIVERING, S.GONE): DEAD,
    (D.DELIVERING, S.LATE_ARCHIVE): DISCARDED,
    (D.DELIVERING, S.QUARANTINE): DEAD,
    (D.FAILED, S.REQUEUE): (D.PENDING, DlqStatus.RETRIED_FROM_DLQ),
    (D.FAILED, S.ARCHIVE): DISCARDED,
}


@pytest.mark.parametrize("state", DeliveryStatus)
@pytest.mark.parametrize("signal", DeliverySignal)
def test_the_table_decides_every_pair(state: DeliveryStatus, signal: DeliverySignal) -> None:
    assert (state, signal) in TRANSITIONS
    wanted = POSSIBLE.get((state, signal))
    if wanted is None:
        with pytest.raises(AssertionError, match=signal.name):
            next_state(state, signal)
    else:
        assert tuple(next_state(state, signal)) == wanted


def tried(times: int, *, since: int = 0) -> Delivery:
    return a_delivery(1, attempt_count=times, schedule_start=since)


def test_a_success_is_delivered_with_its_attempt() -> None:
    delivery = tried(2)
    settlement = delivered(delivery, a_success(status=204), 7, NOW)
    assert settlement.status is next_state(D.DELIVERING, S.SUCCESS).status
    assert settlement.attempt is not None
    assert (settlement.attempt.number, settlement.attempt.destination_version) == (3, 7)
    assert (settlement.expects, settlement.response_status, settlement.at) == (2, 204, NOW)
    assert settlement.next_attempt_at is settlement.dlq_status is None
    assert delivery.attempt_count == 2, "verdicts change nothing"


@pytest.mark.parametrize(
    ("attempts", "since", "schedule", "delay_s"),
    [
        (0, 0, (5, 300, 1800), 5),
        (1, 0, (5, 300, 1800), 300),
        (2, 0, (5, 300, 1800), 1800),
        (3, 0, (5, 300, 1800), None),
        (9, 0, (5, 300, 1800), None),  # shortened meanwhile
        (0, 0, (), None),
        (4, 4, (5, 300, 1800), 5),  # requeued: a fresh schedule, but the numbers continue
        (7, 4, (5, 300, 1800), None),
    ],
)
def test_a_failure_is_retried_as_long_as_the_schedule_goes(
    attempts: int, since: int, schedule: tuple[int, ...], delay_s: int | None
) -> None:
    config = a_destination(retry_schedule_s=schedule)
    settlement = failed(tried(attempts, since=since), a_failure(), 1, config, NOW, 0.5)
    assert settlement.attempt is not None
    assert settlement.attempt.number == attempts + 1
    assert settlement.error_category is ErrorCategory.HTTP_5XX
    assert settlement.last_error == "it failed"
    if delay_s is None:
        assert (settlement.status, settlement.dlq_status, settlement.dead_lettered) == (*DEAD, True)
        assert settlement.next_attempt_at is None
    else:
        assert (settlement.status, settlement.dead_lettered) == (D.RETRYING, False)
        assert settlement.next_attempt_at == NOW + delay_s


def test_every_category_is_retried_alike_but_410() -> None:
    for category in ErrorCategory:
        settlement = failed(tried(0), a_failure(category=category), 1, a_destination(), NOW, 0.5)
        gone = category is ErrorCategory.DESTINATION_GONE
        assert settlement.status is (D.FAILED if gone else D.RETRYING)


def test_a_410_is_dead_at_once() -> None:
    settlement = failed(tried(0), a_410(), 1, a_destination(), NOW, 0.5)
    assert (settlement.status, settlement.dlq_status, settlement.dead_lettered) == (*DEAD, True)


@pytest.mark.parametrize("outcome", [a_failure(), a_410()])
def test_a_failure_in_an_archived_destination_is_discarded(outcome: object) -> None:
    config = a_destination(status=DestinationStatus.ARCHIVED)
    settlement = failed(tried(0), a_failure(), 1, config, NOW, 0.5)
    assert (settlement.status, settlement.dlq_status, settlement.dead_lettered) == (
        *DISCARDED,
        False,
    )


def test_a_requeued_delivery_keeps_its_mark_until_it_dies_again() -> None:
    delivery = a_delivery(
        1, attempt_count=4, schedule_start=4, dlq_status=DlqStatus.RETRIED_FROM_DLQ
    )
    config = a_destination(retry_schedule_s=(5,))
    assert delivered(delivery, a_success(), 1, NOW).dlq_status is DlqStatus.RETRIED_FROM_DLQ
    assert failed(delivery, a_failure(), 1, config, NOW, 0).dlq_status is DlqStatus.RETRIED_FROM_DLQ
    delivery.attempt_count = 5
    assert failed(delivery, a_failure(), 1, config, NOW, 0).dlq_status is DlqStatus.IN_DLQ


def test_quarantine_says_why() -> None:
    settlement = settled_unsent(tried(1), D.PENDING, S.QUARANTINE, NOW)
    assert settlement.error_category is ErrorCategory.INTERNAL
    assert settlement.attempt is None
    assert settlement.expects == 1
    assert settlement.dead_lettered
    assert settlement.last_error


@pytest.mark.parametrize(
    ("due_in", "attempts", "schedule", "corrected_to"),
    [
        (300, 1, (5, 300), None),
        (361, 1, (5, 300), None),  # the longest wait, and a second more because clocks differ
        (362, 1, (5, 300), 361),
        (1e9, 1, (5, 300), 361),
        (-50, 1, (5, 300), None),
        (300, 3, (5, 300), 0),  # used up: nothing to wait for
    ],
)
def test_a_wait_that_no_schedule_gives_is_cut(
    due_in: float, attempts: int, schedule: tuple[int, ...], corrected_to: float | None
) -> None:
    delivery = a_delivery(1, attempt_count=attempts, next_attempt_at=NOW + due_in)
    config = a_destination(retry_schedule_s=schedule)
    latest, settlement = corrected_wait(delivery, config, NOW)
    assert latest == NOW + 361
    wanted = due_in if corrected_to is None else corrected_to
    assert delivery.next_attempt_at == NOW + wanted
    if corrected_to:
        assert settlement is not None
        assert (settlement.status, settlement.next_attempt_at) == (D.RETRYING, NOW + corrected_to)
        assert (settlement.attempt, settlement.expects) == (None, attempts)
    else:
        assert settlement is None
