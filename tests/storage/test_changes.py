"""Notifications of changed configuration. They arrive when the change is committed, in the order of the
commits. If notifications may have been lost, the listener reloads the whole configuration."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

import pytest
import trio

from storage.audit import changes as changes_module
from storage.audit.changes import CHANNEL, Change, Changes, notify
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBoxError
from tests.postgres import eventually


class Listener:
    def __init__(self, bridge: Bridge) -> None:
        self.heard: list[Change] = []
        self.reloads = 0
        self.hold = trio.Event()
        self.hold.set()
        self.writes: Callable[[], Awaitable[None]] | None = None  # called after each batch of news
        self.changes = Changes(bridge, self._change, self._reload)

    async def _change(self, news: Sequence[Change]) -> None:
        await self.hold.wait()
        self.heard += news
        if self.writes is not None:
            await self.writes()

    async def _reload(self) -> None:
        self.reloads += 1

    async def wait_reloads(self, number: int) -> None:
        async def reloaded() -> bool:
            return self.reloads >= number and self.changes.confirmed_at is not None

        await eventually(reloaded)

    async def wait_heard(self, number: int) -> None:
        async def heard() -> bool:
            return len(self.heard) >= number

        await eventually(heard)


@pytest.fixture
async def listener(bridge: Bridge, nursery: trio.Nursery) -> Listener:
    listener = Listener(bridge)
    nursery.start_soon(listener.changes.run)
    await listener.wait_reloads(1)
    return listener


async def test_what_was_read_before_it_runs_is_not_read_again_and_nothing_is_missed(
    bridge: Bridge, nursery: trio.Nursery
) -> None:
    listener = Listener(bridge)
    await listener.changes.begin()
    before = listener.changes.confirmed_at
    assert (listener.reloads, before) == (1, None)
    async with bridge.pool.connection() as writer:
        await notify(writer, "rule", "meanwhile")
    await nursery.start(listener.changes.run)
    assert listener.changes.confirmed_at is not None
    await listener.wait_heard(1)
    assert listener.heard == [Change("rule", "meanwhile")]
    assert listener.reloads == 1


async def test_who_cannot_read_at_the_start_is_told_and_may_begin_anew(
    bridge: Bridge, nursery: trio.Nursery
) -> None:
    listener = Listener(bridge)
    wrong = [SecretBoxError("no key opens it")]

    async def read() -> None:
        if wrong:
            raise wrong.pop()

    changes = Changes(bridge, listener._change, read)
    with pytest.raises(SecretBoxError):
        await changes.begin()
    assert not changes.reloaded.is_set()
    await nursery.start(changes.run)
    assert changes.reloaded.is_set()
    assert changes.losses == 0


async def test_a_connection_lost_before_it_runs_means_reading_everything_anew(
    bridge: Bridge, nursery: trio.Nursery
) -> None:
    listener = Listener(bridge)
    await listener.changes.begin()
    await bridge.pool.fetch(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'angarium listener' AND datname = current_database()"
    )
    await nursery.start(listener.changes.run)
    assert (listener.reloads, listener.changes.losses) == (2, 1)


async def test_news_come_with_the_commit_and_in_order(bridge: Bridge, listener: Listener) -> None:
    async with bridge.pool.transaction() as writer:
        for number in range(3):
            await notify(writer, "destination", str(number))
        await bridge.pool.fetch("SELECT 1")
        assert listener.heard == []
    await listener.wait_heard(3)
    assert listener.heard == [Change("destination", str(number)) for number in range(3)]


async def test_what_is_rolled_back_is_no_news(bridge: Bridge, listener: Listener) -> None:
    async def failed() -> None:
        async with bridge.pool.transaction() as writer:
            await notify(writer, "rule", "never")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await failed()
    async with bridge.pool.connection() as writer:
        await notify(writer, "rule", "kept")
    await listener.wait_heard(1)
    assert listener.heard == [Change("rule", "kept")]


async def test_a_lost_connection_means_reading_everything_anew(
    bridge: Bridge, listener: Listener
) -> None:
    await bridge.pool.fetch(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'angarium listener' AND datname = current_database()"
    )
    await listener.wait_reloads(2)
    assert listener.changes.losses == 1
    async with bridge.pool.connection() as writer:
        await notify(writer, "key", "1")
    await listener.wait_heard(1)


async def test_what_is_malformed_is_passed_over(bridge: Bridge, listener: Listener) -> None:
    for payload in ("", "{", "[]", '"text"', '{"kind": "rule"}'):
        await bridge.pool.fetch("SELECT pg_notify($1, $2)", CHANNEL, payload)
    async with bridge.pool.connection() as writer:
        await notify(writer, "rule", "1")
    await listener.wait_heard(1)
    assert listener.heard == [Change("rule", "1")]


async def test_more_news_than_can_wait_mean_reading_everything_anew(
    bridge: Bridge, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_module, "MAX_WAITING", 5)
    listener = Listener(bridge)
    nursery.start_soon(listener.changes.run)
    await listener.wait_reloads(1)
    listener.hold = trio.Event()  # the first change keeps the listener busy
    await bridge.pool.fetch(
        "SELECT pg_notify($1, json_build_object('kind', 'rule', 'id', n)::text)"
        " FROM generate_series(1, 50) AS n",
        CHANNEL,
    )

    async def dropped() -> bool:
        return listener.changes.dropped > 0

    await eventually(dropped)
    listener.hold.set()
    await listener.wait_reloads(2)


async def test_who_writes_without_end_keeps_nobody_from_confirming(
    bridge: Bridge, listener: Listener
) -> None:
    confirmed: list[float | None] = []

    async def write() -> None:
        confirmed.append(listener.changes.confirmed_at)
        async with bridge.pool.transaction() as writer:
            await notify(writer, "rule", str(len(confirmed)))

    listener.writes = write
    await write()

    async def often() -> bool:
        return len(set(confirmed)) >= 20

    await eventually(often)
    assert len(set(confirmed)) >= len(confirmed) - 1, "each lot of news is confirmed by itself"


async def test_a_row_that_was_written_often_is_read_once(
    bridge: Bridge, listener: Listener
) -> None:
    listener.hold = trio.Event()
    async with bridge.pool.connection() as writer:
        await notify(writer, "rule", "first")
    for number in range(60):
        await bridge.pool.fetch(
            "SELECT pg_notify($1, json_build_object('kind', 'rule', 'id', $2::text)::text)",
            CHANNEL,
            f"{number % 3}",
        )
    listener.hold.set()

    async def heard_all() -> bool:
        return {change.id for change in listener.heard} == {"first", "0", "1", "2"}

    await eventually(heard_all)
    assert len(listener.heard) < 30


async def test_it_confirms_again_and_again(
    bridge: Bridge, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_module, "CHECK_S", 0.01)
    listener = Listener(bridge)
    nursery.start_soon(listener.changes.run)
    await listener.wait_reloads(1)
    first = listener.changes.confirmed_at
    assert first is not None

    async def confirmed() -> bool:
        return (listener.changes.confirmed_at or 0.0) > first

    await eventually(confirmed)


async def test_whoever_catches_up_has_what_was_written_before(
    bridge: Bridge, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_module, "CHECK_S", 1e6)  # no periodic confirmation
    async with bridge.pool.connection() as writer:
        for number in range(3):
            await notify(writer, "key", str(number))
            await listener.changes.catch_up()
            assert listener.heard[-1] == Change("key", str(number))
    async with trio.open_nursery() as several:
        for _ in range(3):
            several.start_soon(listener.changes.catch_up)


async def test_callers_that_catch_up_all_the_time_have_a_pause_between_two_checks(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_module, "CHECK_S", 1e6)  # no periodic confirmation
    instants = []
    for _ in range(3):
        await listener.changes.catch_up()
        instants.append(listener.changes.confirmed_at or 0.0)
    for earlier, later in pairwise(instants):
        assert later - earlier >= changes_module.HURRIED_CHECK_S
