"""The readers: they read for workspaces in turn, and never are all busy for one workspace."""

from collections.abc import AsyncIterator

import pytest
import trio

from engine.actors.readers import READERS, Readers
from engine.ports import BacklogStore
from tests.actors.fakes import FakeStore


class Piece:
    """A read that lasts until the test lets it end."""

    def __init__(self, name: str, workspace: str, log: list[str]) -> None:
        self.name = name
        self.workspace = workspace
        self.end = trio.Event()
        self._log = log

    def wanted(self) -> bool:
        return True

    async def read(self, store: BacklogStore) -> None:
        self._log.append(self.name)
        await self.end.wait()

    def failed(self) -> None:
        raise AssertionError


class Bench:
    """Readers at work, and the reads that they began, in order."""

    def __init__(self) -> None:
        self.readers = Readers(FakeStore())
        self.begun: list[str] = []

    def piece(self, name: str, workspace: str) -> Piece:
        return Piece(name, workspace, self.begun)


@pytest.fixture
async def bench(nursery: trio.Nursery) -> AsyncIterator[Bench]:
    made = Bench()
    nursery.start_soon(made.readers.run)
    await trio.testing.wait_all_tasks_blocked()
    yield made
    nursery.cancel_scope.cancel()


async def test_no_workspace_has_all_readers(bench: Bench) -> None:
    crowd = [bench.piece(str(number), "crowd") for number in range(100)]
    for each in crowd:
        bench.readers.submit(each)
    await trio.testing.wait_all_tasks_blocked()
    assert len(bench.begun) == READERS - 1
    healthy = bench.piece("healthy", "healthy")
    bench.readers.submit(healthy)
    await trio.testing.wait_all_tasks_blocked()
    assert bench.begun[-1] == "healthy"
    healthy.end.set()
    for each in crowd:
        each.end.set()
    await trio.testing.wait_all_tasks_blocked()
    assert bench.readers.statistics().readings == 101
    assert bench.readers.statistics().waiting == 0


async def test_workspaces_have_their_reads_in_turn_at_a_start_too(bench: Bench) -> None:
    holding = [bench.piece("-", f"w{number}") for number in range(READERS)]
    for each in holding:
        bench.readers.submit(each)
    await trio.testing.wait_all_tasks_blocked()
    for workspace, count in (("crowd", 50), ("healthy", 2)):
        for kind, submit in (
            ("urgent", bench.readers.submit),
            ("patient", bench.readers.submit_patient),
        ):
            for _ in range(count):
                piece = bench.piece(f"{workspace} {kind}", workspace)
                piece.end.set()
                submit(piece)
    holding[1].end.set()
    await trio.testing.wait_all_tasks_blocked()
    done = bench.begun[READERS:]
    for kind in ("urgent", "patient"):
        of_kind = [each.split()[0] for each in done if each.endswith(kind)]
        assert of_kind == ["crowd", "healthy", "crowd", "healthy"] + ["crowd"] * 48
    for each in holding:
        each.end.set()


async def test_urgent_reads_without_end_leave_a_place_for_those_of_a_start(bench: Bench) -> None:
    urgent = [bench.piece(str(number), "alone") for number in range(20)]
    for each in urgent:
        bench.readers.submit(each)
    await trio.testing.wait_all_tasks_blocked()
    starting = [bench.piece(f"start {number}", "alone") for number in range(2)]
    for each in starting:
        bench.readers.submit_patient(each)
    urgent[0].end.set()
    await trio.testing.wait_all_tasks_blocked()
    assert bench.begun == ["0", "1", "2", "start 0"]
    urgent[1].end.set()
    await trio.testing.wait_all_tasks_blocked()
    assert bench.begun[4:] == ["3"]
    other = bench.piece("other", "other")
    bench.readers.submit(other)
    await trio.testing.wait_all_tasks_blocked()
    assert bench.begun[5:] == ["other"]
    for each in (*urgent, *starting, other):
        each.end.set()
    await trio.testing.wait_all_tasks_blocked()


async def test_a_workspace_alone_is_read_for_without_a_pause(bench: Bench) -> None:
    pieces = [bench.piece(str(number), "alone") for number in range(20)]
    for each in pieces:
        bench.readers.submit(each)
    for each in pieces:
        each.end.set()
        await trio.testing.wait_all_tasks_blocked()
    assert sorted(bench.begun, key=int) == bench.begun
    assert len(bench.begun) == 20


class Unreadable:
    workspace = "w"
    given_up = False

    def wanted(self) -> bool:
        return True

    async def read(self, store: BacklogStore) -> None:
        raise AttributeError

    def failed(self) -> None:
        self.given_up = True


async def test_a_read_that_breaks_ends_no_other_read(bench: Bench) -> None:
    other, unreadable = bench.piece("other", "other"), Unreadable()
    bench.readers.submit(other)
    bench.readers.submit(unreadable)
    await trio.testing.wait_all_tasks_blocked()
    assert unreadable.given_up
    assert bench.begun == ["other"]
    other.end.set()
    await trio.testing.wait_all_tasks_blocked()
    assert bench.readers.statistics().readings == 1
    assert bench.readers.statistics().failures == 1
