"""Bulk requests of one tenant: however many there are, other tenants' requests continue."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from engine.control.audit import Principal
from engine.control.commands import MAX_WAITING, CommandQueue
from engine.control.dlq import WITHIN_S, Bulk, DeadLetterCommands
from engine.control.ports import Projection
from engine.control.writer import ConfigurationWriter
from engine.core.records import Delivery
from engine.intake.entries import QueueEntry
from engine.log.delivery_log import DeliveryFilter
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.recording.requeue import Dead, DeadRange, RequeueEntry

HOSTILE, OTHER = 1, 2


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Endless:
    """A fake store and a fake entry queue, both slow. The dead-letter queues in the store never become
    empty."""

    async def dead(
        self, environment: int, which: DeliveryFilter, after: str | None, limit: int
    ) -> DeadRange:
        await trio.sleep(0.01)
        if environment == OTHER:
            return DeadRange([Dead("d", "t")], 1, None)
        return DeadRange([Dead("d", "t")], 1, "d")

    async def count(self, environment: int, which: DeliveryFilter, after: str | None) -> DeadRange:
        await trio.sleep(0.01)
        return DeadRange([], 1, None if environment == OTHER else "d")

    async def enter(self, entry: QueueEntry, within_s: float) -> list[Delivery]:
        await trio.sleep(0.01)
        cast("RequeueEntry", entry).done = ["d"]
        return []


@pytest.fixture
async def commands() -> AsyncIterator[CommandQueue]:
    commands = CommandQueue()
    async with trio.open_nursery() as nursery:
        await nursery.start(commands.tasks.serve)
        yield commands
        nursery.cancel_scope.cancel()


def queues(commands: CommandQueue) -> DeadLetterCommands:
    endless: Any = Endless()
    writer = ConfigurationWriter(commands, Projection(), Identity(), trio.current_time)
    return DeadLetterCommands(endless, endless, endless, endless, writer)


async def test_another_tenants_writes_and_requests_in_bulk_go_on(
    autojump_clock: MockClock, commands: CommandQueue
) -> None:
    letters = queues(commands)
    refused = 0

    async def ask() -> None:
        nonlocal refused
        principal = Principal(kind="API_KEY", id="k", workspace="w", environment=HOSTILE)
        try:
            await letters.retry_all(principal, HOSTILE, DeliveryFilter(), {})
        except Refusal as refusal:
            refused += refusal.code == "overloaded"

    async def write() -> str:
        return "written"

    async with trio.open_nursery() as nursery:
        for _ in range(MAX_WAITING + 50):
            nursery.start_soon(ask)
        await trio.sleep(0.1)
        assert await commands.run(write) == "written"
        with trio.fail_after(WITHIN_S):
            principal = Principal(kind="API_KEY", id="k", workspace="v", environment=OTHER)
            assert await letters.retry_all(principal, OTHER, DeliveryFilter(), {}) == Bulk(1, 1, 0)
        assert refused >= MAX_WAITING
        nursery.cancel_scope.cancel()


async def test_another_tenants_counts_go_on(
    autojump_clock: MockClock, commands: CommandQueue
) -> None:
    letters = queues(commands)

    async def ask() -> None:
        with pytest.raises(Refusal):
            await letters.count(HOSTILE, DeliveryFilter())

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(ask)
        await trio.sleep(0.1)
        with trio.fail_after(1):
            assert await letters.count(OTHER, DeliveryFilter()) == Bulk(1, 0, 1)
        nursery.cancel_scope.cancel()
