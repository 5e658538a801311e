"""A database as pg_basebackup has copied it: archives, and what its server stated of their files.

Of an archive only data are taken, by their names. How a server is to run is never in a backup.
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

# What an archive that was cut off or changed fails with.
DAMAGE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)


# All that a server of version 18 keeps beside its configuration: tables, the states of transactions, and
# where recovery begins. Whatever else is in an archive is left out: configuration can name programs and
# libraries, and so can what tells a server that it is a standby, or where tablespaces are.
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
    """Whether a member of the database's archive, or of its log's, is one that a restoration takes."""
    if folder:
        return _FOLDER.fullmatch(name) is not None and not name.startswith("pg_tblspc/")
    return (_LOG if wal else _TREE).fullmatch(name) is not None


def check_place(folder: Path) -> None:
    """Raise BackupError where a database in this folder has data elsewhere, which no backup takes."""
    try:
        found = os.listdir(folder / "pg_tblspc")
    except OSError:  # no database, or another account's: whoever copies it says so
        return
    if found:
        raise BackupError(
            f"the database has {len(found)} tablespaces of its own, which a backup does not take: move"
            " their tables back (ALTER TABLE ... SET TABLESPACE pg_default) and drop the tablespaces"
        )


def expected_of(manifest: bytes) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of every file of a copied database, as its server has stated them."""
    try:
        told = msgspec.json.decode(manifest)
        return {each["Path"]: (each["Size"], each["Checksum"]) for each in told["Files"]}
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise BackupError(f"backup_manifest of the database cannot be read: {error}") from None


def check_member(
    expected: dict[str, tuple[int, str]], member: tarfile.TarInfo, digest: str
) -> None:
    """Take a file off what is expected. Raises BackupError where it is another."""
    if expected.pop(member.name.removeprefix("./"), None) != (member.size, digest):
        raise BackupError(f"{member.name} of the database is not what its server has sent")


def members(
    reading: HashedReader, *, compressed: bool
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Return the members of an archive as they stream by: files with their content, which is to be read
    before the next, and folders. Raises BackupError, and `DAMAGE`, as does reading what it returns."""
    stream = cast("IO[bytes]", reading)  # its `read` is all that is asked of a stream
    if (
        compressed
    ):  # tarfile's own reading ends at the first of several streams, of which these are made
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    with tarfile.open(fileobj=stream, mode="r|", bufsize=PIECE_BYTES) as archive:
        for member in archive:
            if not (member.isfile() or member.isdir()):
                raise BackupError(f"{member.name} of the database is neither file nor folder")
            yield member, archive.extractfile(member)
