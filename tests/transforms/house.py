"""A transform pool with its reactor and timers, and queries about its processes."""

import gc
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trio

from engine.outbound.ports import Failure, Script, Transformed
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.transforms.pool import TransformPool

NOW_MS = 1_767_225_600_123
EVENT = {
    "type": "order.created",
    "timestamp": "2026-01-01T00:00:00.123Z",
    "id": "evt_1",
    "data": {"order": 42, "total": 19.9, "items": [{"price": 1.5, "name": "Ü"}] * 5},
}
BODY = json.dumps(EVENT).encode()


def _raise(error: Exception) -> None:
    raise error


@asynccontextmanager
async def open_pool(workers: int = 2) -> AsyncIterator[TransformPool]:
    reactor, timers = Reactor(_raise), Timers(_raise)
    pool = TransformPool(reactor, timers, workers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reactor.run)
        nursery.start_soon(timers.run)
        try:
            yield pool
        finally:
            pool.close()
            nursery.cancel_scope.cancel()
    reactor.shut()


def function(body: str, before: str = "") -> str:
    return f"{before}\nfunction transform(event) {{ {body} }}"


async def performed(
    pool: TransformPool,
    source: str,
    body: bytes = BODY,
    workspace: str = "ours",
    seed: str = "evt_1",
) -> Transformed | Failure:
    return await pool.perform(Script(workspace, "script", source), body, NOW_MS, seed)


async def value_of(
    pool: TransformPool, source: str, body: bytes = BODY, seed: str = "evt_1"
) -> object:
    result = await performed(pool, source, body, seed=seed)
    assert isinstance(result, Transformed), result
    return json.loads(result.body)


def children() -> list[int]:
    """Return this process's worker processes, including unreaped dead ones."""
    return [each for each in _children() if each not in _FORMER]


_FORMER: set[int] = set()


def note_former() -> None:
    """Record the child processes that exist before a test. `children` then leaves them out."""
    _FORMER.clear()
    _FORMER.update(_children())


def _children() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat[1]) == os.getpid() and (stat[0] == "Z" or b"worker.py" in command):
                found.append(int(entry.name))
    return found


def descriptors() -> int:
    """Return the number of this process's descriptors that can belong to a transform pool.

    Before the count, the garbage of earlier tests is collected, which closes its descriptors. Files and
    internet sockets are not counted, because a DNS look-up of an earlier test can still open some.
    """
    gc.collect()
    return sum(map(_may_be_the_pools, os.listdir("/proc/self/fd")))


def _may_be_the_pools(descriptor: str) -> bool:
    with suppress(OSError):  # the listing's own descriptor, or one that a thread has closed
        what = os.readlink(f"/proc/self/fd/{descriptor}")
        if not what.startswith("socket:"):
            return not what.startswith("/")
        with socket.socket(fileno=os.dup(int(descriptor))) as found:
            return found.family == socket.AF_UNIX
    return False


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
