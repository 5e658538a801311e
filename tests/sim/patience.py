"""Histories whose destinations are disabled once they have failed for long."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from tests.sim.plan import NewDestination, Plan, Strike

SHARE = 0.12  # share of the histories
PATIENCES_S = (5, 20, 60, 300)
TROUBLED = 0.7  # share of these histories' destinations whose receivers fail for long
RECEIVERS = ("dead", "flapping")
SCHEDULE_S = (1,) * 9 + (15,) * 11  # of those destinations: one delivery is a series of failures
# In this share of these histories, there is only one destination, which always fails. Its actor can leave
# memory between two failures, and the process's clock jumps several times.
ASLEEP = 0.4
DOWN = "down"  # a kind of receiver that only these histories have
ASLEEP_S = 600.0
ASLEEP_SCHEDULE_S = (1,) * 9 + (90,) * 8  # an actor leaves memory during a long wait
ASLEEP_PATIENCES_S = (100, 200, 400)
POSTS = 1
DRIFTS = 4
LEAVES_AFTER_S = 2.0
# Faults that these histories do not have.
EXCLUDED = frozenset({"kill", "takeover", "stop", "crash", "clock", "stall", "away"})


def with_patience(
    chance: Random, plan: "Plan", make_strike: Callable[[str, str, float, float], "Strike"]
) -> "Plan":
    """Plans with slow processes (`busy`) are returned unchanged."""
    if plan.busy or chance.random() >= SHARE:
        return plan
    if chance.random() >= ASLEEP:
        destinations = tuple(_patient(chance, each) for each in plan.destinations)
        return replace(plan, destinations=destinations)
    failing = replace(
        plan.destinations[0],
        receiver=DOWN,
        schedule_s=chance.choice((ASLEEP_SCHEDULE_S, SCHEDULE_S)),
        disable_after_s=chance.choice(ASLEEP_PATIENCES_S),
        rate_per_second=None,
        endpoint=None,
        customer=None,
        patterns=(("*",),),
        only=None,
    )
    posts = [replace(each, environment=failing.environment) for each in plan.posts[:POSTS]]
    strikes = [
        make_strike("drift", "time", chance.uniform(20, ASLEEP_S), 0.0) for _ in range(DRIFTS)
    ]
    return replace(
        plan,
        faults=(plan.faults - EXCLUDED) | {"drift", "passive"},
        span_s=ASLEEP_S,
        destinations=(failing,),
        posts=tuple(posts),
        wishes=(),
        strikes=tuple(strikes),
        bounds=replace(plan.bounds, passivate_after=LEAVES_AFTER_S),
    )


def _patient(chance: Random, new: "NewDestination") -> "NewDestination":
    if chance.random() < TROUBLED:
        new = replace(new, receiver=chance.choice(RECEIVERS), schedule_s=SCHEDULE_S)
    return replace(new, disable_after_s=chance.choice(PATIENCES_S))
