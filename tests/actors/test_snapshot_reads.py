"""Snapshots of many actors, which are read together. If the row of one actor cannot be read, all other
actors still get their snapshots."""

from collections.abc import AsyncIterator, Sequence

import pytest
import trio
from trio.testing import MockClock

from engine.actors.readers import READERS, SNAPSHOTS_AT_ONCE, Readers
from engine.ports import StoreAwayError, StoreError
from engine.ports.outage import LONGEST_PAUSE_S
from tests.actors.fakes import FakeStore, running
from tests.actors.test_readers import Piece


class Store(FakeStore):
    """A store that returns the actor's name as an actor's snapshot. It cannot read the snapshots of the
    actors in `rotten`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self.open = True
        self.lot = trio.lowlevel.ParkingLot()
        self.rotten: set[str] = set()

    async def read_snapshots(self, actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
        names = [name for _, name in actors]
        self.asked.append(names)
        if not self.open:
            await self.lot.park()
        if self.away:
            raise StoreAwayError
        if not self.rotten.isdisjoint(names):
            raise StoreError("invalid page in a block")
        return [name.encode() for name in names]

    def answer(self) -> None:
        self.lot.unpark()


class SnapshotReading:
    def __init__(self, name: str, workspace: str = "w") -> None:
        self.key = 1, name
        self.workspace = workspace
        self.leaves = False
        self.told: list[bytes | None] = []
        self.failures = 0

    def wanted(self) -> bool:
        return not (self.leaves or self.told or self.failures)

    def take_snapshot(self, snapshot: bytes | None) -> None:
        self.told.append(snapshot)

    def failed(self) -> None:
        self.failures += 1


class Bench:
    def __init__(self) -> None:
        self.store = Store()
        self.readers = Readers(self.store)
        self.scope = trio.CancelScope()

    async def run(self) -> None:
        with self.scope:
            await self.readers.run()

    def submit(self, names: Sequence[str], workspace: str = "w") -> list[SnapshotReading]:
        made = [SnapshotReading(name, workspace) for name in names]
        for each in made:
            self.readers.submit_snapshot(each)
        return made


@pytest.fixture
async def bench(nursery: trio.Nursery) -> AsyncIterator[Bench]:
    made = Bench()
    nursery.start_soon(made.run)
    await trio.testing.wait_all_tasks_blocked()
    yield made
    made.scope.cancel()


def names(count: int) -> list[str]:
    return [str(number) for number in range(count)]


async def test_actors_that_come_about_together_are_read_together(
    autojump_clock: MockClock,
) -> None:
    count = SNAPSHOTS_AT_ONCE + 10
    async with running() as world:
        for number in range(1, count + 1):
            world.accept(world.destination(number))
        await world.settled()
        assert world.store.calls["read_snapshots"] == 2
        assert world.directory.readers.statistics().snapshots == count


async def test_actors_beside_one_that_raises_get_their_snapshots(bench: Bench) -> None:
    class Breaking(SnapshotReading):
        def take_snapshot(self, snapshot: bytes | None) -> None:
            raise RuntimeError

    broken = Breaking("broken")
    bench.readers.submit_snapshot(broken)
    others = bench.submit(["b", "c"])
    await trio.testing.wait_all_tasks_blocked()
    assert [each.told for each in others] == [[b"b"], [b"c"]]
    assert broken.failures == 1  # it reads again later


async def test_who_is_alone_waits_for_no_others(bench: Bench) -> None:
    (alone,) = bench.submit(["alone"])
    await trio.testing.wait_all_tasks_blocked()  # the clock did not move
    assert alone.told == [b"alone"]


async def test_one_batch_is_read_at_a_time_and_a_crowd_does_not_hold_up_another_workspace(
    bench: Bench,
) -> None:
    bench.store.open = False
    crowd = bench.submit(names(5 * SNAPSHOTS_AT_ONCE), "crowd")
    await trio.testing.wait_all_tasks_blocked()
    assert [len(each) for each in bench.store.asked] == [SNAPSHOTS_AT_ONCE]
    (single,) = bench.submit(["single"], "other")
    late = bench.submit(["late"], "third")
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(2):
        bench.store.answer()
        await trio.testing.wait_all_tasks_blocked()
    assert bench.store.asked[1][:4] == [str(SNAPSHOTS_AT_ONCE), "single", "late", "257"]
    assert (single.told, late[0].told) == ([b"single"], [b"late"])
    assert bench.readers.statistics().waiting == 2 * SNAPSHOTS_AT_ONCE + 2
    while len(bench.store.asked) < 6:
        bench.store.answer()
        await trio.testing.wait_all_tasks_blocked()
    bench.store.answer()
    await trio.testing.wait_all_tasks_blocked()
    assert [each.told for each in crowd] == [[each.key[1].encode()] for each in crowd]
    assert bench.readers.statistics().snapshots == 5 * SNAPSHOTS_AT_ONCE + 2


async def test_a_row_that_cannot_be_read_fails_its_own_actor_alone(bench: Bench) -> None:
    bench.store.rotten = {"7"}
    asked = bench.submit(names(100))
    await trio.testing.wait_all_tasks_blocked()
    assert {each.key[1] for each in asked if each.failures} == {"7"}
    assert sum(each.told == [each.key[1].encode()] for each in asked) == 99
    assert len(bench.store.asked) < 16  # the batch is halved until the bad row is alone
    statistics = bench.readers.statistics()
    assert (statistics.snapshots, statistics.failures) == (99, 1)


async def test_while_the_store_is_away_all_wait_and_who_leaves_is_not_asked_for(
    bench: Bench, autojump_clock: MockClock
) -> None:
    bench.store.away = True
    first = bench.submit(["a", "b"])
    await trio.testing.wait_all_tasks_blocked()
    second = bench.submit(["c"])
    first[0].leaves = True
    bench.store.away = False
    await trio.sleep(LONGEST_PAUSE_S)
    assert bench.store.asked == [["a", "b"], ["b"], ["c"]]
    assert (first[0].told, first[1].told, second[0].told) == ([], [b"b"], [b"c"])
    assert not any(each.failures for each in (*first, *second))


async def test_the_store_goes_away_between_two_halves(
    bench: Bench, autojump_clock: MockClock
) -> None:
    bench.store.rotten, bench.store.open = {"0"}, False
    asked = bench.submit(names(4))
    await trio.testing.wait_all_tasks_blocked()
    bench.store.answer()
    await trio.testing.wait_all_tasks_blocked()
    bench.store.away = True
    bench.store.answer()
    await trio.testing.wait_all_tasks_blocked()
    bench.store.away, bench.store.open = False, True
    await trio.sleep(LONGEST_PAUSE_S)
    assert [each.told for each in asked] == [[], [b"1"], [b"2"], [b"3"]]
    assert [each.failures for each in asked] == [1, 0, 0, 0]


async def test_who_is_being_read_for_when_the_readers_end_asks_again(bench: Bench) -> None:
    bench.store.open = False
    asked = bench.submit(names(3))
    await trio.testing.wait_all_tasks_blocked()
    bench.scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert [each.failures for each in asked] == [1, 1, 1]
    assert bench.readers.statistics().failures == 3
    bench.store.open, bench.scope = True, trio.CancelScope()
    (late,) = bench.submit(["late"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.run)
        await trio.testing.wait_all_tasks_blocked()
        assert late.told == [b"late"]
        bench.scope.cancel()


async def test_snapshots_and_other_reads_go_on_beside_each_other(bench: Bench) -> None:
    """Long reads use all readers except one. The free reader then takes turns between snapshots and other
    reads."""
    begun: list[str] = []
    long = [Piece("long", f"w{number}", begun) for number in range(READERS - 1)]
    for each in long:
        bench.readers.submit(each)
    await trio.testing.wait_all_tasks_blocked()
    bench.store.open = False
    first = bench.submit(["first"])
    await trio.testing.wait_all_tasks_blocked()
    reads = [Piece(str(number), f"x{number}", begun) for number in range(2)]
    for each in reads:
        bench.readers.submit(each)
    second = bench.submit(["second"])
    await trio.testing.wait_all_tasks_blocked()
    assert begun[READERS - 1 :] == []  # no reader was free
    bench.store.answer()
    await trio.testing.wait_all_tasks_blocked()
    assert (first[0].told, begun[READERS - 1 :], second[0].told) == ([b"first"], ["0"], [])
    reads[0].end.set()
    await trio.testing.wait_all_tasks_blocked()
    assert bench.store.asked[1:] == [["second"]]
    bench.store.answer()
    await trio.testing.wait_all_tasks_blocked()
    assert begun[READERS - 1 :] == ["0", "1"]
    for each in (*long, *reads):
        each.end.set()
    await trio.testing.wait_all_tasks_blocked()


async def test_a_batch_is_taken_by_a_reader_that_rests_where_the_last_ones_turns_to_others(
    bench: Bench,
) -> None:
    bench.store.open = False
    first = bench.submit(["first"])
    await trio.testing.wait_all_tasks_blocked()
    begun: list[str] = []
    # The workspace `alone` cannot use all four readers. While one reader reads the first snapshot,
    # `alone` uses two of the other three readers. When the snapshots have been read, `alone` uses three
    # readers.
    long = [Piece("long", "alone", begun) for _ in range(READERS)]
    for each in long:
        bench.readers.submit(each)
    second = bench.submit(["second"])
    await trio.testing.wait_all_tasks_blocked()
    assert len(begun) == READERS - 2
    bench.store.open = True
    bench.store.answer()
    await trio.testing.wait_all_tasks_blocked()
    assert len(begun) == READERS - 1
    assert (first[0].told, second[0].told) == ([b"first"], [b"second"])
    for each in long:
        each.end.set()
    await trio.testing.wait_all_tasks_blocked()
