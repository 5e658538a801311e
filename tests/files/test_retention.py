"""Retention of files. A file is removed together with its event. If several files have the same content,
the content is removed together with the last of these files."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.core.vocabulary import DeliveryStatus
from engine.files.depot import Depot, blob_key
from engine.model.file_records import FilePurpose, FileRecord, FileState
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.profiles import UPKEEP
from storage.encryption.secretbox import SecretBox
from storage.files.blobs import FolderBlobs
from storage.files.rows import PostgresFiles
from storage.files.spool import DiskSpool
from storage.retention import removal as retention
from storage.retention.removal import delete_old_files, remove_old_partitions
from tests.storage.test_retention import KEEP_DAYS, add, identifier, now_of, old_day


async def once(content: bytes) -> AsyncIterator[bytes]:
    yield content


class Shelf:
    def __init__(self, bridge: Bridge, folder: Path) -> None:
        self.connection: Connection = bridge.connection(UPKEEP)
        self.store = PostgresFiles(bridge.pool, SecretBox([b"k" * 32]))
        self.spool = DiskSpool(folder / "incoming", 0)
        self.blobs = FolderBlobs(folder)
        self.depot = Depot(self.spool, self.blobs, self.store)

    async def put(self, event: str, content: bytes, instant: int) -> FileRecord:
        async with self.depot.keep(1, once(content), 1_000) as kept:
            file = FileRecord(
                id=identifier(instant),
                environment=1,
                state=FileState.STORED,
                purpose=FilePurpose.UPLOAD,
                event=event,
                size=kept.size,
                sha256=kept.sha256,
            )
            await self.store.add([file])
        return file

    async def has(self, content: bytes) -> bool:
        key = blob_key(1, hashlib.sha256(content).digest())
        return await self.blobs.size(key) is not None

    async def sweep(self) -> tuple[int, int]:
        now_ms = await now_of(self.connection)
        await remove_old_partitions(self.connection, now_ms, KEEP_DAYS)
        files = await delete_old_files(self.connection, now_ms, KEEP_DAYS)
        return files, await self.depot.settle_all()


@pytest.fixture
async def shelf(bridge: Bridge, tmp_path: Path) -> Shelf:
    shelf = Shelf(bridge, tmp_path / "files")
    await shelf.spool.open()
    return shelf


async def test_a_file_goes_with_its_event_and_shared_content_with_its_last_file(
    shelf: Shelf,
) -> None:
    instant, now = await old_day(shelf.connection), await now_of(shelf.connection)
    old, new = await add(shelf.connection, instant), await add(shelf.connection, now)
    gone = await shelf.put(old, b"alone", instant)
    await shelf.put(old, b"shared", instant)
    kept = await shelf.put(new, b"shared", now)
    assert await shelf.sweep() == (2, 1)
    assert await shelf.store.get(1, gone.id) is None
    assert await shelf.store.get(1, kept.id) == kept
    assert not await shelf.has(b"alone")
    assert await shelf.has(b"shared")
    assert await shelf.store.suspects(10, (0, b"")) == []
    assert await shelf.sweep() == (0, 0)


async def test_files_stay_while_a_delivery_is_unsettled(shelf: Shelf) -> None:
    instant = await old_day(shelf.connection)
    event = await add(shelf.connection, instant, DeliveryStatus.RETRYING)
    file = await shelf.put(event, b"wanted", instant)
    assert await shelf.sweep() == (0, 0)
    assert await shelf.store.get(1, file.id) == file
    await shelf.connection.fetch("UPDATE deliveries SET status = 2")
    assert await shelf.sweep() == (1, 1)


async def test_many_go_in_chunks(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "CHUNK", 2)
    monkeypatch.setattr(retention, "PAUSE_S", 0)
    instant = await old_day(shelf.connection)
    kept_day = await old_day(shelf.connection, 35)
    kept = await add(shelf.connection, kept_day, DeliveryStatus.PENDING)
    for _ in range(2):
        event = await add(shelf.connection, instant)
        for number in range(3):
            await shelf.put(event, b"%d" % number, instant)
    for number in range(3):
        await shelf.put(kept, b"%d" % number, kept_day)
    assert await shelf.sweep() == (6, 0)
    await shelf.connection.fetch("UPDATE deliveries SET status = 2")
    assert await shelf.sweep() == (3, 3)


async def test_content_that_is_held_is_not_removed(shelf: Shelf) -> None:
    async with shelf.depot.keep(1, once(b"held"), 1_000):
        assert await shelf.depot.settle_all() == 0
        assert await shelf.has(b"held")
    assert not await shelf.has(b"held")  # no row was written
    assert await shelf.store.suspects(10, (0, b"")) == []


async def test_a_mark_that_came_meanwhile_is_not_taken_away(shelf: Shelf) -> None:
    digest = hashlib.sha256(b"x").digest()
    await shelf.store.suspect(1, digest)
    asked = await shelf.store.inquire(1, digest)
    assert asked is not None
    await shelf.store.suspect(1, digest)
    await shelf.store.acquit(1, digest, asked.marks)
    assert await shelf.store.suspects(10, (0, b"")) == [(1, digest)]
