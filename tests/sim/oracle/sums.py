"""For each destination and minute, the stored counters equal the numbers of attempts and deliveries.

A delivery can die, be requeued and die again. The counters contain only its first death, but the
delivery's row has only the time of its last death, which can be in another minute. So deaths are not
compared minute by minute. Only their total is compared.
"""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.oracle.sight import Sight

EVER = -1  # means all minutes
COUNTS = ("attempts", "failed", "retried", "delivered", "dead-lettered")
_HAIR_MS = 1e-3  # how far a float can be below a whole millisecond


def judge(sight: Sight) -> Iterator[str]:
    real: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for row in sight.rows.deliveries:
        if row.origin == "INSPECTION":
            continue
        for attempt in sight.attempts.get(row.id, []):
            ended_ms = int(attempt.started_at * 1000 + _HAIR_MS) + attempt.duration_ms
            counts = real[row.destination, ended_ms // 60_000]
            counts[0] += 1
            counts[1] += not attempt.success
            counts[2] += attempt.number > 1
        if row.status == "DELIVERED" and row.delivered_at is not None:
            real[row.destination, _minute(row.delivered_at)][3] += 1
        if row.dead_lettered_at is not None:
            real[row.destination, EVER][4] += 1
    told: dict[tuple[str, int], list[int]] = {}
    for minute in sight.rows.minutes:
        key = (minute.destination, minute.minute)
        if key in told:
            yield f"minute {minute.minute} of {minute.destination} is there twice"
        told[key] = [
            minute.attempts, minute.failed, minute.retried, minute.delivered, 0,
        ]  # fmt: skip
        ever = told.setdefault((minute.destination, EVER), [0] * len(COUNTS))
        ever[4] += minute.dead_lettered
    nothing = [0] * len(COUNTS)
    for key in sorted(real.keys() | told.keys()):
        mine, theirs = real.get(key, nothing), told.get(key, nothing)
        for name, is_so, said in zip(COUNTS, mine, theirs, strict=True):
            if is_so != said:
                yield f"{name} of {key[0]} in minute {key[1]} are {is_so}, and {said} are counted"


def _minute(at: float) -> int:
    return int(at * 1000 + _HAIR_MS) // 60_000
