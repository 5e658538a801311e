"""Hostile scripts in real workers: each hostile script stays within its limits, and other scripts run as
usual."""

import json
import resource
from itertools import cycle, islice

import pytest
import trio

from engine.outbound.ports import Failure, Transformed
from tests.patience import HANGS_S
from tests.transforms.book import BOOK, HEALTHY, Page
from tests.transforms.house import (
    NOW_MS,
    children,
    descriptors,
    open_pool,
    performed,
    resident_mb,
    value_of,
)

WELL = {"runs": 1, "seen": 1, "id": "evt_1", "at": NOW_MS, "map": [1]}
RUNS = 1_000
CPU_S = 0.150  # for a page and two runs after it, including a start: three times a run's limit
# The most memory that a worker may have after it has run all scripts. This is more than an empty worker
# needs, because the worker keeps its JavaScript contexts and its allocator keeps freed memory.
LARGEST_MB = 140


def test_the_book_has_forty_pages_and_more() -> None:
    assert len(BOOK) >= 40
    assert len({page.name for page in BOOK}) == len(BOOK)


def judge(page: Page, result: Transformed | Failure) -> None:
    if isinstance(page.ends, tuple):
        assert isinstance(result, Failure), (page.name, result)
        assert any(part in result.message for part in page.ends), (page.name, result.message)
        assert len(result.message) <= 500
        assert "/" not in result.message.replace("A-Za-z0-9._:/-", ""), result.message
        assert "<input>" not in result.message
    else:
        assert isinstance(result, Transformed), (page.name, result)
        assert json.loads(result.body) == page.ends
    assert result.logs is None or len(result.logs) <= 4096


def workers_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("group", range(8))
async def test_each_is_bounded_and_the_next_run_is_as_ever(group: int) -> None:
    pages = BOOK[group::8]
    before_s = workers_cpu_s()
    async with open_pool() as pool:
        for page in pages:
            with trio.fail_after(HANGS_S):
                judge(page, await performed(pool, page.source, workspace="hostile"))
            assert await value_of(pool, HEALTHY) == WELL
            # The healthy script runs twice, probably in the same worker. Its second run must find no
            # state of its first run.
            assert await value_of(pool, HEALTHY) == WELL
    assert children() == []
    spent_s = workers_cpu_s() - before_s
    print(f"{spent_s / len(pages):.2f} s of CPU a page")
    assert spent_s < CPU_S * len(pages)


async def test_a_thousand_leave_no_worker_no_descriptor_and_bounded_memory() -> None:
    pages = [page for page in BOOK if not page.burns]
    burners = cycle(page for page in BOOK if page.burns)
    before = descriptors()
    async with open_pool() as pool:
        assert await value_of(pool, HEALTHY) == WELL
        limit = trio.CapacityLimiter(16)

        async def one(number: int, page: Page) -> None:
            async with limit:  # each of a new tenant, so that shares do not separate them
                judge(page, await performed(pool, page.source, workspace=f"hostile {number}"))

        async with trio.open_nursery() as nursery:
            for number, page in enumerate(islice(cycle(pages), RUNS)):
                nursery.start_soon(one, number, next(burners) if number % 20 == 0 else page)
        assert pool.statistics().runs >= RUNS
        assert len(children()) <= 2
        assert set(pool.processes()) == set(children())
        assert all(resident_mb(pid) < LARGEST_MB for pid in pool.processes())
        assert await value_of(pool, HEALTHY) == WELL
    assert children() == []
    assert descriptors() == before


HOARD = """
let o;
function transform(event) {
  o = { kept: new ArrayBuffer(30 << 20) };
  o.o = o;
  o.f = transform;
  return %d;
}
"""
ROOM = "function transform(event) { return new ArrayBuffer(24 << 20).byteLength; }"


async def test_what_quick_scripts_leave_takes_no_addresses_from_others() -> None:
    """Each script leaves a large buffer that only the collection of cyclic garbage can free. Nothing is
    ever written to the buffer, so the buffer needs no memory. But it needs address space, of which a
    worker has only a limited amount. There must be enough left for the scripts of others."""
    async with open_pool(1) as pool:
        for number in range(16):
            assert await value_of(pool, HOARD % number) == number
            result = await performed(pool, ROOM, workspace="theirs")
            assert isinstance(result, Transformed), (number, result)
        assert pool.statistics().lost == 0
