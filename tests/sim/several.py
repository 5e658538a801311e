"""The plan of a history with several nodes, drawn from its seed. It is a plan of `tests.sim.plan`,
spread over several workspaces, with faults between nodes.
"""

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from tests.sim.plan import NewDestination, Plan, Post, Strike, draw, stream
from tests.sim.tenants import environment_of

NODES = (2, 2, 3, 4, 5)
# Faults between nodes, and the percentage of histories with each.
FAULTS = {
    "links": 60,  # bytes arrive late, links break
    "cut": 35,  # nothing passes between two nodes
    "freeze": 40,  # a node freezes for longer than its fence: another takes its part meanwhile
    "regroup": 25,  # nodes with another number of parts take the database, slot by slot
}
MACHINES_SHARE = 40  # percentage of histories in which parts move between machines
MACHINES = (1, 2, 2, 3)  # at the beginning
MOVES = ("join", "join", "drain", "drain", "undrain", "lose")
MOVES_MOST = 6
RELEASES_SHARE = 30  # percentage of histories in which nodes of two releases work side by side
SPAN_S = 120.0  # longest span: each node costs time per simulated second
FROZEN_S = (3.0, 8.0, 20.0)
CUT_S = (0.3, 2.0, 5.0, 15.0)
STRIKES_MOST = {"cut": 4, "freeze": 3, "regroup": 2}
ELSEWHERE_SHARE = 0.08  # share of the posts that go to an environment that may have no destination
LARGE = 10_000  # events from this number on come in large batches, which stay together


def draw_several(seed: int, nodes: int | None = None) -> Plan:
    """Return the plan of a seed with 2 to 5 nodes, or with the given number."""
    chance = stream(seed, "nodes")
    plan = draw(seed)
    count = chance.choice(NODES)
    count = nodes or count
    workspaces = chance.randint(2, count + 2)
    faults = frozenset(kind for kind, share in FAULTS.items() if chance.random() * 100 < share)
    scale = min(1.0, SPAN_S / plan.span_s)
    moving = stream(seed, "machines")
    moves: tuple[Strike, ...] = ()
    machines = 0
    if moving.random() * 100 < MACHINES_SHARE:
        machines = moving.choice(MACHINES)
        moves = _moves(moving, plan.span_s * scale)
    places = [
        environment_of(workspace, chance.choice((1, 1, 2)))
        for workspace in range(1, workspaces + 1)
    ]
    destinations = _spread(chance, plan.destinations, places, scale)
    return replace(
        plan,
        faults=plan.faults | faults,
        span_s=plan.span_s * scale,
        destinations=destinations,
        posts=_posts(chance, plan.posts, places, scale),
        wishes=tuple(replace(each, at=each.at * scale) for each in plan.wishes),
        strikes=tuple(
            replace(each, number=each.number * scale) if each.on == "time" else each
            for each in plan.strikes
        )
        + _strikes(chance, plan.span_s * scale, faults)
        + moves,
        nodes=count,
        machines=machines,
        releases=stream(seed, "releases").random() * 100 < RELEASES_SHARE,
        workspaces=workspaces,
    )


def _spread(
    chance: Random, drawn: Sequence[NewDestination], places: Sequence[int], scale: float
) -> tuple[NewDestination, ...]:
    """At least one destination is in each environment of `places`."""
    some = [*drawn, *(chance.choice(drawn) for _ in places[len(drawn) :])]
    free = chance.sample(places, len(places))
    return tuple(
        replace(
            each,
            at=each.at * scale if number < len(drawn) else 0.0,
            environment=free[number] if number < len(free) else chance.choice(places),
        )
        for number, each in enumerate(some)
    )


def _posts(
    chance: Random, drawn: Sequence[Post], places: Sequence[int], scale: float
) -> tuple[Post, ...]:
    """A repeated post keeps its environment."""
    found: dict[object, int] = {}
    posts = []
    for post in drawn:
        mark = post.items[0].mark
        company = int(mark.removeprefix("m").partition("-")[0]) >= LARGE
        key = post.environment if company else mark
        if key not in found:
            found[key] = chance.choice(places)
            if chance.random() < ELSEWHERE_SHARE:
                found[key] = environment_of(chance.randint(1, len(places)), chance.choice((1, 2)))
        posts.append(replace(post, at=post.at * scale, environment=found[key]))
    return tuple(posts)


def _strikes(chance: Random, span_s: float, faults: frozenset[str]) -> tuple[Strike, ...]:
    strikes = []
    for kind, most in STRIKES_MOST.items():
        if kind not in faults:
            continue
        for _ in range(chance.randint(1, most)):
            on = chance.choice(("time", "time", "call", "send"))
            reach = {"time": span_s, "call": 500, "send": 120}[on]
            number = chance.uniform(1, reach) ** chance.choice((0.5, 0.8, 1.0))
            lasts_s = chance.choice(CUT_S if kind == "cut" else FROZEN_S) * chance.random()
            strikes.append(Strike(kind, on, number if on == "time" else int(number), lasts_s))
    return tuple(strikes)


def _moves(chance: Random, span_s: float) -> tuple[Strike, ...]:
    return tuple(
        Strike(chance.choice(MOVES), "time", chance.uniform(1, span_s), 0.0)
        for _ in range(chance.randint(2, MOVES_MOST))
    )
