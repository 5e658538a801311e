"""Single successes: of their destination the group has no other. The changed rows count them.

Where each outcome of a group is another destination's, sums of one are made, sent and added for each.
What the update returns says the same, and PostgreSQL has it at hand.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto

from engine.core.counters import BOUNDS_MS
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryOrigin
from engine.ports import SettleGroup
from storage.counters.minutes import LATENCY, early_minute

# Where fewer than one in so many is a single one, their own clause and its mark cost more than they save.
_ONE_IN = 2
# Durations are whole milliseconds: one is beyond a bound from the next whole number on.
_BEYOND = ", ".join(str(int(bound) + 1) for bound in BOUNDS_MS)
# What the update returns of each row.
SINGLES_COLUMNS = f"""d.environment, d.destination,
        ((o.started_at_ms + o.duration_ms) / 60000)::integer AS minute,
        ({{number}} > 1)::integer AS retried,
        width_bucket(o.duration_ms, '{{{{{_BEYOND}}}}}'::integer[]) AS bucket"""
_SUMS = ("attempts", "retried", "delivered", *LATENCY)
_CLAUSE = """,
single AS (
    INSERT INTO destination_minutes AS n (environment, destination, minute, {names})
    SELECT c.environment, c.destination, c.minute, 1, c.retried, 1, {buckets} FROM changed c{which}
    ON CONFLICT (environment, destination, minute) DO UPDATE SET {sums}
)"""


def _clause(which: str) -> str:
    return _CLAUSE.format(
        names=", ".join(_SUMS),
        buckets=", ".join(f"(c.bucket = {bucket})::integer" for bucket in range(len(LATENCY))),
        which=which,
        sums=", ".join(f"{name} = n.{name} + excluded.{name}" for name in _SUMS),
    )


SINGLES_CLAUSE = _clause("")
SINGLES_CLAUSE_OF_SOME = _clause(" WHERE c.single")


class Singles(Enum):
    """How many of a group's successes are counted so."""

    NONE = auto()
    SOME = auto()
    ALL = auto()


def mark_singles(group: SettleGroup) -> tuple[Singles, list[bool]]:
    """Return which of a group of successes are the only one of their destination, and count.

    None is where some ended so long ago that their hour may be rolled up.
    """
    settlements = group.settlements
    to = [settlement.delivery.destination for settlement in settlements]
    # There are no more single successes than destinations.
    if len(set(to)) * _ONE_IN < len(to) or _some_late(settlements, early_minute(group)):
        return Singles.NONE, []
    of, inspection = Counter(to), DeliveryOrigin.INSPECTION
    marks = [of[each] == 1 for each in to]
    for place, settlement in enumerate(settlements):
        if settlement.delivery.origin is inspection:
            marks[place] = False
    number = sum(marks)
    if number == len(marks):
        return Singles.ALL, marks
    return (Singles.SOME, marks) if number * _ONE_IN >= len(marks) else (Singles.NONE, [])


def _some_late(settlements: Sequence[Settlement], minute: int) -> bool:
    began = [each.attempt.outcome.started_at for each in settlements if each.attempt is not None]
    return min(began) < minute * 60
