"""Bytes by key in a folder and in an S3 store, with the same behavior."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing
from obstore.store import MemoryStore

from api.cli.doctor.finding import Level
from api.cli.doctor.machine import check_file_store
from api.composition.serving import read_declared
from bench.service import free_port
from engine.files.ports import PIECE_BYTES, BlobMissingError, BlobsAwayError
from engine.settings import Settings
from storage.database.bridge import Bridge
from storage.files import blobs as storage_blobs
from storage.files.blobs import FileStoreError, FolderBlobs, ObjectBlobs, open_blobs, try_store
from tests.files.s3 import Bucket, open_bucket
from tests.files.sending import CONTENT, raw
from tests.service.house import open_service

KEY = "7/ab/abcdef"
LARGE = os.urandom(3 * PIECE_BYTES + 17)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    with open_bucket() as bucket:
        yield bucket


def setting_of(bucket: Bucket) -> str:
    return f"s3://bucket/of/files?region=eu-x&endpoint={bucket.url}&allow_http=true"


@pytest.fixture(params=["folder", "s3", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectBlobs:
    if request.param == "folder":
        return FolderBlobs(tmp_path / "files")
    if request.param == "memory":
        return ObjectBlobs(MemoryStore())
    return open_blobs(setting_of(request.getfixturevalue("bucket")), tmp_path)


def file_of(folder: Path, content: bytes) -> Path:
    path = folder / f"spooled{len(content)}"
    path.write_bytes(content)
    return path


async def read(blobs: ObjectBlobs, start: int, end: int) -> bytes:
    pieces = [piece async for piece in blobs.read(KEY, start, end)]
    assert all(len(piece) <= PIECE_BYTES for piece in pieces)
    return b"".join(pieces)


async def test_what_was_put_is_read_in_pieces_whole_or_in_part(
    blobs: ObjectBlobs, tmp_path: Path
) -> None:
    assert await blobs.size(KEY) is None
    await blobs.put(KEY, file_of(tmp_path, LARGE))
    assert await blobs.size(KEY) == len(LARGE)
    assert await read(blobs, 0, len(LARGE)) == LARGE
    assert await read(blobs, 1, 2) == LARGE[1:2]
    assert (
        await read(blobs, PIECE_BYTES - 1, 2 * PIECE_BYTES + 1)
        == (LARGE[PIECE_BYTES - 1 : 2 * PIECE_BYTES + 1])
    )
    assert await read(blobs, 5, 5) == b""
    await blobs.delete(KEY)
    await blobs.delete(KEY)  # a second deletion is not an error
    assert await blobs.size(KEY) is None
    with pytest.raises(BlobMissingError):
        await read(blobs, 0, 1)


async def test_nothing_is_content_too(blobs: ObjectBlobs, tmp_path: Path) -> None:
    await blobs.put(KEY, file_of(tmp_path, b""))
    assert await blobs.size(KEY) == 0
    assert await read(blobs, 0, 0) == b""


async def test_a_reader_may_leave_half_way(blobs: ObjectBlobs, tmp_path: Path) -> None:
    await blobs.put(KEY, file_of(tmp_path, LARGE))
    reading = blobs.read(KEY, 0, len(LARGE))
    await anext(reading)
    await reading.aclose()  # type: ignore[attr-defined]  # a generator, which the port does not say


async def test_a_store_that_fails_or_refuses_is_away(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_blobs, "_RETRIES", {"max_retries": 0})
    blobs = open_blobs(setting_of(bucket), tmp_path)
    path = file_of(tmp_path, CONTENT)
    for trouble in ("failing", "refusing"):
        setattr(bucket, trouble, True)
        with pytest.raises(BlobsAwayError) as told:
            await blobs.put(KEY, path)
        assert not isinstance(told.value, BlobMissingError)
        with pytest.raises(BlobsAwayError):
            await blobs.size(KEY)
        setattr(bucket, trouble, False)
    await blobs.put(KEY, path)
    assert [path for _, path in bucket.requests][-1] == f"/bucket/of/files/{KEY}"


async def test_what_a_hostile_store_says_is_cut(bucket: Bucket, tmp_path: Path) -> None:
    blobs = open_blobs(setting_of(bucket), tmp_path)
    bucket.refusing, bucket.said = True, b"\x1b[2J" + b"x" * (8 << 20)
    with pytest.raises(BlobsAwayError) as raised:
        await blobs.put(KEY, file_of(tmp_path, b"content"))
    assert len(str(raised.value)) < 600
    assert raised.value.__cause__ is None  # the cause would contain the whole text


async def test_a_store_that_sends_more_than_was_asked_for_is_not_passed_on(
    bucket: Bucket, tmp_path: Path
) -> None:
    blobs = open_blobs(setting_of(bucket), tmp_path)
    await blobs.put(KEY, file_of(tmp_path, LARGE))
    bucket.lavish = True
    with pytest.raises(BlobsAwayError):
        await read(blobs, 0, 10)


async def test_empty_folders_that_were_tidied_up_are_made_again(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "files")
    for gone in ("7/ab", "7", ""):
        await blobs.put(KEY, file_of(tmp_path, b"content"))
        await blobs.delete(KEY)
        for folder in [path for path in ("7/ab", "7", "") if path.startswith(gone)]:
            (tmp_path / "files" / folder).rmdir()
    await blobs.put(KEY, file_of(tmp_path, b"content"))
    assert await blobs.size(KEY) == 7


async def test_a_folder_that_cannot_be_written_is_away(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "files")
    (tmp_path / "files" / "7").write_bytes(b"in the way of a folder")
    with pytest.raises(BlobsAwayError):
        await blobs.put(KEY, file_of(tmp_path, CONTENT))


@pytest.mark.parametrize(
    "setting",
    [
        "s3:///prefix",
        "gs://bucket",
        "s3://bucket?secret=x",
        "bucket",
        "s3://bucket/a/../b",
        "s3://bucket/a//b",
        "s3://[bucket",
    ],
)
def test_a_setting_that_means_nothing_is_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(FileStoreError, match="file store"):
        open_blobs(setting, tmp_path)


def test_a_store_that_takes_objects_is_tried_without_a_trace(bucket: Bucket) -> None:
    try_store(setting_of(bucket))
    assert [method for method, _ in bucket.requests] == ["PUT", "DELETE"]
    assert bucket.objects == {}


def test_a_store_that_refuses_says_what_to_change(bucket: Bucket) -> None:
    bucket.refusing, bucket.said = True, b"<Error><Code>SignatureDoesNotMatch</Code></Error>"
    with pytest.raises(FileStoreError, match=r"SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY"):
        try_store(setting_of(bucket))
    bucket.refusing = False
    with pytest.raises(FileStoreError, match=r"no such bucket.*NoSuchBucket.*ANGARIUM_FILE_STORE"):
        try_store(setting_of(bucket).replace("s3://bucket/", "s3://other/"))
    with pytest.raises(FileStoreError, match="add &allow_http=true"):
        try_store(setting_of(bucket).replace("&allow_http=true", ""))


def test_a_store_that_does_not_answer_is_away(bucket: Bucket) -> None:
    bucket.failing = True
    with pytest.raises(BlobsAwayError, match="503"):
        try_store(setting_of(bucket))
    with pytest.raises(BlobsAwayError):
        try_store(f"s3://bucket?region=x&endpoint=http://127.0.0.1:{free_port()}&allow_http=true")


def test_the_doctor_tries_the_store(bucket: Bucket) -> None:
    settings = Settings(file_store=setting_of(bucket))
    assert check_file_store(settings).level is Level.OK
    bucket.refusing = True
    assert check_file_store(settings).level is Level.FAILURE
    bucket.refusing, bucket.failing = False, True
    assert check_file_store(settings).level is Level.FAILURE


def test_neither_doctor_nor_start_waits_for_a_store_that_never_answers(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_blobs, "_CONNECT_S", 0.1)
    bucket.hanging = True
    settings = Settings(file_store=setting_of(bucket))
    assert check_file_store(settings).level is Level.FAILURE
    read_declared(settings)  # the store can recover, and only files need it
    assert [method for method, _ in bucket.requests] == ["PUT", "PUT"], "it asks once each time"


def test_a_start_is_refused_by_a_store_that_refuses_and_not_by_one_that_is_away(
    bucket: Bucket,
) -> None:
    settings = Settings(file_store=setting_of(bucket))
    bucket.failing = True
    read_declared(settings)
    bucket.failing, bucket.refusing = False, True
    with pytest.raises(FileStoreError):
        read_declared(settings)


async def test_a_server_keeps_files_in_an_s3_store_and_takes_none_while_it_is_away(
    bridge: Bridge, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_blobs, "_RETRIES", {"max_retries": 0})
    async with open_service(bridge, file_store=setting_of(bucket)) as house:
        api = await house.caller(await house.tenant("acme"))
        told = await raw(api)
        assert told.status == 202, told.body
        assert list(bucket.objects.values()) == [CONTENT]
        read = await api("GET", f"/files/{told.json['id']}/content")
        assert (read.status, read.body) == (200, CONTENT)
        bucket.failing = True
        refused = await raw(api, b"another")
        assert (refused.status, refused.code) == (503, "overloaded")
        assert "retry-after" in refused.headers
        bucket.failing = False
        assert len((await api("GET", "/files")).json["items"]) == 1
        assert (await raw(api, b"another")).status == 202
        assert sorted(bucket.objects.values()) == sorted([CONTENT, b"another"])


async def test_a_store_that_hangs_keeps_no_process_that_is_to_end(tmp_path: Path) -> None:
    let = threading.Event()

    class Hanging(ObjectBlobs):
        def _put(self, key: str, path: Path) -> None:
            let.wait()

    blobs = Hanging(MemoryStore())
    told: list[str] = []

    async def put() -> None:
        try:
            await blobs.put(KEY, file_of(tmp_path, b"content"))
        except BlobsAwayError as error:
            told.append(str(error))

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(put)
            await trio.testing.wait_all_tasks_blocked()
            # A caller that gives up does not stop a half-done operation.
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await trio.testing.wait_all_tasks_blocked()
            assert told == []
            blobs.stop()
        assert told == ["the file store: no answer before the service stopped"]
        with pytest.raises(BlobsAwayError, match="stopping"):
            await blobs.delete(KEY)
    finally:
        let.set()
