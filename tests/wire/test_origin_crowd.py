"""Many destinations at few origins with unreliable receivers.

Each attempt ends once, no destination exceeds its concurrency, and all queues are empty at the end.
"""

import random
from collections import Counter

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.core.destination import Destination
from engine.core.records import Outcome
from tests.wire.street import OK, Receiver, Visit, a_destination, open_street, until

CLOSING = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"
ATTEMPTS = 300


class Town:
    """Receivers that answer, hang, close or misbehave at random."""

    def __init__(self, chance: random.Random) -> None:
        self.under_way: Counter[bytes] = Counter()
        self.most: Counter[bytes] = Counter()
        self.visitors: list[
            set[bytes]
        ] = []  # for each connection, the workspaces whose requests used it
        self._chance = chance

    async def serve(self, visit: Visit) -> None:
        whose = set[bytes]()
        self.visitors.append(whose)
        while (request := await visit.request()) is not None:
            name = request.split(b" ")[1]
            whose.add(name.split(b"-")[0])
            self.under_way[name] += 1
            self.most[name] = max(self.most[name], self.under_way[name])
            for _ in range(self._chance.choice((0, 0, 1, 5, 20))):
                await trio.lowlevel.checkpoint()
            self.under_way[name] -= 1
            match self._chance.choice(
                ("answer",) * 6 + ("close", "say so", "silent", "more", "reset")
            ):
                case "answer":
                    await visit.send(OK)
                case "say so":
                    await visit.send(CLOSING)
                case "more":
                    await visit.send(OK + b"x")
                case "silent":
                    await visit.send(OK)
                    return
                case "close":
                    return
                case "reset":
                    visit.reset()
                    return


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_receivers_do_each_attempt_ends_and_no_destination_has_too_many(
    seed: int,
) -> None:
    chance = random.Random(seed)
    town = Town(chance)
    async with open_street(openings=chance.choice((2, 8, 512)), openings_destination=2) as street:
        receivers: list[Receiver] = [await street.open(town.serve) for _ in range(3)]
        versions: Counter[str] = Counter()
        outcomes: list[Outcome] = []

        def config(workspace: str, number: int) -> Destination:
            name = f"{workspace}-{number}"
            versions[name] += chance.random() < 0.2
            where = receivers[(number + versions[name]) % len(receivers)].url
            return a_destination(
                where.replace("/hook", f"/{name}"),
                id=name, workspace=workspace, version=versions[name], concurrency=number % 3 + 1,
            )  # fmt: skip

        for _ in range(ATTEMPTS):
            destination = config(chance.choice("vw"), chance.randrange(12))
            street.begin(destination, outcomes.append)
            if chance.random() < 0.1:
                await trio.lowlevel.checkpoint()
            if chance.random() < 0.02:
                await wait_all_tasks_blocked()
        await until(lambda: len(outcomes) == ATTEMPTS)
        await wait_all_tasks_blocked()
        found = street.client.statistics()
        assert (found.in_flight, found.waiting, found.openings) == (0, 0, 0)
        assert found.descriptors == found.idle
        assert found.reused > 0
        wiring = street.client.wiring
        assert all(origin.queue is None for origin in wiring.origins._known.values())
        assert sum(outcome.success for outcome in outcomes) > ATTEMPTS / 2
    assert len(outcomes) == ATTEMPTS
    assert all(most <= int(name.split(b"-")[1]) % 3 + 1 for name, most in town.most.items())
    assert all(len(whose) <= 1 for whose in town.visitors)
