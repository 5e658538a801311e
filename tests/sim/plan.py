"""The plan of a history, drawn from its seed. A plan is only data, so the shrinker can leave out parts.

A plan does not contain the delays of statements and answers, because nobody knows beforehand how many
statements the engine will send. The run draws the delays from separate random sources.
"""

from random import Random

from msgspec import Struct
from msgspec.structs import replace

from tests.sim.breaking import CARRYING, POINTS
from tests.sim.endpoints import with_revocations, with_tokens
from tests.sim.patience import with_patience
from tests.sim.trace import Item

# The faults, each with the percentage of histories that have it. Each fault is drawn for itself, so a
# history can have several faults.
FAULTS = {
    "late": 50,  # statements that take long
    "unsent": 35,  # statements that never left
    "unheard": 40,  # statements that were done, but the connection was lost before the answer
    "delayed": 35,  # statements that run after they were reported as failed
    "contention": 25,  # statements that lost a race and wrote nothing
    "poison": 12,  # events that the database refuses
    "away": 30,  # the database cannot be reached for a while
    "kill": 55,
    "takeover": 22,  # a second process while the first one runs
    "stop": 15,  # a process that is told to end, and restarted
    "stall": 25,  # a process that stalls
    "crash": 25,  # an actor's turn that raises
    "clock": 20,  # another wall clock at each start
    "drift": 12,  # a wall clock that jumps while the process runs
    "small": 45,  # bounds so small that all of them are reached
    "passive": 50,  # actors that are passivated soon
}
# Actions of callers besides posting single events.
WISHES = {
    "batch": 50,
    "keys": 50,
    "patch": 45,
    "switch": 35,  # disable and enable
    "archive": 15,
    "rotate": 25,
    "rules": 35,
    "filters": 25,
    "requeue": 45,
    "discard": 20,
    "replay": 35,
    "own": 15,  # destinations of the service's own events
    "rate": 20,
}
# The behaviours of receivers. At the beginning and at the end of a history, all receivers behave `well`.
RECEIVERS = {
    "well": 30, "slow": 12, "fails": 16, "busy": 10, "gone": 4, "silent": 8, "resets": 8,
    "flapping": 16, "dead": 10, "picky": 8,
}  # fmt: skip
TYPES = ("order.created", "order.paid", "user.joined", "invoice.large.sent")
PATTERNS = (
    ("*",),
    ("*",),
    ("order.*",),
    ("order.*", "invoice.*"),
    ("order.created",),
    ("user.joined", "order.paid"),
    ("*.*.sent", "user.*"),
)  # fmt: skip
PRIORITIES = ("STANDARD", "STANDARD", "HIGH", "CRITICAL")
CUSTOMERS = ("c1", "c2", "c3")
SCHEDULES_S: tuple[tuple[int, ...], ...] = (
    (), (1,), (1, 2, 5), (2, 2, 2, 2, 2), (5, 20, 45), (1, 30), (3, 3),
)  # fmt: skip
LONG_SCHEDULES_S: tuple[tuple[int, ...], ...] = ((5, 300, 900), (60, 600), (1, 1200))
ENVIRONMENTS = (1, 2)
LONG_SHARE = 0.06  # share of histories that last an hour, not minutes: idle time also costs
AUTO_SHARE = 0.3  # share of a dense history's destinations: they get enough events to move a limit
AUTO_MOST = 12  # highest value of those limits: little above the first one
DENSE_SHARE = 0.15  # many events for few destinations, within small bounds: spills are read back
# The share of busy histories. In a busy history, processes are slow: actors wait for their turns, and
# answers of the database wait to be read. Operators act quickly. Many kills come just before the recorder
# writes a group of outcomes.
BUSY_SHARE = 0.15
# The share of histories in which calls between two modules raise.
BREAK_SHARE = 0.15
BREAKS_MOST = 3
BREAKS_REACH = 60  # calls of one method
# Among the histories in which calls raise, the share of those in which an operator's database session
# also locks rows of deliveries.
LOCK_SHARE = 0.5
LOCKS_MOST = 3
LOCK_MOST_S = 6.0  # not longer than a statement without an answer can take
AIMED_SHARE = 0.6  # share of a busy history's kills that are aimed
AIMED_MOST = 40  # an aimed kill falls at one of this many groups of outcomes
LEAVES_AFTER_S = 0.3  # in busy histories, actors can leave memory before their answers are read
# The share of histories in which callers act on single waiting deliveries: they cancel a delivery
# (`withdraw`), or have it sent at once (`hasten`).
ORDERS_SHARE = 0.3
ORDERS = ("hasten", "withdraw")  # wishes that have a count of their own
ORDERS_MOST = 8
# Only in histories up to this length, actors leave memory after LEAVES_AFTER_S. This time is so short
# that the engine looks for idle actors very often, which would make a longer history slow.
HASTY_S = 60.0


