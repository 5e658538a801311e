"""Histories whose destinations are disabled once they have failed for long."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from tests.sim.plan import NewDestination, Plan, Strike

SHARE = 0.12  # of the histories
PATIENCES_S = (5, 20, 60, 300)
DEAD = 0.6  # of such destinations are at receivers that fail for long
SCHEDULE_S = (
    1,
    1,
    1,
    1,
    1,
    1,
    1,
    1,
    1,
    5,
    15,
    15,
    15,
    15,
)  # of those: one delivery is a row of failures
# Have one process alone, whose clock is set while destinations sleep between two failures.
CLOCKED = 0.4
CLOCKED_S = 240.0
DRIFTS = 4
ALONE = frozenset(
    {"kill", "takeover", "stop", "crash", "clock", "stall", "away"}
)  # faults it has not


def with_patience(
    chance: Random, plan: "Plan", make_strike: Callable[[str, str, float, float], "Strike"]
) -> "Plan":
    """Return a plan, in some histories with a bound on how long destinations can fail."""
    if chance.random() >= SHARE:
        return plan
    destinations = tuple(_patient(chance, each) for each in plan.destinations)
    plan = replace(plan, destinations=destinations)
    if chance.random() >= CLOCKED:
        return plan
    span_s = max(plan.span_s, CLOCKED_S)
    strikes = [
        make_strike("drift", "time", chance.uniform(span_s / 8, span_s), 0.0) for _ in range(DRIFTS)
    ]
    return replace(
        plan,
        faults=(plan.faults - ALONE) | {"drift", "passive"},
        span_s=span_s,
        strikes=tuple(strikes),
        bounds=replace(plan.bounds, passivate_after=2.0),
    )


def _patient(chance: Random, new: "NewDestination") -> "NewDestination":
    if chance.random() < DEAD:
        new = replace(new, receiver="dead", schedule_s=SCHEDULE_S)
    return replace(new, disable_after_s=chance.choice(PATIENCES_S))
