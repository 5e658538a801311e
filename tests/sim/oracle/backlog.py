"""Backlog rows at the end of a history. A destination with unsettled deliveries has one backlog row. A
destination without unsettled deliveries has no backlog row. Deliveries of inspections do not count.

A disabled destination is an exception. If its deliveries are settled, it can still have its backlog row:
after a crash, this row stays until the destination is enabled.
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
