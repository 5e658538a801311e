"""Fixtures: PostgreSQL alone, the simulated database alone, and twins, which make each call on both
databases. With `few_looks`, reads examine few rows at a time."""

from collections.abc import AsyncIterator, Iterator

import pytest

import storage.intake.large
from storage.backlog import reading as backlog
from storage.database.bridge import Bridge, open_bridge
from storage.dead_letters import reading as dead_letters
from storage.replays import missing, ordering
from storage.replays import running as replaying
from tests.postgres import TestServer
from tests.sim.conformance.house import House
from tests.sim.conformance.sides import Postgres, Side, Simulated
from tests.sim.conformance.twins import Twins
from tests.sim.store import Database, Looks
from tests.sim.store.large_intake import PART_ROWS

LOOKS = Looks(queue=7, dead=4, dead_counted=5, replays=6)


@pytest.fixture
def few_looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let reads of PostgreSQL examine as few rows at a time as reads of the simulated database."""
    monkeypatch.setattr(backlog, "EXAMINED", LOOKS.queue)
    monkeypatch.setattr(dead_letters, "EXAMINED", LOOKS.dead)
    monkeypatch.setattr(dead_letters, "COUNTED", LOOKS.dead_counted)
    for module in (replaying, ordering, missing):
        monkeypatch.setattr(module, "EXAMINED", LOOKS.replays)
    texts = (backlog.queue_statement, backlog.passed_statement)
    for text in texts:
        text.cache_clear()
    yield
    for text in texts:
        text.cache_clear()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let large groups be written to PostgreSQL in parts as small as in the simulated database."""
    monkeypatch.setattr(storage.intake.large, "PART_ROWS", PART_ROWS)


@pytest.fixture
async def twins(bridge: Bridge, few_looks: None) -> Twins:
    return Twins(Simulated(Database(looks=LOOKS)), Postgres(bridge))


@pytest.fixture(params=["simulated", "postgres"])
async def side(request: pytest.FixtureRequest, postgres: TestServer) -> AsyncIterator[Side]:
    """One database that a process has taken over."""
    if request.param == "simulated":
        looks = LOOKS if "few_looks" in request.fixturenames else Looks()
        simulated = Simulated(Database(looks=looks))
        await simulated.take()
        yield simulated
        return
    async with postgres.database() as url, open_bridge(url) as bridge:
        real = Postgres(bridge)
        await real.take()
        yield real


@pytest.fixture
async def house(side: Side) -> House:
    """A database with an environment and two destinations."""
    return await House(side).built()


@pytest.fixture
async def narrow(few_looks: None, house: House) -> House:
    return house
