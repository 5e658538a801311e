"""A crash between any two steps of storing a file: the next start removes all remains."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.files.depot import Depot
from engine.files.ports import BlobsAwayError
from engine.model.errors import Refusal
from engine.model.file_records import FilePurpose, FileRecord, FileState
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from storage.files.blobs import FolderBlobs
from storage.files.rows import PostgresFiles
from storage.files.spool import DiskSpool

CONTENT = [b"x" * 70_000] * 5
EVENT = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6000"
FILE = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b11"


class Crash(BaseException):
    """The end of a process."""


class Dying:
    """Forwards calls to the object `whole`. Each call takes two steps of `life`: one before the call is
    forwarded, and one after it. When no step is left, the call raises `Crash`, as if the process had
    died."""

    def __init__(self, whole: Any, life: "Life") -> None:
        self._whole = whole
        self._life = life

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def step(*arguments: Any) -> Any:
            self._life.step()
            result = await getattr(self._whole, name)(*arguments)
            self._life.step()
            return result

        return step


class Life:
    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Crash


async def content(life: Life) -> AsyncIterator[bytes]:
    for piece in CONTENT:
        life.step()
        yield piece


def die(spool: DiskSpool) -> None:
    """Release only the process's lock, as the process's end would."""
    assert spool._lock is not None
    os.close(spool._lock)


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


class Disk:
    """The state that outlives a process."""

    def __init__(self, bridge: Bridge, folder: Path) -> None:
        self.folder = folder
        self.store = PostgresFiles(bridge.pool, SecretBox([b"k" * 32]))
        self.blobs = FolderBlobs(folder)

    async def process(self, life: Life, *, with_row: bool) -> None:
        spool = DiskSpool(self.folder / "incoming", 0)
        await spool.open()
        store: Any = Dying(self.store, life)
        blobs: Any = Dying(self.blobs, life)
        depot = Depot(spool, blobs, store)
        try:
            async with depot.keep(1, content(life), 1_000_000) as kept:
                if with_row:
                    file = FileRecord(
                        id=FILE,
                        environment=1,
                        state=FileState.STORED,
                        purpose=FilePurpose.UPLOAD,
                        event=EVENT,
                        size=kept.size,
                        sha256=kept.sha256,
                    )
                    await store.add([file])
        finally:
            die(spool)

    async def start(self) -> None:
        spool = DiskSpool(self.folder / "incoming", 0)
        await spool.open()
        await Depot(spool, self.blobs, self.store).settle_all()
        await spool.close()

    async def left(self) -> tuple[int, int, int]:
        """The numbers of the file's rows, blobs and marks."""
        rows = await self.store.get(1, FILE)
        blobs = [each for each in self.folder.glob("1/*/*") if each.is_file()]
        spooled = [each for each in self.folder.glob("incoming/*") if each.is_dir()]
        marks = await self.store.suspects(10, (0, b""))
        assert spooled == []
        return int(rows is not None), len(blobs), len(marks)


@pytest.mark.parametrize("with_row", [True, False])
async def test_after_a_crash_at_any_step_there_are_row_and_content_or_neither(
    bridge: Bridge, tmp_path: Path, with_row: bool
) -> None:
    seen = set()
    for steps in range(1_000):
        disk = Disk(bridge, tmp_path / f"{with_row}{steps}")
        await bridge.pool.fetch("DELETE FROM files")
        try:
            await disk.process(Life(steps), with_row=with_row)
        except Crash:
            await disk.start()
            left = await disk.left()
            assert left in ((0, 0, 0), (1, 1, 0)), steps
            seen.add(left)
        else:
            assert await disk.store.suspects(10, (0, b"")) == []
            await disk.start()
            assert await disk.left() == ((1, 1, 0) if with_row else (0, 0, 0))
            assert steps > 10
            break
    assert seen == ({(0, 0, 0), (1, 1, 0)} if with_row else {(0, 0, 0)})


async def test_a_disk_that_is_full_takes_nothing_and_keeps_nothing(
    bridge: Bridge, tmp_path: Path
) -> None:
    disk = Disk(bridge, tmp_path / "files")
    spool = DiskSpool(disk.folder / "incoming", 1 << 60)  # more than any disk's free space
    await spool.open()
    depot = Depot(spool, disk.blobs, disk.store)
    with capture_logs() as lines, pytest.raises(Refusal) as refused:
        async with depot.keep(1, content(Life(100)), 1_000_000):
            pass
    assert (refused.value.code, refused.value.retry_after_s) == ("overloaded", 5)
    (line,) = [each for each in lines if each["event"] == "spool.refused"]
    assert (line["log_level"], line["folder"]) == ("warning", str(disk.folder / "incoming"))
    await spool.close()
    assert await disk.left() == (0, 0, 0)


class Away(FolderBlobs):
    async def put(self, key: str, path: Path) -> None:
        raise BlobsAwayError("away")


async def test_a_store_that_is_away_takes_nothing_and_leaves_nothing(
    bridge: Bridge, tmp_path: Path
) -> None:
    disk = Disk(bridge, tmp_path / "files")
    spool = DiskSpool(disk.folder / "incoming", 0)
    await spool.open()
    depot = Depot(spool, Away(disk.folder), disk.store)
    with pytest.raises(Refusal) as refused:
        async with depot.keep(1, content(Life(100)), 1_000_000):
            pass
    assert refused.value.code == "overloaded"
    await spool.close()
    assert await disk.left() == (0, 0, 0)


async def test_a_spool_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    first, second = DiskSpool(tmp_path, 0), DiskSpool(tmp_path, 0)
    await first.open()
    await second.open()
    spooled = await first.write(content(Life(100)), 1_000_000)
    third = DiskSpool(tmp_path, 0)
    await third.open()
    assert spooled.path.stat().st_size == spooled.size == 350_000
    for spool in (first, second, third):
        await spool.close()
    assert names_in(tmp_path) == ["lock"]
