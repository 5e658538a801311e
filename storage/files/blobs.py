"""The contents of files by key, in a folder or an S3-compatible store. Threads read and write the
contents.

A missing content becomes `BlobMissingError`. Any other error of a library or of the disk becomes
`BlobsAwayError`, because only the operator can correct its cause.
"""

import mmap
import os
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import obstore
import trio
from obstore.exceptions import (
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, S3Store

from engine.files.ports import PIECE_BYTES, BlobMissingError, BlobsAwayError
from storage.durable import sync_folder

if TYPE_CHECKING:  # the library has these names for checkers only
    from obstore.store import ClientConfig, ObjectStore, RetryConfig, S3Config

SAID = 500  # characters of an error's text that are kept, since a store can answer with megabytes
THREADS = 16  # a piece takes less than 1 ms from a folder, and about 50 ms from a store
# An upload waits for these retries, and gets a 503 if they fail too.
_RETRIES: "RetryConfig" = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}
_CONNECT_S = 5
_TIMEOUT_S = 30  # for 25 MiB to a slow store
_TRIED = "tried"  # the prefix of a trial's key, so that an object left by a crash can be recognised
_OPTIONS = frozenset({"region", "endpoint", "allow_http", "virtual_hosted_style"})
T = TypeVar("T")


class FileStoreError(Exception):
    """The file store cannot be used with its settings."""


class ObjectBlobs:
    """Implements `engine.files.ports.BlobStore` on any store whose acknowledged writes are durable."""

    def __init__(self, store: "ObjectStore") -> None:
        self._store = store
        self._limit = trio.CapacityLimiter(THREADS)
        self._under_way: set[trio.CancelScope] = set()
        self._stopped = False

    async def put(self, key: str, path: Path) -> None:
        await self._run(lambda: self._put(key, path))

    async def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        if start >= end:
            return
        stream = await self._run(lambda: self._stream(key, start, end))
        left = end - start
        while left:
            piece = await self._run(lambda: next(stream, None))
            if not piece:
                raise BlobsAwayError(f"{left} bytes are missing")
            if len(piece) > left:
                raise BlobsAwayError("the store sent more than was asked for")
            left -= len(piece)
            for begin in range(0, len(piece), PIECE_BYTES):
                yield bytes(piece[begin : begin + PIECE_BYTES])

    async def size(self, key: str) -> int | None:
        try:
            return int((await self._run(lambda: obstore.head(self._store, key)))["size"])
        except BlobMissingError:
            return None

    async def delete(self, key: str) -> None:
        try:
            await self._run(lambda: self._delete(key))
        except BlobMissingError:
            return

    def stop(self) -> None:
        """Stop waiting for answers, because a hanging store must not delay the end of the process.
        Waiting callers get BlobsAwayError. They leave the marks (`storage.files.rows`) of the contents
        that they were writing or deleting. After the next start, Angarium examines these marks.
        """
        self._stopped = True
        for scope in self._under_way:
            scope.cancel()

    async def _run(self, work: Callable[[], T]) -> T:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._stopped:
            raise BlobsAwayError("the file store: the service is stopping")
        # Shielded, because a cancelled caller would not know the outcome.
        with trio.CancelScope(shield=True) as scope:
            self._under_way.add(scope)
            try:
                return await self._in_thread(work)
            finally:
                self._under_way.discard(scope)
        raise BlobsAwayError("the file store: no answer before the service stopped")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await trio.to_thread.run_sync(work, limiter=self._limit, abandon_on_cancel=True)
        except (NotFoundError, FileNotFoundError) as error:
            raise BlobMissingError("no such content") from error
        except OSError as error:
            said = error.strerror or str(error)[:SAID]
            raise BlobsAwayError(f"the file store: {said}") from None
        except BaseError as error:
            # Only operators see this text. It can quote the request, without credentials, and the store's
            # answer.
            raise BlobsAwayError(f"the file store: {str(error)[:SAID]}") from None

    # --- in a thread

    def _put(self, key: str, path: Path) -> None:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                obstore.put(self._store, key, b"", use_multipart=False)
                return
            # Upload the file in one request, from a memory map. The operating system can drop the mapped
            # pages and read them again. A multipart upload would take 5 MiB of memory for each of its
            # parts, and a crash would leave the parts in the store.
            view = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
            # The map ends with the last reference to it.
            obstore.put(self._store, key, view, use_multipart=False)

    def _stream(self, key: str, start: int, end: int) -> Iterator[bytes]:
        found = obstore.get(self._store, key, options={"range": (start, end)})
        return iter(found.stream(min_chunk_size=PIECE_BYTES))

    def _delete(self, key: str) -> None:
        obstore.delete(self._store, key)


