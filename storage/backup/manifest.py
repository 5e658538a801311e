"""What a backup says of itself: its parts with their SHA-256, and which programs can read it.

The manifest is written last, so that a folder without one is no backup, and it vouches for the list of
parts, which vouches for the parts. That tells damage and haste apart from a backup; a forger is told by
the manifest's own proof (`backup_proof`).
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from storage.durable import sync_folder

FORMAT = 1  # a program reads the formats that it knows, and says so of others
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"  # as `sha256sum -c` reads it
DATABASE = "database"
FILES = "files"
PIECE_BYTES = 1 << 20  # read at a time: all that a backup of any size takes of memory
# What a backup may name: nothing that a tampered list says can lead anywhere else.
_PART = re.compile(
    r"database/(?:(?:base|pg_wal)\.tar(?:\.gz)?|backup_manifest)"
    r"|master\.key|files/[0-9]{1,10}/[0-9a-f]{2}/[0-9a-f]{64}"
)
LINE_BYTES = 300  # of the list, at most; a longer one is none
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]{1,200})\n")


class BackupError(Exception):
    """A backup cannot be made or used; the message says why and what to do, in words for operators."""


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """What stands in `manifest.json`."""

    format: int
    made_at: str  # when it was begun; everything accepted before is in it
    ended_at: (
        str  # when the copy had ended: of what was accepted between the two all but the last moment
    )
    postgres: str  # major version
    migrations: int
    newest_migration: str
    database_bytes: int  # what it takes when restored
    files: int
    file_bytes: int
    missing_files: int  # content that rows named and that was not there to be copied
    files_elsewhere: bool  # in an object store, which is not part of this
    master_key: bool
    sums: str  # SHA-256 of SHA256SUMS

    def text(self) -> bytes:
        """Return what is written."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def write(self, folder: Path) -> None:
        """Make a folder a backup: from here on it has a manifest, whole or not at all."""
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
            f"{folder} has no {MANIFEST}: it is no backup, or one that was never finished"
        ) from None
    except msgspec.MsgspecError as error:
        raise BackupError(f"{folder / MANIFEST} is damaged: {error}") from None
    if manifest.format != FORMAT:
        raise BackupError(
            f"{folder} is a backup of format {manifest.format}, this program reads {FORMAT}:"
            " use the Angarium that made it"
        )
    return manifest, text


def check_sums(folder: Path, sums: str) -> None:
    """Raise BackupError where the list of parts is not the one that a manifest speaks of."""
    try:
        found = digest_of(folder / SUMS)
    except FileNotFoundError:
        raise BackupError(f"{folder / SUMS} is missing: the backup is damaged") from None
    if found != sums:
        raise BackupError(f"{folder / SUMS} is not what was written: the backup is damaged")


def parts_of(folder: Path, sums: str) -> Iterator[tuple[str, str]]:
    """Return path and SHA-256 of every part. Raises BackupError at the latest with the last one, where
    the list is not the one that a manifest speaks of: it may have changed since it was looked at."""
    hashed = hashlib.sha256()
    with (folder / SUMS).open("rb") as file:
        while line := file.readline(LINE_BYTES):
            hashed.update(line)
            match = _LINE.fullmatch(line.decode("utf-8", "replace"))
            if match is None or _PART.fullmatch(match[2]) is None:
                raise BackupError(f"{folder / SUMS} names what no backup has: {line[66:100]!r}")
            yield match[2], match[1]
    if hashed.hexdigest() != sums:
        raise BackupError(f"{folder / SUMS} was changed while it was read")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        reading = HashedReader(file)
        reading.drain()
    return reading.digest


class HashedReader:
    """A file that is read once, from its beginning to its end, and hashed on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int = PIECE_BYTES) -> bytes:
        """Return the next bytes, none at the end."""
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def drain(self) -> None:
        """Read what is left."""
        while self.read():
            pass

    @property
    def digest(self) -> str:
        """The SHA-256 of what was read, in hex."""
        return self._hash.hexdigest()
