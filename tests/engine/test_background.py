"""Background jobs: each fails alone, and none is lost while the nursery is not open."""

import structlog
import trio
from trio.testing import wait_all_tasks_blocked

from engine.runtime.background import Background
from tests.patience import HANGS_S


async def test_a_job_that_raises_cancels_no_other_job() -> None:
    background, ended = Background(), trio.Event()

    async def broken() -> None:
        raise RuntimeError

    async def patient() -> None:
        await wait_all_tasks_blocked()
        ended.set()

    with structlog.testing.capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            background.spawn(broken)  # before it runs
            await nursery.start(background.run)
            background.spawn(patient)
            background.spawn(broken)
            with trio.fail_after(HANGS_S):
                await ended.wait()
            nursery.cancel_scope.cancel()
    assert [line["event"] for line in lines] == ["background job broke"] * 2
    assert all("broken" in line["job"] for line in lines)
