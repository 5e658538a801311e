"""The database part of a backup: the archives of pg_basebackup, and the checksums that the server
stated.

Only data files are taken from an archive, by their names. A backup never holds the configuration of a
server.
"""

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

# The errors that an archive fails with if it was cut off or changed.
DAMAGE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)


# All that a server of version 18 keeps beside its configuration: tables, the states of transactions, and
# where recovery begins. Everything else in an archive is left out: configuration can name programs and
# libraries, and so can the files that make a server a standby or name the places of tablespaces.
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
    """Return True if a restoration takes this member of the database's archive (`wal`: of the archive of
    its log)."""
    if folder:
        return _FOLDER.fullmatch(name) is not None and not name.startswith("pg_tblspc/")
    return (_LOG if wal else _TREE).fullmatch(name) is not None


def check_place(folder: Path) -> None:
    """Raise BackupError if the database in this folder has data in other places: no backup includes
    those."""
    try:
        found = os.listdir(folder / "pg_tblspc")
    except OSError:  # no database, or another account's: the copying after this check reports that
        return
    if found:
        raise BackupError(
            f"the database has {len(found)} tablespaces of its own, which a backup does not take: move"
            " their tables back (ALTER TABLE ... SET TABLESPACE pg_default) and drop the tablespaces"
        )


def expected_of(manifest: bytes) -> dict[str, tuple[int, str]]:
    """Return the size and SHA-256 of every file of a copied database, as the server stated them."""
    try:
        told = msgspec.json.decode(manifest)
        return {each["Path"]: (each["Size"], each["Checksum"]) for each in told["Files"]}
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise BackupError(f"backup_manifest of the database cannot be read: {error}") from None


def check_member(
    expected: dict[str, tuple[int, str]], member: tarfile.TarInfo, digest: str
) -> None:
    """Remove a file from the expected files. Raises BackupError if its content differs."""
    if expected.pop(member.name.removeprefix("./"), None) != (member.size, digest):
        raise BackupError(
            f"{member.name} of the database differs from what its server sent: make a new backup"
        )


def members(
    reading: HashedReader, *, compressed: bool
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Return the members of an archive as they stream by: folders, and files with their content. Read
    each content before you take the next member. Raises BackupError and `DAMAGE`, also while reading."""
    stream = cast("IO[bytes]", reading)  # only the stream's `read` is called
    # These archives are several gzip streams, and tarfile would read only the first one.
    if compressed:
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    with tarfile.open(fileobj=stream, mode="r|", bufsize=PIECE_BYTES) as archive:
        for member in archive:
            if not (member.isfile() or member.isdir()):
                raise BackupError(
                    f"{member.name} of the database is neither a file nor a folder: the backup is damaged"
                )
            yield member, archive.extractfile(member)
