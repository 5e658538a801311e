"""A round's plan, drawn from its seed before anything runs: who disturbs what, when, and for how long.

Several hands act side by side, so that troubles meet: one strikes servers, others databases, roads and
receivers. Nothing here acts.
"""

import random
from dataclasses import dataclass

from tests.chaos.book import BOOKS
from tests.chaos.book.databases import FailedOver, StatementsCancelled
from tests.chaos.book.disks import FilesMayNotGrow
from tests.chaos.book.disturbance import Disturbance

REST_S = (0.2, 2.5)  # between two of one hand
FOLLOWED = (
    0.25  # the share of rounds that have a standby; they run slower, for each commit waits for it
)


@dataclass(frozen=True, slots=True)
class Step:
    """One disturbance of a hand, after a rest, with a chance of its own."""

    kind: type[Disturbance]
    rest_s: float
    for_s: float
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed stands for. `followed`: with a standby."""

    seed: int
    followed: bool
    hands: tuple[tuple[Step, ...], ...]


def drawn(seed: int, seconds: float) -> Plan:
    """Draw a round of some `seconds`, as long as nothing takes longer than it is left for."""
    chance = random.Random(seed)
    followed = chance.random() < FOLLOWED
    hands = []
    for book in BOOKS:
        steps: list[Step] = []
        left = seconds
        while left > 0:
            step = _step(chance, [kind for kind in book if _may_come(kind, followed)])
            left -= step.rest_s + step.for_s
            steps.append(step)
        hands.append(steps)
    if followed:  # the standby is there to be needed, once
        hands[1].insert(len(hands[1]) // 2, _step(chance, [FailedOver]))
    return Plan(seed, followed, tuple(tuple(hand) for hand in hands))


def everything(seed: int) -> Plan:
    """Draw a round that has each disturbance once, in an order and for times by the seed."""
    chance = random.Random(seed)
    hands = []
    for book in BOOKS:
        kinds = list(book)
        chance.shuffle(kinds)
        hands.append([_step(chance, [kind], short=True) for kind in kinds])
    # Before it the standby forbids some, see StatementsCancelled.
    hands[1].sort(key=lambda step: issubclass(step.kind, StatementsCancelled))
    return Plan(seed, True, tuple(tuple(hand) for hand in hands))


def _may_come(kind: type[Disturbance], followed: bool) -> bool:
    if issubclass(kind, StatementsCancelled) and followed:
        return False
    return kind not in (
        FailedOver,
        FilesMayNotGrow,
    )  # the latter stands in where no disk can be made


def _step(chance: random.Random, kinds: list[type[Disturbance]], *, short: bool = False) -> Step:
    kind = chance.choices(kinds, [kind.weight for kind in kinds])[0]
    least, most = kind.for_s
    for_s = least if short else chance.uniform(least, most)
    rest_s = chance.uniform(*REST_S) / (4 if short else 1)
    return Step(kind, round(rest_s, 2), round(for_s, 2), chance.getrandbits(32))
