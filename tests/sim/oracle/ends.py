"""The ends of deliveries. When the history is quiet, each delivery has ended, and for a right reason."""

from collections.abc import Iterator
from math import inf

from tests.sim.oracle.crashes import judged_until
from tests.sim.oracle.sight import NETWORK_S, SOON_S, Sight
from tests.sim.trace import Configured, DeliveryRow

OWN = "angarium."


def judge(sight: Sight) -> Iterator[str]:
    for row in sight.rows.deliveries:
        final = sight.final(row.destination)
        if final is None or row.origin == "INSPECTION":
            continue
        if row.status in ("PENDING", "RETRYING"):
            if final.status != "DISABLED" and not _made_at_the_end(sight, row):
                yield f"{_name(row)} is {row.status} still, at a destination that is {final.status}"
        elif row.status == "DELIVERED":
            yield from _delivered(sight, row)
        elif row.status == "FAILED":
            yield from _failed(sight, row)
        else:
            yield f"{_name(row)} is {row.status}"


def _made_at_the_end(sight: Sight, row: DeliveryRow) -> bool:
    """Return True if the delivery's event is a system event that a process created while the process was
    ending. Such a delivery stays in the backlog if no other process begins."""
    event = sight.events.get(row.event)
    if event is None or not event.type.startswith(OWN) or row.attempts:
        return False
    made_at = int(row.event.replace("-", "")[:12], 16) / 1000  # the time in its UUIDv7
    for fault in sight.faults:
        if fault.kind == "stop":
            process = sight.processes[int(fault.detail)]
            drifts = [0.0] + [
                each.lasts_s
                for each in sight.faults
                if each.kind == "drift" and each.detail == fault.detail
            ]
            if made_at >= fault.at + process.clock_s + drifts[-1] - SOON_S:
                return row.destination in sight.rows.backlog
    return False


def _name(row: DeliveryRow) -> str:
    return f"delivery {row.id} of {row.destination}"


def _delivered(sight: Sight, row: DeliveryRow) -> Iterator[str]:
    arrivals = sight.of_delivery.get(row.id, [])
    last = [each for each in arrivals if each.arrived.number == row.attempts]
    if not any(each.good for each in last):
        yield f"{_name(row)} is DELIVERED by attempt {row.attempts}, which no receiver confirmed"
    attempts = sight.attempts.get(row.id, [])
    if not attempts or not attempts[-1].success:
        yield f"{_name(row)} is DELIVERED, and its last attempt is no success"


def _judges(sight: Sight, row: DeliveryRow, versions: list[Configured]) -> list[Configured]:
    """A delivery died because its destination's schedule had no more retries. Return the versions of the
    destination whose schedule may have decided this. Leave out versions that were replaced before the
    delivery's last attempt ended. If the delivery died at the end of that attempt, also leave out
    versions that came after the attempt was surely judged. Return all versions if the process did not get
    the receiver's answer to the last attempt, because the end of this attempt is then unknown."""
    last = max(sight.of_delivery.get(row.id, []), key=lambda each: each.index, default=None)
    if last is None or row.dead_lettered_at is None or not last.heard:
        return versions
    process = last.arrived.process
    since = last.end - NETWORK_S
    if abs(sight.clock(process, last.end) - row.dead_lettered_at) <= SOON_S:
        until = judged_until(sight, last) + NETWORK_S
        return sight.in_force(row.destination, process, since, until)
    return sight.in_force(row.destination, process, since, inf)


def _failed(sight: Sight, row: DeliveryRow) -> Iterator[str]:
    versions = [
        v.fact for v in sight.destinations[row.destination] if isinstance(v.fact, Configured)
    ]
    if any(attempt.success for attempt in sight.attempts.get(row.id, [])):
        yield f"{_name(row)} is FAILED, and an attempt was a success"
    if row.dlq_status == "DISCARDED":
        archived = any(version.status == "ARCHIVED" for version in versions)
        asked = any(
            wish.asked.kind in ("discard", "withdraw")
            and (not wish.asked.of or wish.asked.of == row.destination)
            for wish in sight.wishes
            if not wish.asked.deliveries or row.id in wish.asked.deliveries
        ) or any(
            wish.asked.kind == "cancel all" and wish.asked.of == row.destination
            for wish in sight.wishes
        )
        withdrawn = any(
            wish.asked.kind == "cancel" and wish.asked.of == row.replay_job for wish in sight.wishes
        )
        if not (archived or asked or withdrawn):
            yield f"{_name(row)} is DISCARDED, and nobody asked for it"
        return
    if row.dlq_status != "IN_DLQ":
        yield f"{_name(row)} is FAILED and {row.dlq_status}"
        return
    if any(version.status == "ARCHIVED" for version in versions[-1:]):
        yield f"{_name(row)} is IN_DLQ still, at a destination that was archived"
    if row.error in ("DESTINATION_GONE", "INTERNAL"):
        return  # a 410, or the delivery crashed its actor again and again
    used = row.attempts - row.schedule_start
    least = min(len(version.schedule_s) for version in _judges(sight, row, versions))
    if used < 1 + least:
        yield f"{_name(row)} is dead after {used} of its schedule's attempts"
