"""Rows that another session has locked: only requests that need them are delayed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from engine.intake.intake import Intake
from engine.settings import Settings
from engine.submission.submission import Fate, Submission
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from tests.engine.fakes import FakeDestinations
from tests.storage.world import ENVIRONMENT, World, claim, event, identity

_ROW = """
    INSERT INTO idempotency (environment, key, event, deliveries, digest, expires_at_ms)
    VALUES ($1, $2, $3::uuid, 0, 'd', 9999999999999)
"""
_LOCK = "SELECT FROM idempotency WHERE environment = $1 AND key = $2 FOR UPDATE"


@asynccontextmanager
async def locked(bridge: Bridge, key: str, *, committed: bool) -> AsyncIterator[None]:
    other = bridge.connection(UPKEEP)
    await other.ensure()
    if committed:
        await other.fetch(_ROW, ENVIRONMENT, key, identity.event())
    async with other.transaction():
        if committed:
            await other.fetch(_LOCK, ENVIRONMENT, key)
        else:
            await other.fetch(_ROW, ENVIRONMENT, key, identity.event())
        yield
    await bridge.release(other)


class Desk:
    """Makes submissions, each of one event with an idempotency key. It collects the results that the
    intake reports for the submissions."""

    def __init__(self) -> None:
        self._tell, self._fates = trio.open_memory_channel[tuple[str, str | None]](100)

    def submission(self, key: str) -> Submission:
        one = event()
        tell = self._tell

        def settle(fate: Fate) -> None:
            tell.send_nowait((key, fate.refusal))

        return Submission([one], [], [claim(one, key)], 100, settle)

    async def fates(self, count: int) -> dict[str, str | None]:
        return dict([await self._fates.receive() for _ in range(count)])


@pytest.mark.parametrize("committed", [True, False], ids=["a row", "a row that is being inserted"])
@pytest.mark.parametrize("count", [1, 20])
async def test_a_locked_row_costs_its_own_request_alone(
    world: World, committed: bool, count: int
) -> None:
    desk = Desk()
    intake = Intake(world.intake, FakeDestinations(), identity, Settings(), lambda: 1_700_000_000.0)
    keys = [f"k{number}" for number in range(count)]
    blocked = keys[count // 2]
    async with trio.open_nursery() as nursery:
        async with locked(world.bridge, blocked, committed=committed):
            for key in keys:
                intake.submit(desk.submission(key))
            nursery.start_soon(intake.run)
            fates = await desk.fates(count)
            # Certainly not accepted, so the caller can send it again.
            assert fates.pop(blocked) == "overloaded"
            assert set(fates.values()) <= {None}
            intake.submit(desk.submission("later"))
            assert await desk.fates(1) == {"later": None}
            assert not intake.away
        assert len(await world.rows("events")) == count
        intake.submit(desk.submission(blocked))
        assert await desk.fates(1) == {blocked: None}
        nursery.cancel_scope.cancel()
