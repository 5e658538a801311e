"""Attempts: a delivery's attempts are numbered without a gap. A delivery has no more attempts than its
schedule allows. No attempt is early, and none follows a success.

The schedule in force at an attempt's end decides the wait until the next attempt. If the schedule changes
during the wait, the wait must be at least as long as the shortest wait of these schedules. A still
shorter wait is right only if differing clocks can have caused it.
"""

from collections.abc import Iterator

from tests.sim.oracle.crashes import condemned
from tests.sim.oracle.lives import Requeues, asked_for, may_be_between
from tests.sim.oracle.sight import NETWORK_S, SOON_S, Sending, Sight
from tests.sim.trace import AttemptRow, Configured, DeliveryRow

GONE = 410
JITTER = 0.2  # share of a scheduled wait, either way


def judge(sight: Sight) -> Iterator[str]:
    requeues = Requeues(sight)
    for row in sight.rows.deliveries:
        if row.origin == "INSPECTION":
            continue
        yield from _recorded(sight, row)
        arrivals = sorted(sight.of_delivery.get(row.id, []), key=lambda each: each.index)
        yield from _sent(sight, row, arrivals)
        times = requeues.times(row.id, row.destination, row.environment)
        yield from _early(sight, row, arrivals, times)
    for delivery in sight.attempts.keys() - sight.deliveries.keys():
        yield f"there are attempts of {delivery}, which is not there"


def _recorded(sight: Sight, row: DeliveryRow) -> Iterator[str]:
    attempts = sight.attempts.get(row.id, [])
    numbers = [attempt.number for attempt in attempts]
    if numbers != list(range(1, row.attempts + 1)):
        yield f"delivery {row.id} counts {row.attempts} attempts, and has those numbered {numbers}"
    if any(attempt.success for attempt in attempts[:-1]):
        yield f"delivery {row.id} was attempted after its success"
    for attempt in attempts[:-1]:
        if attempt.status == GONE and attempt.number > row.schedule_start:
            yield f"delivery {row.id} was attempted after its 410"
    used = row.attempts - row.schedule_start
    longest = max((len(fact.schedule_s) for fact in _versions(sight, row.destination)), default=0)
    if used > 1 + longest:
        yield f"delivery {row.id} had {used} attempts of a schedule of {1 + longest}"
    for attempt in attempts:
        yield from _really(sight, attempt)


def _really(sight: Sight, attempt: AttemptRow) -> Iterator[str]:
    if attempt.status is None and not attempt.success:
        return  # it may have reached no receiver
    makers = sight.maker(attempt)
    name = f"attempt {attempt.number} of delivery {attempt.delivery}"
    if not makers:
        yield f"{name} is recorded, and no receiver saw it then"
    elif not any(each.replied and each.replied.status == attempt.status for each in makers):
        yield f"{name} is recorded with {attempt.status}, which its receiver did not say"


def _versions(sight: Sight, destination: str) -> list[Configured]:
    facts = [version.fact for version in sight.destinations.get(destination, [])]
    return [fact for fact in facts if isinstance(fact, Configured)]


def _sent(sight: Sight, row: DeliveryRow, arrivals: list[Sending]) -> Iterator[str]:
    won: dict[int, Sending] = {}
    for sending in arrivals:
        process = sending.arrived.process
        first = won.get(process)
        if first and sending.at > first.end and not condemned(sight, first, sending.at):
            yield (
                f"delivery {row.id} was sent as attempt {sending.arrived.number} "
                f"after process {process} had heard of its success"
            )
        if sending.good and sending.heard:
            won.setdefault(process, sending)
    recorded = {attempt.number: attempt for attempt in sight.attempts.get(row.id, [])}
    for attempt in recorded.values():
        if attempt.success:
            later = [each for each in arrivals if each.arrived.number > attempt.number]
            if later:
                yield f"delivery {row.id} was sent as attempt {later[0].arrived.number} after its success"
    most = max((each.arrived.number for each in arrivals), default=0)
    if most > row.attempts + 1:
        yield f"delivery {row.id} was sent as attempt {most}, and counts {row.attempts}"
    longest = max((len(fact.schedule_s) for fact in _versions(sight, row.destination)), default=0)
    if not row.schedule_start and most > 1 + longest:
        yield f"delivery {row.id} was sent {most} times by a schedule of {1 + longest}"


def _early(
    sight: Sight, row: DeliveryRow, arrivals: list[Sending], times: list[tuple[float, float]]
) -> Iterator[str]:
    makers = {attempt.number: sight.maker(attempt) for attempt in sight.attempts.get(row.id, [])}
    asked = asked_for(sight, row.id)
    start: int | None = 0  # attempts before the last requeue; None: not known
    for after in sorted(arrivals, key=lambda each: each.arrived.number):
        earlier = after.arrived.number - 1
        mine = [each for each in makers.get(earlier, ()) if each.end <= after.at]
        if not mine:
            continue
        before = min(mine, key=lambda each: each.end)
        if may_be_between(times, before.at, after.at):
            start = None
        elif may_be_between(asked, before.at, after.at):
            continue
        elif earlier > row.schedule_start:
            start = row.schedule_start
        if start is not None and earlier > start and before.heard:
            yield from _wait(sight, row, before, after, earlier - start)


def _another_clock(sight: Sight, before: Sending, after: Sending) -> bool:
    """Return True if differing clocks can have shortened the wait between two attempts.

    The row of a delivery has the due time of the next attempt. If the clock of a process that reads the
    row is behind, the due time seems too far in the future. The process then shortens the wait.
    """
    ends = {before.arrived.process, after.arrived.process}
    mine = sight.processes[after.arrived.process].clock_s
    ahead_s = sight.clock(after.arrived.process, after.at) - after.at
    was_behind = any(
        since < after.at and sight.clock(number, since) - since < ahead_s - SOON_S
        for number in ends
        for since in (
            sight.processes[number].booted_at,
            *(at for at, _ in sight.followed.get(number, ())),
        )
        if since > before.end
    )
    return was_behind or any(
        any(own_s != mine for own_s in sight.ahead_s(each.number))
        and each.booted_at < after.at
        and each.ended_at > before.end
        for each in sight.processes.values()
        if each.number not in ends
    )


def _wait(
    sight: Sight, row: DeliveryRow, before: Sending, after: Sending, failures: int
) -> Iterator[str]:
    process = before.arrived.process
    end = before.end
    judged_by = sight.in_force(row.destination, process, end, end + NETWORK_S)
    since = sight.in_force(row.destination, after.arrived.process, end, after.at)
    waits = [
        fact.schedule_s[failures - 1] for fact in judged_by if failures <= len(fact.schedule_s)
    ]
    if not waits:
        return  # an attempt without an entry in the schedule breaks another promise
    if len({fact.schedule_s for fact in (*judged_by, *since)}) > 1:
        waits += [min(fact.schedule_s, default=0) for fact in since]
    least = min(waits) * (1 - JITTER) - SOON_S
    passed = after.at - end
    # If the clock is set forward, a retry can become due. It stays due if the clock is then set back.
    by_clocks = sight.latest_clock(after.arrived.process, end, after.at) - sight.clock(process, end)
    if max(passed, by_clocks) < least and not _another_clock(sight, before, after):
        yield (
            f"attempt {after.arrived.number} of delivery {row.id} came {passed:.3f} s after the one "
            f"before, {least - max(passed, by_clocks):.3f} s early"
        )
