"""Stops: a process that is told to end begins no attempts, and records all outcomes that it heard.

If its grace time ran out, some outcomes may not be recorded.
"""

from collections.abc import Iterator

from tests.sim.oracle.crashes import condemned
from tests.sim.oracle.sight import NETWORK_S, Process, Sight

# If a process ends within this time after it was told to end, its grace time was not over. So it must
# have recorded all outcomes that it heard.
QUICK_S = 20.0
QUICK_HAND_OVER_S = 4.0  # a hand-over has a shorter grace time: the part's next process waits


def judge(sight: Sight) -> Iterator[str]:
    handed_over = {fault.detail for fault in sight.faults if fault.kind == "hand over"}
    for fault in sight.faults:
        if fault.kind == "stop":
            process = sight.processes[int(fault.detail)]
            yield from _began(sight, process, fault.at)
            quick_s = QUICK_HAND_OVER_S if fault.detail in handed_over else QUICK_S
            quick = process.ended_at - fault.at < quick_s
            if process.why == "stopped" and quick and process.over_at > process.ended_at:
                yield from _forgot(sight, process)


def _began(sight: Sight, process: Process, stopped_at: float) -> Iterator[str]:
    for sending in sight.sendings:
        if sending.arrived.process == process.number and sending.at > stopped_at + NETWORK_S:
            yield (
                f"delivery {sending.arrived.delivery} was sent by process {process.number} "
                f"{sending.at - stopped_at:.3f} s after that was told to end"
            )


def _forgot(sight: Sight, process: Process) -> Iterator[str]:
    for sending in sight.sendings:
        arrived = sending.arrived
        if arrived.process != process.number or not sending.heard:
            continue
        numbers = [row.number for row in sight.attempts.get(arrived.delivery, [])]
        row = sight.deliveries.get(arrived.delivery)
        dead = row is not None and row.error == "INTERNAL"
        if dead and condemned(sight, sending, process.ended_at):
            continue
        if arrived.number not in numbers:
            yield (
                f"attempt {arrived.number} of delivery {arrived.delivery} ended before process "
                f"{process.number} did, and is not recorded"
            )
