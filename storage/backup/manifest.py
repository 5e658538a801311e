"""The manifest of a backup, and the list of its parts with their SHA-256.

The manifest is written last: a folder without a manifest is no backup. The manifest has the hash of the
list, and the list has the hashes of the parts. These hashes detect damage. A forgery is detected by the
proof (`storage.backup.proof`).
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from storage.durable import sync_folder

FORMAT = 1  # a backup of any other format is refused
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"  # as `sha256sum -c` reads it
DATABASE = "database"
FILES = "files"
PIECE_BYTES = 1 << 20  # read at a time, which bounds the memory for a backup of any size
# The possible names of a backup's parts. If the list names any other file, the backup is refused, because
# somebody can have forged the list.
_PART = re.compile(
    r"database/(?:(?:base|pg_wal)\.tar(?:\.gz)?|backup_manifest)"
    r"|master\.key|files/[0-9]{1,10}/[0-9a-f]{2}/[0-9a-f]{64}"
)
LINE_BYTES = 300  # of the list; a longer line is refused
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]{1,200})\n")


class BackupError(Exception):
    """The error of a backup that cannot be made or used."""


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """The content of `manifest.json`."""

    format: int
    made_at: str  # when the backup began; it has every event that was accepted before
    ended_at: str  # when the copy had ended; the backup has the events until shortly before
    postgres: str  # major version
    migrations: int
    newest_migration: str
    database_bytes: int  # when restored
    files: int
    file_bytes: int
    missing_files: int  # contents that rows named and that were not found
    files_elsewhere: bool  # the files are in an object store, which the backup does not include
    master_key: bool
    sums: str  # SHA-256 of SHA256SUMS

    def text(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def write(self, folder: Path) -> None:
        text = self.text()
        draft = folder / f"{MANIFEST}.new"
        with draft.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(folder / MANIFEST)
        sync_folder(folder)


def read_manifest(folder: Path) -> tuple[Manifest, bytes]:
    """Return the manifest of a backup, and its bytes. Raises BackupError."""
    if not folder.is_dir():
        raise BackupError(f"{folder} is no folder")
    try:
        text = (folder / MANIFEST).read_bytes()
        manifest = msgspec.json.decode(text, type=Manifest)
    except FileNotFoundError:
        raise BackupError(
            f"{folder} has no {MANIFEST}: it is not a backup, or the backup was never finished"
        ) from None
    except msgspec.MsgspecError as error:
        raise BackupError(f"{folder / MANIFEST} is damaged: {error}") from None
    if manifest.format != FORMAT:
        raise BackupError(
            f"{folder} is a backup of format {manifest.format}, but this program reads format"
            f" {FORMAT}: use the Angarium version that made the backup"
        )
    return manifest, text


def check_sums(folder: Path, sums: str) -> None:
    """Raise BackupError if the list of parts does not match the manifest."""
    try:
        found = digest_of(folder / SUMS)
    except FileNotFoundError:
        raise BackupError(f"{folder / SUMS} is missing: the backup is damaged") from None
    if found != sums:
        raise BackupError(
            f"{folder / SUMS} was changed after it was written: the backup is damaged"
        )


def parts_of(folder: Path, sums: str) -> Iterator[tuple[str, str]]:
    """Yield the path and SHA-256 of every part. If the list has changed since `check_sums`, this raises
    BackupError, perhaps only after the last part."""
    hashed = hashlib.sha256()
    with (folder / SUMS).open("rb") as file:
        while line := file.readline(LINE_BYTES):
            hashed.update(line)
            match = _LINE.fullmatch(line.decode("utf-8", "replace"))
            if match is None or _PART.fullmatch(match[2]) is None:
                raise BackupError(
                    f"{folder / SUMS} has a line that no backup has: {line[66:100]!r}"
                )
            yield match[2], match[1]
    if hashed.hexdigest() != sums:
        raise BackupError(
            f"{folder / SUMS} was changed while Angarium read it: run the command again"
        )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        reading = HashedReader(file)
        reading.drain()
    return reading.digest


class HashedReader:
    """A file that is read once from beginning to end, and hashed meanwhile."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int = PIECE_BYTES) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def drain(self) -> None:
        while self.read():
            pass

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes read so far, in hex."""
        return self._hash.hexdigest()
