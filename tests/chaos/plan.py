"""A round's plan, drawn from its seed: the disturbances, their times and durations."""

import random
from dataclasses import dataclass

from tests.chaos.book import books, machines, patroni
from tests.chaos.book.databases import FailedOver, StatementsCancelled
from tests.chaos.book.disks import FilesMayNotGrow
from tests.chaos.book.disturbance import Disturbance

# The shortest and longest pause between two steps, for each book of faults (see `tests.chaos.book`). The
# steps of all books run at the same time. Most faults of the first book end or freeze a server, and the
# faults of the other books matter only while a server works. Therefore the first book has the longest
# pauses.
RESTS_S = ((1.5, 4.0), (0.5, 3.0), (0.2, 2.0), (0.2, 1.5))
MOVED_S = (4.0, 6.0)  # between two kills: by then the part has moved, and the machine is back
MOVES = {"kills": machines.HOLDER_KILLED, "hand-overs": machines.HANDED_OVER}
SWITCHED_S = (1.0, 4.0)  # between two changes of a database's leader
SHORTER = 0.15  # the factor on a pause in rounds that have each disturbance once
FOLLOWED = (
    0.25  # the share of rounds with a standby; they run slower, since each commit waits for it
)


@dataclass(frozen=True, slots=True)
class Step:
    """One disturbance, after a pause, with its own random seed."""

    kind: type[Disturbance]
    rest_s: float
    for_s: float
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a round, drawn from `seed`.

    - `followed`: the database has a standby.
    - `seconds`: no step begins later than this.
    - `hands`: sequences of steps. Each sequence has a thread, so all sequences run at the same time.
    - `workers`: the number of workers of each node.
    """

    seed: int
    followed: bool
    seconds: float | None
    hands: tuple[tuple[Step, ...], ...]
    nodes: int = 1
    workers: int = 1
    parts: int = 1


def drawn(seed: int, seconds: float, nodes: int = 1, workers: int = 1, parts: int = 1) -> Plan:
    """Draw a round of about `seconds`. It has one sequence of steps for each book (a list of kinds of
    faults). A sequence gets steps until their planned pauses and durations add up to `seconds`.
    """
    chance = random.Random(seed)
    followed = chance.random() < FOLLOWED
    hands = []
    for book, rest_s in zip(books(nodes, workers, parts), RESTS_S, strict=True):
        steps: list[Step] = []
        left = seconds
        while left > 0:
            step = _step(chance, [kind for kind in book if _may_come(kind, followed)], rest_s)
            left -= step.rest_s + step.for_s
            steps.append(step)
        hands.append(steps)
    if followed:  # the standby must be needed once
        hands[1].insert(len(hands[1]) // 2, _step(chance, [FailedOver], RESTS_S[1]))
    found = tuple(tuple(hand) for hand in hands)
    return Plan(seed, followed, seconds, found, nodes, workers, parts)


def moved(seed: int, seconds: float, nodes: int, parts: int, how: str = "kills") -> Plan:
    """Draw a round that measures how long a part takes to move to another node. With `how` "kills", the
    node that has the part is killed. With "hand-overs", the node hands the part over.
    """
    chance = random.Random(seed)
    steps: list[Step] = []
    left = seconds
    while left > 0:
        step = _step(chance, list(MOVES[how]), MOVED_S)
        left -= step.rest_s + step.for_s
        steps.append(step)
    return Plan(seed, False, seconds, (tuple(steps),), nodes, parts=parts)


def everything(seed: int, nodes: int = 1, workers: int = 1, parts: int = 1) -> Plan:
    chance = random.Random(seed)
    hands = []
    for book, rest_s in zip(books(nodes, workers, parts), RESTS_S, strict=True):
        kinds = list(book)
        chance.shuffle(kinds)
        shorter = (rest_s[0] * SHORTER, rest_s[1] * SHORTER)
        hands.append([_step(chance, [kind], shorter, short=True) for kind in kinds])
    # While there is a standby, the test must not cancel statements or end sessions: commits could be lost
    # (see `StatementsCancelled.possible`). A failover leaves the database without a standby. So these
    # faults come last, after the failover.
    hands[1].sort(key=lambda step: issubclass(step.kind, StatementsCancelled))
    return Plan(seed, True, None, tuple(tuple(hand) for hand in hands), nodes, workers, parts)


def switched(seed: int) -> Plan:
    chance = random.Random(seed)
    return Plan(
        seed, False, None, (tuple(_step(chance, [kind], SWITCHED_S) for kind in patroni.BOOK),)
    )


def _may_come(kind: type[Disturbance], followed: bool) -> bool:
    if issubclass(kind, StatementsCancelled) and followed:
        return False
    return kind not in (
        FailedOver,
        FilesMayNotGrow,
    )  # only used if no disk can be made, instead of another disturbance


def _step(
    chance: random.Random,
    kinds: list[type[Disturbance]],
    rest_s: tuple[float, float],
    *,
    short: bool = False,
) -> Step:
    kind = chance.choices(kinds, [kind.weight for kind in kinds])[0]
    least, most = kind.for_s
    for_s = least if short else chance.uniform(least, most)
    rest = chance.uniform(*rest_s)
    return Step(kind, round(rest, 2), round(for_s, 2), chance.getrandbits(32))
