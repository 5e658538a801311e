"""A database as pg_basebackup has copied it: archives, and what its server stated of their files."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import msgspec

from storage.backup_manifest import PIECE_BYTES, BackupError, Reading

# What an archive that was cut off or changed fails with.
DAMAGE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)


def expected_of(manifest: Path) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of every file of a copied database, as its server has stated them."""
    try:
        told = msgspec.json.decode(manifest.read_bytes())
        return {each["Path"]: (each["Size"], each["Checksum"]) for each in told["Files"]}
    except (msgspec.MsgspecError, KeyError, TypeError, OSError) as error:
        raise BackupError(f"{manifest} cannot be read: {error}") from None


def check_member(
    expected: dict[str, tuple[int, str]], member: tarfile.TarInfo, digest: str
) -> None:
    """Take a file off what is expected. Raises BackupError where it is another."""
    if expected.pop(member.name.removeprefix("./"), None) != (member.size, digest):
        raise BackupError(f"{member.name} of the database is not what its server has sent")


def members(
    reading: Reading, *, compressed: bool
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
