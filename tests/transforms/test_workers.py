"""The worker processes: their limits, and how they end. No process is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import structlog.testing
import trio
import trio.testing

from api.cli.doctor.machine import check_workers
from engine.model.errors import Refusal
from engine.outbound.ports import Failure, Script, Transformed
from engine.transforms import link as link_module
from engine.transforms import pool as pool_module
from engine.transforms import worker
from tests.patience import HANGS_S
from tests.transforms.house import (
    BODY,
    NOW_MS,
    children,
    descriptors,
    function,
    open_pool,
    performed,
    value_of,
)

ROOT = Path(__file__).parent.parent.parent
PLAIN = function("return 1;")
# Takes more than a moment of CPU, but less than the limit.
HEAVY = function("let n = 0; for (let i = 0; i < 2e5; i++) n += i; return n;")


async def gone(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with trio.fail_after(HANGS_S):
            await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


async def test_there_is_no_worker_until_there_is_a_run() -> None:
    async with open_pool() as pool:
        assert pool.statistics().workers == 0
        assert children() == []
        assert await value_of(pool, PLAIN) == 1
        assert pool.statistics().workers == 1


async def test_a_worker_has_nothing_of_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANGARIUM_MASTER_KEY", "not to be seen")
    async with open_pool(1) as pool:
        assert await value_of(pool, PLAIN) == 1
        (pid,) = pool.processes()
        process = Path(f"/proc/{pid}")
        assert b"ANGARIUM" not in (process / "environ").read_bytes()
        assert os.readlink(process / "cwd") == "/"
        open_now = {os.readlink(entry) for entry in (process / "fd").iterdir()}
        assert sum(name.startswith("socket:") for name in open_now) == 1
        assert {name for name in open_now if not name.startswith("socket:")} == {
            "/dev/null",
            f"/proc/{pid}/statm",
        }
        limits = (process / "limits").read_text()
        for name, limit in (
            ("Max open files", 0),
            ("Max file size", 0),
            ("Max processes", 0),
            ("Max core file size", worker.CORE_BYTES),  # no dump fits: see there
        ):
            line = next(line for line in limits.splitlines() if line.startswith(name))
            assert line.removeprefix(name).split()[:2] == [str(limit)] * 2, line
        status = (process / "status").read_text()
        assert "NoNewPrivs:\t1\n" in status
        assert "Seccomp:\t2\n" in status  # a filter is active
        if os.geteuid() == 0:
            assert f"Uid:{f'{chr(9)}{worker.ACCOUNT}' * 4}" in status
            assert "CapEff:\t0000000000000000" in status


async def test_a_run_whose_worker_is_killed_by_others_is_run_again() -> None:
    async with open_pool(1) as pool:
        assert await value_of(pool, PLAIN) == 1
        results: list[Transformed | Failure] = []
        over = trio.Event()

        def done(result: Transformed | Failure) -> None:
            results.append(result)
            if len(results) == 20:
                over.set()

        for _ in range(20):
            pool.run(Script("ours", "id", HEAVY), BODY, NOW_MS, "s", done)
        await trio.testing.wait_all_tasks_blocked()
        os.kill(pool.processes()[0], signal.SIGKILL)
        await over.wait()
        assert all(isinstance(result, Transformed) for result in results)
        assert pool.statistics().lost == 1


async def test_a_stopped_worker_is_replaced_and_its_run_fails() -> None:
    async with open_pool(1) as pool:
        assert await value_of(pool, PLAIN) == 1
        (pid,) = pool.processes()
        os.kill(pid, signal.SIGSTOP)
        result = await performed(pool, PLAIN)
        assert isinstance(result, Failure)
        assert result.message == "the script took longer than 250 ms"
        await gone(pid)
        assert await value_of(pool, PLAIN) == 1
        assert pool.processes() != [pid]


async def test_a_worker_that_speaks_nonsense_is_ended_and_the_rest_is_done_by_another() -> None:
    async with open_pool(1) as pool:
        assert await value_of(pool, PLAIN) == 1
        link = pool._links[0]
        assert link is not None
        for nonsense in (b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x11\x00\x00\x00" + b"B" * 17):
            link = pool._links[0]
            assert link is not None
            before = link.process.pid
            link._in += nonsense
            result = await performed(pool, PLAIN)
            assert isinstance(result, Failure)
            assert result.message == "the script broke the process that it ran in"
            await gone(before)
            assert await value_of(pool, PLAIN) == 1


async def test_workers_that_do_not_start_are_tried_again_and_break_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "BACKOFF_S", 0.001)
    real = link_module._command
    monkeypatch.setattr(link_module, "_command", lambda descriptor, nice: ["/bin/false"])
    async with open_pool() as pool:
        async with trio.open_nursery() as nursery:

            async def mend() -> None:
                while pool.statistics().lost < 4:
                    await trio.lowlevel.checkpoint()
                monkeypatch.setattr(link_module, "_command", real)

            nursery.start_soon(mend)
            assert await value_of(pool, PLAIN) == 1
        assert pool.statistics().failures == 0
        monkeypatch.setattr(link_module, "_command", lambda descriptor, nice: ["/nowhere"])
        pool._links[0].lose(None)  # type: ignore[union-attr]  # it is there: it just answered
        with trio.move_on_after(0.05):
            await performed(pool, PLAIN)
        monkeypatch.setattr(link_module, "_command", real)
        assert await value_of(pool, PLAIN) == 1


async def test_runs_that_wait_too_long_fail_without_having_been_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "PATIENCE_S", 0.01)
    monkeypatch.setattr(pool_module, "SWEEP_S", 0.01)
    monkeypatch.setattr(link_module, "_command", lambda descriptor, nice: ["/nowhere"])
    async with open_pool() as pool:
        with structlog.testing.capture_logs() as lines:
            assert await performed(pool, PLAIN) is pool_module.NOT_STARTING
        with pytest.raises(Refusal) as raised:
            await pool.check("ours", PLAIN)
        assert raised.value.code == "overloaded"
    assert {line["event"] for line in lines} == {"transforms.worker_not_started"}
    assert all("/nowhere" in line["cause"] and "doctor" in line["remedy"] for line in lines)


def forbidding_worker(folder: Path) -> Path:
    """Write a worker's program that gets a PermissionError when it changes its user account."""
    here = "    if os.geteuid() == 0:\n"
    own = Path(worker.__file__)
    source = own.read_text()
    assert here in source
    refused = '    if True:\n        raise PermissionError(1, "not permitted")\n'
    (folder / "seal.py").write_bytes((own.parent / "seal.py").read_bytes())
    program = folder / "worker.py"
    program.write_text(source.replace(here, refused))
    return program


