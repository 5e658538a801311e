"""Backlog rows: a destination with unsettled deliveries has one backlog row, and at the end of a history
no other destination has one.

There is one exception. After a crash, a disabled destination can keep its backlog row until the
destination is enabled.
"""

from collections.abc import Iterator

from tests.sim.oracle.sight import Sight


def judge(sight: Sight) -> Iterator[str]:
    unsettled = {
        row.destination
        for row in sight.rows.deliveries
        if row.status in ("PENDING", "RETRYING") and row.origin != "INSPECTION"
    }
    rows = set(sight.rows.backlog)
    if len(rows) < len(sight.rows.backlog):
        yield "a destination has two backlog rows"
    for destination in sorted(unsettled - rows):
        yield f"{destination} has unsettled deliveries and no backlog row"
    for destination in sorted(rows - unsettled):
        config = sight.final(destination)
        if config is not None and config.status == "DISABLED":
            continue
        yield f"{destination} has a backlog row and nothing unsettled"
