"""The read that restores an actor. If a later read for the same actor ends first, the earlier read is
void."""

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock

from engine.core.vocabulary import Ordering
from tests.actors.fakes import running


async def test_a_reading_that_is_void_drops_nothing_of_what_has_arrived_since(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination, 3, told=False)
        store, asked, answers = world.store, trio.Event(), trio.Event()
        read_snapshots = store.read_snapshots

        async def late(_actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
            monkeypatch.setattr(store, "read_snapshots", read_snapshots)
            asked.set()
            await answers.wait()
            world.accept(destination, 2)  # its actor has not yet had the turn for them
            return [None]

        monkeypatch.setattr(store, "read_snapshots", late)
        await world.directory.recover()
        await asked.wait()
        world.change(destination, ordering=Ordering.STRICT)  # so that its actor reads again
        await world.settled()
        answers.set()
        await trio.sleep(100)
        assert world.statuses(destination) == {"DELIVERED": 5}
