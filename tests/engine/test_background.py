"""Background jobs: one job's failure stops no other. Jobs that are spawned before there is a nursery run
as soon as there is one."""

import structlog
import trio
from trio.testing import wait_all_tasks_blocked

from engine.runtime.background import Background
from tests.patience import HANGS_S

SPAWNED = 20  # one per pass of the loop: more passes than a nursery needs to close


async def test_a_job_that_raises_cancels_no_other_job() -> None:
    background, ended = Background(), trio.Event()

    async def broken() -> None:
        raise RuntimeError

    async def patient() -> None:
        await wait_all_tasks_blocked()
        ended.set()

    with structlog.testing.capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            background.spawn(broken)  # before the jobs' nursery is open
            await nursery.start(background.run)
            background.spawn(patient)
            background.spawn(broken)
            with trio.fail_after(HANGS_S):
                await ended.wait()
            nursery.cancel_scope.cancel()
    assert [line["event"] for line in lines] == ["background_job.failed"] * 2
    assert all("broken" in line["job"] for line in lines)


async def test_what_is_spawned_while_the_nursery_closes_runs_in_the_next_one() -> None:
    background, ran = Background(), 0

    async def job() -> None:
        nonlocal ran
        ran += 1

    async def neighbour() -> None:
        with trio.CancelScope(shield=True):
            for _ in range(SPAWNED):
                background.spawn(job)
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        await nursery.start(background.run)
        nursery.start_soon(neighbour)
        nursery.cancel_scope.cancel()
    async with trio.open_nursery() as nursery:
        await nursery.start(background.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ran == SPAWNED
