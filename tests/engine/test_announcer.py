"""The announcer: it finds what began or ended between two snapshots of a destination."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.core.snapshot import FailureRow, Snapshot, encode
from engine.model.instants import iso
from engine.ports import SnapshotWrite
from engine.recording.announcer import FAILING, RECOVERED, Announcer

NOW = 1_800_000_000.0
WORKS = Snapshot(taken_at=NOW)
FAILS = Snapshot(taken_at=NOW, row=FailureRow(10, False, NOW - 9, NOW, began_at=NOW - 9))
FAILS_STILL = Snapshot(taken_at=NOW, row=FailureRow(99, False, NOW - 9, NOW))
FAILS_QUIETLY = Snapshot(taken_at=NOW, row=FailureRow(10, True, NOW - 9, NOW))
NOT_YET = Snapshot(taken_at=NOW, row=FailureRow(9, False, NOW - 9, None))


def announced(before: Snapshot | None, after: Snapshot) -> list[tuple[str, Mapping[str, Any], str]]:
    """Replace the snapshot `before` by the snapshot `after`. Return the type, payload and occasion of
    each announcement that this causes."""
    found: list[tuple[str, Mapping[str, Any], str]] = []

    def announce(
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None,
        occasion: str,
        hops: int = 0,
    ) -> None:
        found.append((event_type, payload, occasion))

    state = None if before is None else encode(before)
    Announcer(announce, lambda _: None).snapshots([SnapshotWrite(7, "d", encode(after), state)])
    return found


@pytest.mark.parametrize(
    ("before", "after", "types"),
    [
        (None, FAILS, [FAILING]),
        (WORKS, FAILS, [FAILING]),
        (NOT_YET, FAILS, [FAILING]),
        (FAILS_QUIETLY, FAILS, [FAILING]),
        (FAILS, WORKS, [RECOVERED]),
        (FAILS, NOT_YET, [RECOVERED]),
        (FAILS, FAILS_STILL, []),
        (WORKS, FAILS_QUIETLY, []),
        (FAILS_QUIETLY, WORKS, []),
        (WORKS, NOT_YET, []),
    ],
)
def test_a_destination_that_fails_or_recovers_is_announced_once(
    before: Snapshot | None, after: Snapshot, types: list[str]
) -> None:
    assert [each[0] for each in announced(before, after)] == types


def test_failure_and_recovery_name_the_same_beginning() -> None:
    ((_, failing, began),) = announced(WORKS, FAILS)
    ((_, recovered, ended),) = announced(FAILS, WORKS)
    assert failing["failingSince"] == recovered["failingSince"] == iso(int((NOW - 9) * 1000))
    assert failing["consecutiveFailures"] == 10
    assert began == ended