class FolderBlobs(ObjectBlobs):
    """Implements `engine.files.ports.BlobStore` on a folder. A write syncs the file and its folder, so
    that the content survives a crash."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().__init__(LocalStore(folder))
        self._folder = folder
        self._made = {folder}  # the folders known to be durable

    def _put(self, key: str, path: Path) -> None:
        target = self._folder / key
        with path.open("rb") as file:
            os.fsync(file.fileno())
        self._ensure(target.parent)
        path.replace(target)
        sync_folder(target.parent)

    def _delete(self, key: str) -> None:
        super()._delete(key)
        # Without this, a removed file could exist again after a crash.
        sync_folder((self._folder / key).parent)

    def _ensure(self, folder: Path) -> None:
        """Make a folder and its parents, durably. Check even a folder that was made before, because
        people and scripts remove empty folders."""
        if folder in self._made and folder.is_dir():
            return
        if folder != self._folder:
            self._ensure(folder.parent)
        folder.mkdir(mode=0o700, parents=folder == self._folder, exist_ok=True)
        sync_folder(folder.parent)
        self._made.add(folder)


def open_blobs(setting: str | None, folder: Path) -> ObjectBlobs:
    """Return the store of a setting, `s3://bucket/prefix?region=...&endpoint=...`, or `folder` if the
    setting is None.

    Credentials come from the standard AWS_* variables. Raises FileStoreError; makes no request.
    """
    if setting is None:
        return FolderBlobs(folder)
    try:
        return _s3(setting)
    except (BaseError, ValueError) as error:  # from the library, such as for a prefix with `..`
        raise FileStoreError(f"the file store's address cannot be used: {error}") from error


def try_store(setting: str) -> None:
    """Write a small object to the store of a setting, and remove it. Blocks for some seconds at most.

    Raises FileStoreError if the store refuses, BlobsAwayError if it does not answer.
    """
    store = _s3_store(setting, retries={"max_retries": 0}, timeout_s=_CONNECT_S)
    key = f"{_TRIED}-{uuid4()}"
    try:
        obstore.put(store, key, b"angarium", use_multipart=False)
        obstore.delete(store, key)
    except (PermissionDeniedError, UnauthenticatedError) as error:
        remedy = (
            "see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what this key may do in the bucket"
        )
        raise FileStoreError(f"the file store refuses: {_first_line(error)}; {remedy}") from None
    except (NotFoundError, FileNotFoundError) as error:
        remedy = "see the bucket, the region and the endpoint in ANGARIUM_FILE_STORE"
        raise FileStoreError(
            f"the file store has no such bucket: {_first_line(error)}; {remedy}"
        ) from None
    except BaseError as error:
        raise BlobsAwayError(f"the file store: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:SAID]


def _s3(setting: str) -> ObjectBlobs:
    return ObjectBlobs(_s3_store(setting, _RETRIES, _TIMEOUT_S))


def _s3_store(setting: str, retries: "RetryConfig", timeout_s: float) -> S3Store:
    parts = urlsplit(setting)
    if parts.scheme != "s3" or not parts.netloc:
        raise FileStoreError("the file store must be s3://bucket/prefix")
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    unknown = sorted(set(given) - _OPTIONS)
    if unknown:
        raise FileStoreError(f"the file store's address has unknown options: {', '.join(unknown)}")
    config: S3Config = {"disable_bulk_delete": True}  # not every store can delete several at once
    if "region" in given:
        config["region"] = given["region"]
    if "endpoint" in given:
        config["endpoint"] = given["endpoint"]
    if "virtual_hosted_style" in given:
        config["virtual_hosted_style_request"] = given["virtual_hosted_style"] == "true"
    client: ClientConfig = {
        "connect_timeout": timedelta(seconds=_CONNECT_S),
        "timeout": timedelta(seconds=timeout_s),
    }
    if given.get("allow_http") == "true":
        client["allow_http"] = True
    elif given.get("endpoint", "").startswith("http:"):
        raise FileStoreError(
            "the file store's endpoint is http, not https: add &allow_http=true to ANGARIUM_FILE_STORE"
        )
    prefix = parts.path.strip("/") or None
    return S3Store(
        parts.netloc, prefix=prefix, config=config, client_options=client, retry_config=retries
    )