# The share of histories that also have large batches. The share is low because one large batch takes as
# much CPU time as a whole history.
LARGE_SHARE = 0.06
LARGE_EVENTS = (8, 15, 30)


class NewDestination(Struct, frozen=True):
    """A destination that a caller makes, with its rules."""

    at: float
    environment: int
    ordering: str
    concurrency: int
    schedule_s: tuple[int, ...]
    timeout_ms: int
    customer: str | None
    rate_per_second: float | None
    receiver: str
    patterns: tuple[tuple[str, ...], ...]  # of each rule
    only: str | None  # the customer that the first rule's filter lets pass
    own: bool = False  # gets the service's own events too
    priority: str = "STANDARD"  # of its first rule
    adapts: bool = False  # its concurrency is "auto"
    endpoint: str | None = None  # the kind of its token endpoint
    revokes: bool = False  # its receiver refuses tokens before they expire
    disable_after_s: int | None = None


class Post(Struct, frozen=True):
    """A request that posts events. `times`: how often the caller repeats the request if its result is
    unknown."""

    at: float
    environment: int
    items: tuple[Item, ...]
    batch: bool
    times: int


class Wish(Struct, frozen=True):
    """A request that posts no events. It concerns one destination, rule or job. This is the object with
    the index `which` % n, where n is the number of such objects."""

    at: float
    kind: str
    which: int
    draw: int  # the seed of its details


class Strike(Struct, frozen=True):
    """A fault that strikes once. If `on` is "time", the fault strikes at the instant `number`. If `on` is
    "call", "send", "turn" or another thing that is counted, the fault strikes when the count reaches
    `number`."""

    kind: str
    on: str
    number: float
    lasts_s: float


class Bounds(Struct, frozen=True):
    group_events: int = 1_000
    intake_events: int = 20_000
    actor_deliveries: int = 4_096
    engine_deliveries: int = 50_000
    max_in_flight: int = 10_000
    settle_group: int = 1_000
    passivate_after: float = 30.0
    actor_bytes: int = 1 << 23


class Plan(Struct, frozen=True):
    seed: int
    faults: frozenset[str]
    span_s: float
    destinations: tuple[NewDestination, ...]
    posts: tuple[Post, ...]
    wishes: tuple[Wish, ...]
    strikes: tuple[Strike, ...]
    bounds: Bounds
    trouble: float  # the share of the statements that meet a fault
    dense: bool
    busy: bool
    nodes: int = 1  # the nodes that share the database by parts
    workspaces: int = 1
    machines: int = 0  # between which parts move; 0: none moves
    releases: bool = False  # nodes of two releases work side by side


def stream(seed: int, name: str) -> Random:
    """Return the random source with this name. Draws from one source do not change the draws from
    another."""
    return Random(f"{seed} {name}")


def draw(seed: int) -> Plan:
    chance = stream(seed, "plan")
    faults = _some(chance, FAULTS)
    wanted = _some(chance, WISHES)
    dense = stream(seed, "much at once").random() < DENSE_SHARE
    busy = stream(seed, "behind").random() < BUSY_SHARE
    long = chance.random() < LONG_SHARE and not dense
    span_s = chance.uniform(1_200, 3_600) if long else chance.choice((30, 60, 60, 120, 240))
    few = (1, 1, 2) if dense else (1, 2, 3, 4, 5)
    if dense:
        faults |= {"small"}
        span_s = min(span_s, 60)
    destinations = tuple(
        _destination(chance, number, span_s, wanted, long=long)
        for number in range(chance.choice(few))
    )
    if dense:
        adapting = stream(seed, "auto")
        destinations = tuple(
            replace(
                each,
                priority=chance.choice(PRIORITIES),
                adapts=adapting.random() < AUTO_SHARE,
            )
            for each in destinations
        )
    destinations = with_tokens(stream(seed, "tokens"), destinations)
    destinations = with_revocations(stream(seed, "revocations"), destinations)
    plan = Plan(
        seed=seed,
        faults=faults,
        span_s=span_s,
        destinations=destinations,
        posts=_posts(chance, span_s, wanted, faults, dense=dense)
        + _large_posts(stream(seed, "large"), span_s, wanted, faults),
        wishes=_wishes(chance, span_s, wanted, stream(seed, "orders")),
        strikes=_strikes(chance, span_s, faults, stream(seed, "aim") if busy else None)
        + _breaks(stream(seed, "breaks")),
        bounds=_bounds(chance, faults, dense=dense, hasty=busy and span_s <= HASTY_S),
        trouble=chance.choice((0.01, 0.03, 0.1)),
        dense=dense,
        busy=busy,
    )
    return with_patience(stream(seed, "patience"), plan, Strike)


