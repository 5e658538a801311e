"""The waits of a delivery: the gates that hold it, the order of the gates, and the time at which each
wait ends.
"""

from typing import Any

import pytest

from engine.core.health import CircuitState, Health, HealthState, Hold, HoldReason
from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    ErrorCategory,
    Priority,
)
from engine.log.delivery_log import DeliveryEntry
from engine.log.queues import Gate, LaneKind, QueuePlace, held_until, lane_of, waits_of

NOW = 1_000.0


def entry(**changes: Any) -> DeliveryEntry:
    given: dict[str, Any] = dict.fromkeys(DeliveryEntry.__struct_fields__)
    given |= {"id": "d", "event": "e", "event_type": "t", "destination": "x", "environment": 1}
    given |= {"status": DeliveryStatus.PENDING, "kind": DeliveryKind.EVENT, "skipped": False}
    given |= {"origin": DeliveryOrigin.NORMAL, "priority": Priority.STANDARD, "attempt_count": 1}
    return DeliveryEntry(**given | changes)


def health(**changes: Any) -> Health:
    given: dict[str, Any] = dict.fromkeys(Health.__struct_fields__)
    given |= {"state": HealthState.HEALTHY, "circuit": CircuitState.CLOSED, "pending": 1}
    given |= {"in_flight": 0, "concurrency": 4, "consecutive_failures": 7}
    return Health(**given | changes)


RETRYING = entry(
    status=DeliveryStatus.RETRYING, next_attempt_at_ms=1_060_000, error_category=ErrorCategory.DNS
)
OPEN = CircuitState.OPEN
BEHIND = QueuePlace(kind=LaneKind.CUSTOMER, key="c1", ahead=3, head="other")
CASES: list[tuple[DeliveryEntry, QueuePlace, Health | None, list[tuple[Gate, float | None]]]] = [
    (entry(), QueuePlace(ahead=0), health(), []),
    (entry(), QueuePlace(ahead=0), None, []),
    (entry(), QueuePlace(ahead=2), health(), [(Gate.QUEUE, None)]),
    (entry(), BEHIND, health(), [(Gate.LANE, None)]),
    (entry(id="other"), BEHIND, health(), []),
    (RETRYING, QueuePlace(), health(), [(Gate.SCHEDULE, 1_060.0)]),
    (entry(status=DeliveryStatus.RETRYING, next_attempt_at_ms=1), QueuePlace(), health(), []),
    (entry(), QueuePlace(), health(in_flight=4), [(Gate.CONCURRENCY, None)]),
    (
        RETRYING,
        BEHIND,
        health(hold=Hold(HoldReason.RETRY_AFTER, 1_100.0), circuit=OPEN, next_probe_at=1_010.0),
        [
            (Gate.LANE, None),
            (Gate.SCHEDULE, 1_060.0),
            (Gate.RETRY_AFTER, 1_100.0),
            (Gate.CIRCUIT, 1_010.0),
        ],
    ),
    (
        entry(),
        QueuePlace(),
        health(hold=Hold(HoldReason.CIRCUIT), circuit=CircuitState.HALF_OPEN),
        [(Gate.CIRCUIT, None)],
    ),
    (entry(), QueuePlace(), health(hold=Hold(HoldReason.STORE)), [(Gate.STORE, None)]),
    (entry(), QueuePlace(), health(hold=Hold(HoldReason.RATE, 1_002.0)), [(Gate.RATE, 1_002.0)]),
    (entry(), QueuePlace(), health(hold=Hold(HoldReason.DISABLED)), [(Gate.DISABLED, None)]),
    (entry(status=DeliveryStatus.DELIVERED), QueuePlace(), health(hold=Hold(HoldReason.STORE)), []),
]


@pytest.mark.parametrize(("which", "place", "known", "expected"), CASES)
def test_each_gate_that_is_closed_is_named(
    which: DeliveryEntry,
    place: QueuePlace,
    known: Health | None,
    expected: list[tuple[Gate, float | None]],
) -> None:
    waits = waits_of(which, place, known, NOW)
    assert [(wait.gate, wait.until_s) for wait in waits] == expected
    assert all(wait.detail.endswith(".") for wait in waits)
    assert [wait.blocked_by for wait in waits if wait.gate is Gate.LANE] == [
        place.head for wait in waits if wait.gate is Gate.LANE
    ]


def test_an_attempt_is_not_before_its_time_nor_before_a_hold_ends() -> None:
    hold = Hold(HoldReason.RETRY_AFTER, 20.0)
    assert held_until(None, None) is None
    assert held_until(None, 10.0) == 10.0
    assert held_until(hold, None) == 20.0
    assert held_until(hold, 10.0) == 20.0
    assert held_until(hold, 30.0) == 30.0
    assert held_until(Hold(HoldReason.DISABLED), 10.0) == 10.0


def test_a_stored_lane_tells_its_kind_and_key() -> None:
    assert lane_of("c:a:b", strict=False) == (LaneKind.CUSTOMER, "a:b")
    assert lane_of("k:", strict=False) == (LaneKind.CORRELATION, "")
    assert lane_of("s:x", strict=False) == (LaneKind.SOURCE, "x")
    assert lane_of(None, strict=False) == (None, None)
    assert lane_of("c:a", strict=True) == (LaneKind.DESTINATION, None)
