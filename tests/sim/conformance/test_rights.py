"""Processes take parts from each other, on the simulated database and on PostgreSQL. Both databases allow
and refuse the same writes of each process, and have the same rows after every step."""

from random import Random

import pytest

from engine.nodes.parts import WorkerPart
from tests.sim.conformance.sides import Ports
from tests.sim.conformance.twins import Call, Refused, Twins
from tests.storage.world import event, intake_group, settle_group

STEPS = 40


class Pair:
    """The ports of one process on both sides."""

    def __init__(self, twins: Twins, part: WorkerPart) -> None:
        self.ports: list[Ports] = [side.ports for side in twins.sides]
        self.part = part


@pytest.mark.parametrize("seed", range(2))
async def test_both_databases_agree_on_who_may_write(twins: Twins, seed: int) -> None:
    random = Random(seed)
    pairs: list[Pair] = []
    for _ in range(STEPS):
        do = random.choice(("take", "intake", "intake", "settle", "settle", "large", "lose"))
        if do == "take" or not pairs:
            of = random.choice((1, 2, 3, 3))
            part = WorkerPart(random.randrange(of), of)
            await twins.take(part)
            pairs.append(Pair(twins, part))
        elif do == "lose":
            twins.lose(random.choice(("intake", "settle", "large")))
        else:
            await twins.compared(do, written(do), random.choice(pairs).ports)
        await twins.compare()
    owners = [each for each in pairs if await owns(twins, each)]
    slots = [slot for each in owners for slot in each.part.slots]
    assert owners
    assert len(slots) == len(set(slots))


def written(by: str) -> Call:
    one = event()

    async def write(ports: Ports) -> None:
        if by == "settle":
            await ports.settle.settle(settle_group([]))
        else:
            await (ports.intake if by == "intake" else ports.large).accept(intake_group([one]))

    return write


async def owns(twins: Twins, pair: Pair) -> bool:
    return not isinstance(await twins.compared("owner", written("intake"), pair.ports), Refused)
