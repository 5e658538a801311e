"""The cache of events' files. The number of bytes and events in the cache is bounded, and an event is
removed from the cache after some time."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
import trio
import trio.testing

from engine.core.records import Event
from engine.files.carrying import KNOWN_BYTES, KNOWN_EVENTS, KNOWN_S, FileCarrier
from engine.files.fetching import Sources
from engine.files.ports import FileStore
from engine.files.urls import FileUrls
from engine.model.file_records import FilePurpose, FileRecord, FileState
from engine.outbound.ports import Carried, Failure
from tests.core.making import a_delivery

FILE = "00000000-0000-7000-8000-000000000001"


class Rows:
    def __init__(self) -> None:
        self.metadata = b"{}"
        self.asked: list[str] = []

    async def of_event(self, environment: int, event: str) -> list[FileRecord]:
        self.asked.append(event)
        return [
            FileRecord(
                id=FILE,
                environment=environment,
                state=FileState.STORED,
                purpose=FilePurpose.UPLOAD,
                event=event,
                size=1,
                sha256=b"\1" * 32,
                metadata=self.metadata,
            )
        ]


class Road:
    def __init__(self, nursery: trio.Nursery) -> None:
        self.rows = Rows()
        urls = FileUrls({b"\0" * 8: b"k" * 32}, lambda: "http://a", 60.0, lambda: 0.0)

        def spawn(work: Callable[..., Awaitable[object]], event: Event) -> None:
            nursery.start_soon(work, event)

        self.carrier = FileCarrier(cast(FileStore, self.rows), cast(Sources, None), urls, spawn)
        self.told: list[Carried | Failure] = []

    async def carry(self, number: int) -> Carried:
        event = a_delivery(number).event
        event.file = FILE
        self.carrier.carry(event, self.told.append)
        await trio.testing.wait_all_tasks_blocked()
        result = self.told[-1]
        assert isinstance(result, Carried)
        return result

    @property
    def known(self) -> Any:
        return self.carrier._known


@pytest.fixture
def road(nursery: trio.Nursery) -> Road:
    return Road(nursery)


async def test_a_file_is_looked_up_once_for_many_attempts(road: Road) -> None:
    first = await road.carry(1)
    assert FILE.encode() in first.body
    assert await road.carry(1) == first
    assert len(road.rows.asked) == 1


async def test_large_metadata_is_not_kept_beyond_a_bound(road: Road) -> None:
    road.rows.metadata = b'{"a":"%b"}' % (b"x" * 1_000_000)
    for number in range(20):
        await road.carry(number)
    assert len(road.known) == KNOWN_BYTES // 1_000_200
    assert road.carrier._known_bytes == sum(each.size for each in road.known.values())
    assert road.carrier._known_bytes <= KNOWN_BYTES
    await road.carry(19)  # the latest ones are cached
    assert len(road.rows.asked) == 20


async def test_nothing_is_kept_when_its_time_is_over(
    road: Road, autojump_clock: trio.testing.MockClock
) -> None:
    for number in range(5):
        await road.carry(number)
    await trio.sleep(KNOWN_S + 1)
    await road.carry(5)
    assert len(road.known) == 1
    assert KNOWN_EVENTS > 5
