"""The restoration of a backup into an empty data folder. Each part is checked as it is read. The calls
block.

The restoration builds everything in a draft folder inside the data folder, and moves the draft's content
into place at the end. While the draft folder exists, no server starts on the data folder.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from storage.backup.database import DAMAGE, check_member, expected_of, is_data, members
from storage.backup.manifest import (
    DATABASE,
    FILES,
    PIECE_BYTES,
    BackupError,
    HashedReader,
    Manifest,
    check_sums,
    parts_of,
    read_manifest,
)
from storage.backup.proof import check_proof, require_elsewhere
from storage.durable import sync_folder
from storage.embedded.account import account_for
from storage.embedded.server import HOLD, MAJOR, RESTORING, EmbeddedServer
from storage.embedded.tuning import CONFIGURATION
from storage.encryption.key_file import KEY_FILE, KeyFile
from storage.encryption.secretbox import SecretBoxError
from storage.migrations.migrate import known_migrations

log = structlog.get_logger("angarium.storage")

RESERVE_BYTES = 64 << 20  # that stay free on the data folder's disk
_POSTGRES = "postgres"
_HELD = """\
This folder was restored as a copy: a server on it accepts and shows everything, but delivers nothing.
To let the server deliver, remove this file and start the server again.
"""
# The content of the key file if the backup has no master key and no `key_file` is given. This text is no
# key, and a server does not start with it. Without any key file, a server would start and make a new key,
# which decrypts none of the secrets.
_NO_KEY = """\
# The backup had no master key. Replace this text with the master key of the server that was backed up.
# (Or give it to the server by ANGARIUM_MASTER_KEY.) Without this key, the database's secrets are lost.
"""
STATED = f"{DATABASE}/backup_manifest"
# The members that a restoration leaves out without a warning, because every archive has them.
LEFT_OUT = {*CONFIGURATION, "tablespace_map", ".s.PGSQL.5432.lock"}
_OURS = frozenset({"lock"})

Progress = Callable[[str, int, int], None]


class Restore:
    """One restoration, of the backup in `source` into `data_dir`."""

    def __init__(
        self,
        source: Path,
        data_dir: Path,
        *,
        hold: bool = False,
        key_file: Path | None = None,
        keys: Sequence[bytes] = (),
        unauthenticated: bool = False,
        progress: Progress = lambda step, done, total: None,
    ) -> None:
        """`key_file`: a file with master keys. If the backup has no keys, this file is copied into the
        data folder. `keys`: further master keys. `unauthenticated`: restore the backup without a check
        of the proof of its origin. Otherwise the proof must be made with a key from `key_file` or `keys`.
        `hold`: a server on the data folder delivers nothing until its operator allows it.
        """
        self._source = source.absolute()
        self._data = data_dir.absolute()
        self._draft = self._data / RESTORING
        self._hold = hold
        self._key_file = key_file
        self._keys = list(keys)
        self._unauthenticated = unauthenticated
        self._progress = progress
        self._stated = b""
        self._expected: dict[str, tuple[int, str]] = {}
        self._total = self._done = 0

    def run(self) -> Manifest:
        """Restore everything; return the manifest. Raises BackupError, EmbeddedError.

        After any interruption, run the restoration again: it begins from the start.
        """
        manifest, text = read_manifest(self._source)
        if self._key_file is not None and not self._key_file.is_file():
            raise BackupError(f"{self._key_file} is no file")
        if not self._unauthenticated:
            if self._key_file is not None:
                require_elsewhere(self._key_file, self._source)
            check_proof(self._source, text, self._known_keys())
        check_sums(self._source, manifest.sums)
        self._suits(manifest)
        place = EmbeddedServer(self._data)
        place.claim()
        try:
            self._begin(manifest)
            try:
                self._unpack(manifest)
            except BaseException:
                shutil.rmtree(self._draft, ignore_errors=True)
                raise
            self._finish()
        except DAMAGE as error:
            raise BackupError(f"the database's copy is damaged: {error}") from error
        except OSError as error:
            raise BackupError(f"the backup cannot be restored: {error}") from error
        finally:
            place.stop()
        return manifest

    def _known_keys(self) -> list[bytes]:
        try:
            return self._keys + ([] if self._key_file is None else KeyFile(self._key_file).read())
        except SecretBoxError as error:
            raise BackupError(str(error)) from None

    def _suits(self, manifest: Manifest) -> None:
        if manifest.postgres != MAJOR:
            raise BackupError(
                f"the backup is of PostgreSQL {manifest.postgres}, this Angarium brings {MAJOR}:"
                " restore it with the Angarium that made it (docs/upgrading.md)"
            )
        if manifest.migrations > len(known_migrations()):
            raise BackupError(
                "the backup is of a newer Angarium than this program: it has"
                f" {manifest.newest_migration}"
            )

    def _begin(self, manifest: Manifest) -> None:
        """Mark the empty data folder: from now on no server starts there."""
        present = {each.name for each in self._data.iterdir()}
        if RESTORING in present:
            # Remove the content: an unfinished restoration made it, in a folder that was empty before.
            for name in (_POSTGRES, FILES):
                shutil.rmtree(self._data / name, ignore_errors=True)
            for name in (KEY_FILE, HOLD):
                (self._data / name).unlink(missing_ok=True)
            shutil.rmtree(self._draft)
            present = {each.name for each in self._data.iterdir()}
        strange = sorted(present - _OURS)
        if strange:
            raise BackupError(
                f"{self._data} is not empty: it has {strange[0]}. Name a new folder with --data-dir"
            )
        self._total = manifest.database_bytes + manifest.file_bytes
        free = shutil.disk_usage(self._data).free
        if free < self._total + RESERVE_BYTES:
            raise BackupError(
                f"{self._data} has {free >> 20} MiB free, and the restoration needs"
                f" {self._total >> 20} MiB: make room"
            )
        self._draft.mkdir(mode=0o700)
        sync_folder(self._data)

    def _unpack(self, manifest: Manifest) -> None:
        (self._draft / FILES).mkdir(mode=0o700)
        (self._draft / _POSTGRES).mkdir(mode=0o700)
        try:  # read once, so that the checked bytes are the used bytes
            self._stated = (self._source / STATED).read_bytes()
        except OSError as error:
            raise BackupError(f"{self._source / STATED} cannot be read: {error}") from None
        self._expected = expected_of(self._stated)
        for name, digest in parts_of(self._source, manifest.sums):
            try:
                found = self._take(name)
            except FileNotFoundError:
                raise BackupError(f"{self._source / name} is missing") from None
            if found != digest:
                raise BackupError(
                    f"{self._source / name} is damaged: its content differs from the manifest"
                )
        if self._expected:
            raise BackupError(f"the database's copy lacks {min(self._expected)}")
        for name, content in CONFIGURATION.items():
            _write(self._draft / _POSTGRES / name, content.encode())
        if not manifest.master_key:
            self._bring_key()
        if self._hold:
            _write(self._draft / HOLD, _HELD.encode())
        # Make the names in all folders durable, the inner folders first.
        for folder, _, _ in os.walk(self._draft, topdown=False):
            sync_folder(Path(folder))

    def _take(self, name: str) -> str:
        if name == STATED:
            return hashlib.sha256(self._stated).hexdigest()
        part = self._source / name
        with part.open("rb") as file:
            reading = HashedReader(file)
            if name.startswith(f"{FILES}/") or name == KEY_FILE:
                target = self._draft / name
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._copy(reading, target)
            elif ".tar" in name:
                self._extract(reading, part.name)
            reading.drain()
        return reading.digest

    def _extract(self, reading: HashedReader, archive: str) -> None:
        wal = archive.startswith("pg_wal")
        place = self._draft / _POSTGRES / ("pg_wal" if wal else "")
        for member, content in members(reading, compressed=archive.endswith(".gz")):
            parts = Path(member.name).parts
            if Path(member.name).is_absolute() or ".." in parts:
                raise BackupError(
                    f"the database's copy has a path outside its folder: {member.name!r}"
                )
            target = place.joinpath(*parts)
            name = "/".join(parts)
            taken = is_data(name, folder=content is None, wal=wal)
            if content is None:
                if taken:
                    target.mkdir(mode=0o700, parents=True, exist_ok=True)
                continue
            checked = HashedReader(content)
            if taken:
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._copy(checked, target)
            else:
                checked.drain()
                self._done += member.size
                if name not in LEFT_OUT:
                    log.warning("restore.file_left_out", file=member.name)
            if not wal:
                check_member(self._expected, member, checked.digest)

    def _copy(self, reading: HashedReader, target: Path) -> None:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            while data := reading.read(PIECE_BYTES):
                file.write(data)
                self._done += len(data)
            file.flush()
            os.fsync(file.fileno())
        self._progress("restoring", self._done, self._total)

    def _bring_key(self) -> None:
        given = _NO_KEY.encode() if self._key_file is None else self._key_file.read_bytes()
        _write(self._draft / KEY_FILE, given)

    def _finish(self) -> None:
        """Move everything into place, and remove the mark of an unfinished restoration last."""
        account_for(self._data / _POSTGRES).own(self._draft / _POSTGRES)
        for name in (FILES, KEY_FILE, HOLD, _POSTGRES):
            if (self._draft / name).exists():
                (self._draft / name).rename(self._data / name)
        sync_folder(self._data)
        self._draft.rmdir()
        sync_folder(self._data)


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