def _some(chance: Random, shares: dict[str, int]) -> frozenset[str]:
    scale = chance.choice((0.0, 0.6, 1.0, 1.0, 1.3))
    return frozenset(
        name for name, share in shares.items() if chance.random() * 100 < share * scale
    )


def _destination(
    chance: Random, number: int, span_s: float, wanted: frozenset[str], *, long: bool
) -> NewDestination:
    names, shares = list(RECEIVERS), list(RECEIVERS.values())
    schedules = SCHEDULES_S + (LONG_SCHEDULES_S if long else ())
    rated = "rate" in wanted and chance.random() < 0.5
    return NewDestination(
        at=0.0 if chance.random() < 0.7 or not number else chance.uniform(0, span_s * 0.6),
        environment=1 if number < 2 else chance.choice((1, 1, 2)),
        ordering=chance.choice(("NONE", "KEY", "STRICT")),
        concurrency=chance.choice((1, 2, 3, 8)),
        schedule_s=chance.choice(schedules),
        timeout_ms=chance.choice((500, 2_000, 15_000)),
        customer=chance.choice(CUSTOMERS) if chance.random() < 0.15 else None,
        rate_per_second=chance.choice((0.5, 2.0, 10.0)) if rated else None,
        receiver=chance.choices(names, shares)[0],
        patterns=tuple(chance.sample(PATTERNS, chance.choice((1, 1, 1, 2)))),
        only=chance.choice(CUSTOMERS) if "filters" in wanted and chance.random() < 0.4 else None,
        own="own" in wanted,
    )


def _posts(
    chance: Random,
    span_s: float,
    wanted: frozenset[str],
    faults: frozenset[str],
    *,
    dense: bool,
) -> tuple[Post, ...]:
    posts: list[Post] = []
    events, most = 0, chance.choice((60, 90) if dense else (15, 30, 40, 60))
    bursts = (12, 25, 40) if dense else (1, 1, 2, 5, 12)
    keys = "keys" in wanted
    used: list[Post] = []
    while events < most:
        at = chance.uniform(0.5, span_s * 0.95)
        for _ in range(chance.choice(bursts)):
            at += chance.choice((0.0, 0.0, 0.001, 0.05))
            if used and keys and chance.random() < 0.15:  # a caller that posts an event again
                again = chance.choice(used)
                posts.append(
                    Post(max(at, again.at), again.environment, again.items, again.batch, 0)
                )
                events += len(again.items)
                continue
            batch = "batch" in wanted and chance.random() < 0.3
            items = tuple(
                _item(chance, events + place, keys, faults)
                for place in range(chance.choice((2, 3, 6)) if batch else 1)
            )
            post = Post(
                at, chance.choice((1, 1, 1, 1, 1, 2)), items, batch, chance.choice((0, 1, 3))
            )
            events += len(items)
            posts.append(post)
            if all(item.key for item in items):
                used.append(post)
    return tuple(sorted(posts, key=lambda post: post.at))


def _large_posts(
    chance: Random, span_s: float, wanted: frozenset[str], faults: frozenset[str]
) -> tuple[Post, ...]:
    """Return one or two large batches in a share of the histories (LARGE_SHARE), else nothing. Smaller
    posts come shortly before and after each batch. Posts of two environments come together, so the large
    intake gets the batch (see `Intakes.submit`). Most smaller posts are of the batch's environment: the
    small intake has work for this environment at the same time."""
    if chance.random() >= LARGE_SHARE:
        return ()
    posts: list[Post] = []
    number = 10_000  # no other event has this number
    for _ in range(chance.choice((1, 2))):
        at = chance.uniform(1, span_s * 0.9)
        sizes = [(2, 1), (1, 1), (1, chance.choice(LARGE_EVENTS)), (1, 1), (1, 3), (2, 1), (1, 1)]
        for environment, size in sizes:
            at += chance.choice((0.0, 0.0, 0.001, 0.004))
            items = tuple(
                _item(chance, number + place, "keys" in wanted, faults) for place in range(size)
            )
            number += size
            posts.append(Post(at, environment, items, size > 1, chance.choice((0, 1, 3))))
    return tuple(posts)


