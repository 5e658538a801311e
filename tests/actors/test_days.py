"""Days of retries in virtual time. No retry comes before its schedule allows it, although actors leave
memory and return."""

import random
from collections import Counter

import pytest
from trio.testing import MockClock

from engine.core.destination import DEFAULT_RETRY_SCHEDULE_S
from engine.core.vocabulary import Ordering
from engine.ports import Transmission
from tests.actors.fakes import OK, failure, running

DAY_S = 86_400.0
NEVER_S = 1_000 * DAY_S


@pytest.mark.parametrize("seed", [7])
async def test_twenty_destinations_through_days_of_retries(
    autojump_clock: MockClock, seed: int
) -> None:
    chance = random.Random(seed)
    async with running(seed=seed, passivate_after=600) as world:
        began = world.clock.now()
        recovers_at: dict[str, float] = {}
        for number in range(1, 21):
            name = world.destination(number, ordering=chance.choice(list(Ordering)))
            after = chance.choice([0.0, 600.0, 0.3 * DAY_S, 2 * DAY_S, NEVER_S])
            recovers_at[name] = began + after
            count = 1 if after == NEVER_S else chance.choice([1, 5, 40])
            world.accept(name, count, customer=chance.choice("ab"))

        def behave(sent: Transmission) -> tuple[float, object]:
            well = world.clock.now() >= recovers_at[sent.destination.id]
            return 0.05, OK if well else failure()

        world.sender.behave = behave  # type: ignore[assignment]  # Outcome, as an object
        await world.settled(most_step_s=600.0)

        last: dict[str, float] = {}
        times: Counter[str] = Counter()
        for at, sent in world.sender.sent:
            identifier = sent.delivery.id
            if sent.number > 1:
                wait = DEFAULT_RETRY_SCHEDULE_S[sent.number - 2]
                assert at - last[identifier] >= 0.8 * wait
            last[identifier] = at
            times[identifier] += 1
        assert max(times.values()) <= 1 + len(DEFAULT_RETRY_SCHEDULE_S)
        assert len(world.store.attempts) == len(world.sender.sent)
        for name, instant in recovers_at.items():
            statuses = world.statuses(name)
            if instant == began + NEVER_S:
                assert set(statuses) == {"FAILED"}
            elif instant == began:
                assert set(statuses) == {"DELIVERED"}
        assert world.directory.statistics().restarts == 0