async def test_a_worker_that_cannot_be_confined_says_why_and_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The worker's program cannot change its user account, as in a container that forbids this."""
    forbidding = forbidding_worker(tmp_path)
    monkeypatch.setattr(worker, "__file__", str(forbidding))
    monkeypatch.setattr(pool_module, "PATIENCE_S", 0.0)
    monkeypatch.setattr(pool_module, "SWEEP_S", 0.01)
    with structlog.testing.capture_logs() as lines:
        async with open_pool(1) as pool:
            while not pool.statistics().lost:
                result = await performed(pool, PLAIN)
                assert result in (pool_module.NOT_STARTING, pool_module.OVERLOADED)
            assert await performed(pool, PLAIN) is pool_module.NOT_STARTING
    told = [line for line in lines if line["event"] == "transforms.worker_not_started"]
    assert told[0]["cause"] == "PermissionError: [Errno 1] not permitted"
    assert check_workers().message.endswith("PermissionError: [Errno 1] not permitted")


async def test_sources_that_are_remembered_are_bounded_in_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "KNOWN_BYTES", 20_000)
    async with open_pool(1) as pool:
        for number in range(10):
            # One special character makes each character use four bytes in memory.
            source = function(f"return {number};", before=f"// \U0001d518 {'x' * 1_000}")
            assert await value_of(pool, source) == number
        assert 0 < pool._known_bytes <= 20_000
        assert pool._known_bytes == sum(sys.getsizeof(source) for _, _, source in pool._known)


async def test_idle_workers_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_S", 0.0)
    monkeypatch.setattr(pool_module, "SWEEP_S", 0.01)
    before = descriptors()
    async with open_pool() as pool:
        assert await value_of(pool, PLAIN) == 1
        for pid in pool.processes():
            await gone(pid)
        while pool.statistics().workers:
            await trio.lowlevel.checkpoint()
        assert children() == []
    assert descriptors() == before


async def test_at_the_end_nothing_is_left_and_whoever_waits_is_told() -> None:
    results: list[Transformed | Failure] = []
    async with open_pool() as pool:
        await performed(pool, PLAIN)
        for number in range(50):
            script = Script(f"hostile {number}", "id", function("for (;;) {}"))
            pool.run(script, BODY, NOW_MS, "s", results.append)
        await trio.testing.wait_all_tasks_blocked()
        pool.close()
        assert children() == []
        assert len(results) == 50
        assert {result.message for result in results if isinstance(result, Failure)} <= {
            "the service is stopping",
            "the script took more than 50 ms of CPU (line 2, column 1)",
        }
        late = await performed(pool, PLAIN)
        assert isinstance(late, Failure)


SERVER = """
import sys
import trio
import trio.testing
from tests.transforms.house import BODY, function, open_pool, performed

async def main():
    async with open_pool() as pool:
        await performed(pool, function("return 1;"))
        async with trio.open_nursery() as nursery:
            for number in range(20):
                # Natives only, so that the worker's own clock is not asked.
                burn = function("const s = 'x'.repeat(2e7); for (;;) s.indexOf('y');")
                nursery.start_soon(performed, pool, burn, BODY, f"hostile {number}")
            await trio.testing.wait_all_tasks_blocked()
            sys.stdout.write(f"{pool.processes()[0]}\\n")
            sys.stdout.flush()

import trio.testing
trio.run(main)
"""


async def test_a_server_that_is_killed_leaves_no_worker() -> None:
    with subprocess.Popen(  # noqa: ASYNC220 (nothing else has to run meanwhile)
        [sys.executable, "-c", SERVER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            pid = int(await trio.to_thread.run_sync(server.stdout.readline))
            os.kill(pid, 0)  # the process exists
        finally:
            server.kill()
    await gone(pid)