def _item(chance: Random, number: int, keys: bool, faults: frozenset[str]) -> Item:
    poisoned = "poison" in faults and chance.random() < 0.06
    return Item(
        mark=f"m{number}-poison" if poisoned else f"m{number}",
        type=chance.choice(TYPES),
        customer=chance.choice(CUSTOMERS) if chance.random() < 0.7 else None,
        correlation_id=chance.choice(("k1", "k2")) if chance.random() < 0.2 else None,
        source="s1" if chance.random() < 0.1 else None,
        key=f"key-{number}" if keys and chance.random() < 0.6 else None,
    )


def _wishes(
    chance: Random, span_s: float, wanted: frozenset[str], orders: Random
) -> tuple[Wish, ...]:
    numbers = {"patch": 4, "switch": 4, "archive": 1, "rotate": 3, "rules": 3, "requeue": 4,
               "discard": 2, "replay": 2}  # fmt: skip
    wishes = [
        Wish(chance.uniform(2, span_s), kind, chance.randrange(100), chance.randrange(1 << 30))
        for kind, most in numbers.items()
        if kind in wanted
        for _ in range(chance.randint(1, most))
    ]
    if orders.random() < ORDERS_SHARE:
        wishes += [
            Wish(orders.uniform(1, span_s), kind, orders.randrange(100), orders.randrange(1 << 30))
            for kind in orders.choices(ORDERS, k=ORDERS_MOST)
        ]
    return tuple(sorted(wishes, key=lambda wish: wish.at))


def _strikes(
    chance: Random, span_s: float, faults: frozenset[str], aim: Random | None
) -> tuple[Strike, ...]:
    """If `aim` is not None, some kills come just before the recorder writes a group of outcomes. `aim` is
    the random source that chooses these kills."""
    numbers = {"kill": 4, "takeover": 2, "stop": 2, "stall": 3, "crash": 4, "away": 2, "drift": 3}
    strikes = []
    for kind, most in numbers.items():
        if kind not in faults:
            continue
        for _ in range(chance.randint(1, most)):
            on = chance.choice(("time", "time", "call", "send", "step"))
            if kind == "crash":
                on = "turn"
            reach = {"time": span_s, "call": 500, "send": 120, "step": 6_000, "turn": 500}[on]
            number = chance.uniform(1, reach) ** chance.choice((0.5, 0.8, 1.0))
            lasts_s = chance.choice((0.0, 0.0, 0.2, 2.0, 8.0, 30.0)) * chance.random()
            if kind == "away":
                lasts_s = chance.choice((0.5, 4, 12, 60)) * chance.uniform(0.5, 1.5)
            if kind == "kill" and aim is not None and aim.random() < AIMED_SHARE:
                on, number = "settle", aim.randint(1, AIMED_MOST)
            strikes.append(Strike(kind, on, number if on == "time" else int(number), lasts_s))
    return tuple(strikes)


def _breaks(chance: Random) -> tuple[Strike, ...]:
    if chance.random() >= BREAK_SHARE:
        return ()
    strikes = [
        Strike(
            "break",
            chance.choice(chance.choice((CARRYING, POINTS))),
            int(chance.uniform(1, BREAKS_REACH) ** chance.choice((0.2, 0.5, 1.0))),
            0.0,
        )
        for _ in range(chance.randint(1, BREAKS_MOST))
    ]
    if chance.random() < LOCK_SHARE:
        strikes += [
            Strike(
                "lock", "settle", chance.randint(1, AIMED_MOST), chance.uniform(0.5, LOCK_MOST_S)
            )
            for _ in range(chance.randint(1, LOCKS_MOST))
        ]
    return tuple(strikes)


def _bounds(chance: Random, faults: frozenset[str], *, dense: bool, hasty: bool) -> Bounds:
    passivate_after = chance.choice((2.0, 5.0, 12.0)) if "passive" in faults else 30.0
    if hasty and "passive" in faults:
        passivate_after = LEAVES_AFTER_S
    if "small" not in faults:
        return Bounds(passivate_after=passivate_after)
    return Bounds(
        group_events=chance.choice((2, 5, 1_000)),
        intake_events=chance.choice((5, 20, 20_000)),
        actor_deliveries=chance.choice((2, 4, 10, 4_096)),
        engine_deliveries=chance.choice((4, 10, 50_000)),
        max_in_flight=chance.choice((2, 5, 10_000)),
        settle_group=chance.choice((1, 3, 1_000)),
        passivate_after=passivate_after,
        actor_bytes=chance.choice((40, 150, 1 << 23)) if dense else 1 << 23,  # an event has 15
    )
