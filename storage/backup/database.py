"""The database part of a backup: the archives of pg_basebackup, and the server's own checksums."""

import gzip
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import msgspec

from storage.backup.manifest import PIECE_BYTES, BackupError, HashedReader

# The errors of reading an archive that was cut off or changed.
DAMAGE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)

# The data files of PostgreSQL 18: the tables, the states of transactions, and the files that say where
# recovery begins. A restoration leaves out all other files, because they can be dangerous: configuration
# files and the files of a standby can name programs to run, and files of tablespaces name other folders.
_NUMBER = r"[0-9]{1,10}"
_TREE = re.compile(
    r"PG_VERSION|backup_label"
    rf"|(?:base/{_NUMBER}|global)/(?:{_NUMBER}(?:_(?:fsm|vm|init))?(?:\.{_NUMBER})?)"
    rf"|base/{_NUMBER}/PG_VERSION|(?:base/{_NUMBER}|global)/pg_filenode\.map|global/pg_control"
    r"|(?:pg_xact|pg_multixact/(?:members|offsets)|pg_commit_ts|pg_subtrans|pg_notify|pg_serial)"
    r"/[0-9A-F]{4,16}"
    r"|pg_twophase/[0-9A-F]{8,16}"
    r"|pg_logical/replorigin_checkpoint|pg_stat/pgstat\.stat"
)
_LOG = re.compile(
    r"[0-9A-F]{24}(?:\.partial)?|[0-9A-F]{8}\.history|archive_status/[0-9A-F.history]{8,40}\.(?:done|ready)"
)
_FOLDER = re.compile(rf"[a-z_]{{1,32}}(?:/(?:[a-z_]{{1,32}}|{_NUMBER}))?")


def is_data(name: str, *, folder: bool, wal: bool) -> bool:
    """Return True if a restoration takes this member of an archive. `wal`: True for the archive of the
    write-ahead log, False for the archive of the database's files."""
    if folder:
        return _FOLDER.fullmatch(name) is not None and not name.startswith("pg_tblspc/")
    return (_LOG if wal else _TREE).fullmatch(name) is not None


def check_place(folder: Path) -> None:
    """Raise BackupError if the database has tablespaces elsewhere, which no backup includes."""
    try:
        found = os.listdir(folder / "pg_tblspc")
    except OSError:  # no database, or one of another account: the copy will fail and say so
        return
    if found:
        raise BackupError(
            f"the database has {len(found)} tablespaces of its own, which a backup does not take: move"
            " their tables back (ALTER TABLE ... SET TABLESPACE pg_default) and drop the tablespaces"
        )


def expected_of(manifest: bytes) -> dict[str, tuple[int, str]]:
    """Return the size and SHA-256 of every file of a copied database, from `manifest`, the content of
    PostgreSQL's `backup_manifest`."""
    try:
        listed = msgspec.json.decode(manifest)
        return {each["Path"]: (each["Size"], each["Checksum"]) for each in listed["Files"]}
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise BackupError(f"backup_manifest of the database cannot be read: {error}") from None


def check_member(
    expected: dict[str, tuple[int, str]], member: tarfile.TarInfo, digest: str
) -> None:
    """Remove the file `member` from the expected files. Raises BackupError if the file has another size
    or digest than expected."""
    if expected.pop(member.name.removeprefix("./"), None) != (member.size, digest):
        raise BackupError(
            f"{member.name} of the database differs from what its server sent: make a new backup"
        )


def members(
    reading: HashedReader, *, compressed: bool
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yield the members of an archive. A file comes with its content. The caller must read this content
    before it takes the next member. The iteration can raise BackupError. Both the iteration and the
    reading of a content can raise the errors of `DAMAGE`."""
    stream = cast("IO[bytes]", reading)  # only the stream's `read` is called
    # These archives are several gzip streams in a row; tarfile would read only the first.
    if compressed:
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    with tarfile.open(fileobj=stream, mode="r|", bufsize=PIECE_BYTES) as archive:
        for member in archive:
            if not (member.isfile() or member.isdir()):
                raise BackupError(
                    f"{member.name} of the database is neither a file nor a folder: the backup is damaged"
                )
            yield member, archive.extractfile(member)
