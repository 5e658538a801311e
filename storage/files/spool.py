"""The spool of arriving files. The spool writes each arriving file to a temporary file, and computes the
hash of the content at the same time.

Each process has its own folder in the spool, and locks the folder until the process ends. When a process
starts, it removes the folders of dead processes.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog
import trio

from engine.files.ports import BlobsAwayError, Spooled
from engine.model.errors import Refusal

# The size of one write to the disk. Each write goes to a thread and back, which costs 50 us, so small
# writes are slow. Large writes need more memory, because each upload collects the bytes of a write in
# memory.
WRITE_BYTES = 128 * 1024
THREADS = 8  # more threads do not make a disk faster, and each occupies a core while it hashes
_LOCK = "lock"

log = structlog.get_logger("angarium.storage")
T = TypeVar("T")


class DiskSpool:
    """Implements `engine.files.ports.Spool` in a folder of this process."""

    def __init__(self, folder: Path, reserve: int) -> None:
        """`folder` contains the folders of all processes. The spool leaves at least `reserve` bytes of
        the disk free."""
        self._all = folder
        self._own = folder / "none"  # until `open`
        self._reserve = reserve
        self._lock: int | None = None
        self._limit = trio.CapacityLimiter(THREADS)

    async def open(self) -> None:
        """Make this process's folder, and remove the folders of dead processes."""
        await self._run(self._open)

    async def close(self) -> None:
        await self._run(self._close)

    async def write(self, chunks: AsyncIterator[bytes], at_most: int) -> Spooled:
        file = await self._run(lambda: self._begin(at_most))
        try:
            buffer = bytearray()
            async for chunk in chunks:
                _check(file.size + len(buffer) + len(chunk), at_most)
                buffer += chunk
                if len(buffer) >= WRITE_BYTES:
                    full, buffer = buffer, bytearray()
                    await self._run(partial(file.append, full))
            return await self._run(lambda: file.end(buffer))
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._run(file.remove)
            raise

    async def discard(self, spooled: Spooled) -> None:
        await self._run(lambda: spooled.path.unlink(missing_ok=True))

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await trio.to_thread.run_sync(work, limiter=self._limit)
        except OSError as error:
            log.warning(
                "spool.refused",
                folder=str(self._all),
                error=error.strerror or str(error),
                remedy="free space on the disk of ANGARIUM_DATA_DIR",
            )
            raise BlobsAwayError(f"the spool: {error.strerror or error}") from error

    # --- in a thread

    def _open(self) -> None:
        self._all.mkdir(parents=True, exist_ok=True, mode=0o700)
        # The lock of the parent folder lets one process at a time make its own folder and lock it.
        # Without this lock, another process could find the new folder unlocked, and remove it as the
        # folder of a dead process.
        turn = _locked(self._all / _LOCK)
        try:
            own = self._all / uuid.uuid4().hex
            own.mkdir(mode=0o700)
            self._lock = _locked(own / _LOCK)
            self._own = own
            for other in self._all.iterdir():
                if other != own and other.is_dir() and _is_dead(other):
                    shutil.rmtree(other)
                    log.info("spool.cleared", folder=other.name)
        finally:
            os.close(turn)

    def _close(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _begin(self, at_most: int) -> "_File":
        disk = os.statvfs(self._own)
        if disk.f_bavail * disk.f_frsize < self._reserve + at_most:
            raise OSError(errno.ENOSPC, "the disk is nearly full")
        return _File(self._own / uuid.uuid4().hex)


class _File:
    """One file of the spool. One thread at a time uses it."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._path = path
        self._hash = hashlib.sha256()
        self._descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)

    def append(self, data: bytearray) -> None:
        self._hash.update(data)
        self.size += len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def end(self, data: bytearray) -> Spooled:
        self.append(data)
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)
        return Spooled(self._path, self._hash.digest(), self.size)

    def remove(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
        self._path.unlink(missing_ok=True)


def _check(size: int, at_most: int) -> None:
    if size > at_most:
        raise Refusal("payload_too_large", f"the file is larger than {at_most} bytes")


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_dead(folder: Path) -> bool:
    descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
