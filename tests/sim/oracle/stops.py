"""A process that ends when it is told to leaves nothing behind: what it had heard is recorded.

One that met a fault in its grace time may not have had the time.
"""

from collections.abc import Iterator

from tests.sim.oracle.sight import Sight

GRACE_S = 30.0


def judge(sight: Sight) -> Iterator[str]:
    """Yield what a stopped process forgot."""
    for process in sight.processes.values():
        at = process.ended_at
        if process.why != "stopped" or process.over_at < at:
            continue
        if any(
            at - GRACE_S <= fault.at + fault.lasts_s and fault.at <= at for fault in sight.faults
        ):
            continue
        for sending in sight.sendings:
            arrived = sending.arrived
            if arrived.process != process.number or not sending.heard:
                continue
            numbers = [row.number for row in sight.attempts.get(arrived.delivery, [])]
            if arrived.number not in numbers:
                yield (
                    f"attempt {arrived.number} of delivery {arrived.delivery} ended before process "
                    f"{process.number} stopped, and is not recorded"
                )
