"""The making of a backup of an embedded database with its files, while its server runs. The calls block.

pg_basebackup copies the database. The copy has the database's state at the end of the copying. Before
pg_basebackup starts, all contents of files are copied. After it ends, new contents are copied. A content
is stored before its first row, and removed after its last row. So the backup lacks a content of its rows
only if the data folder had lost it, or stored it after the first copying and removed it before the next.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec
import structlog

from storage.backup.database import DAMAGE, check_member, check_place, expected_of, members
from storage.backup.manifest import (
    DATABASE,
    FILES,
    FORMAT,
    MANIFEST,
    SUMS,
    BackupError,
    HashedReader,
    Manifest,
    digest_of,
)
from storage.backup.proof import PROOF, write_proof
from storage.durable import sync_folder
from storage.embedded.server import MAJOR, program
from storage.encryption.key_file import KEY_FILE, KeyFile

log = structlog.get_logger("angarium.storage")

LAST = "last-backup.json"  # in the data folder, for `angarium doctor`
LOCK = "lock"
NAMED = "named"  # in a draft: the list of contents that rows refer to, which can exceed the memory
RESERVE_BYTES = 64 << 20  # that stay free on the target's disk
_PARTIAL = frozenset(
    {DATABASE, FILES, KEY_FILE, SUMS, LOCK, NAMED, PROOF, MANIFEST, f"{MANIFEST}.new"}
)
_PROGRESS = re.compile(rb"(\d+)/(\d+) kB")
_HASH = re.compile(r"[0-9a-f]{64}")
_NAMED = """
    COPY (SELECT DISTINCT environment, encode(sha256, 'hex') FROM files WHERE sha256 IS NOT NULL)
    TO STDOUT"""
_SCHEMA = "SELECT count(*), max(name) FROM schema_migrations"

# Called with the step's name, the bytes done, and the bytes in total (0: not known yet).
Progress = Callable[[str, int, int], None]


class LastBackup(msgspec.Struct, frozen=True, rename="camel"):
    """The record of the last backup in a data folder."""

    ended_at: str
    target: str


class Backup:
    """One backup, of `data_dir` into the new folder `target`."""

    def __init__(
        self,
        data_dir: Path,
        target: Path,
        *,
        master_key: bool = True,
        files_elsewhere: bool = False,
        compress: bool = False,
        keys: Sequence[bytes] = (),
        progress: Progress = lambda step, done, total: None,
    ) -> None:
        """`keys`: the master keys. The first key makes the proof of the backup's origin. If no keys are
        given, the first key in the data folder's key file makes the proof. `master_key`: whether to
        include the keys of the data folder's key file in the backup. `files_elsewhere`: True if the files
        are in an object store; the backup then leaves them out."""
        self._data = data_dir.absolute()
        self._target = target.absolute()
        self._draft = self._target.with_name(f"{self._target.name}.partial")
        self._with_key = master_key
        self._given_keys = list(keys)
        self._elsewhere = files_elsewhere
        self._compress = compress
        self._progress = progress
        self._sums: BinaryIO | None = None
        self._lock = -1
        self._files = self._file_bytes = 0

    def make(self, url: str) -> Manifest:
        """Make the backup from the server at `url`, and return its manifest. Raises BackupError.

        Until the backup is complete and durable, its folder is named `TARGET.partial`.
        """
        self._check()
        try:
            with self._drafting():
                manifest = self._make(url)
        except DAMAGE as error:
            raise BackupError(f"the database's copy is damaged: {error}") from error
        except OSError as error:
            raise BackupError(f"the backup cannot be written: {error}") from error
        self._remember(manifest)
        return manifest

    def _remember(self, manifest: Manifest) -> None:
        """Only log a failure, since the backup is complete."""
        draft = self._data / f"{LAST}.new"
        last = LastBackup(manifest.ended_at, str(self._target))
        try:
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                if os.geteuid() == 0:  # the folder's account must be able to read root's file
                    owner = self._data.stat()
                    os.fchown(descriptor, owner.st_uid, owner.st_gid)
                file.write(msgspec.json.encode(last))
            draft.replace(self._data / LAST)  # the old file can belong to another account
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            log.warning("backup.not_remembered", by="angarium doctor", error=str(error))

    def _make(self, url: str) -> Manifest:
        began = _now()
        count, newest = _query(url, _SCHEMA).strip().split("|")
        key_before = self._keys()
        with (self._draft / SUMS).open("xb") as self._sums:
            if not self._elsewhere:
                self._copy_files("files")
            self._copy_database(url)
            ended = _now()
            missing = 0
            if not self._elsewhere:
                named = self._named(url)
                self._copy_files("new files")
                missing = self._missing(named)
            key = self._keep_keys(key_before)
            size = self._verify_database()
            self._sums.flush()
            os.fsync(self._sums.fileno())
        for folder, _, _ in os.walk(self._draft):
            sync_folder(Path(folder))
        manifest = Manifest(
            format=FORMAT,
            made_at=began,
            ended_at=ended,
            postgres=MAJOR,
            migrations=int(count),
            newest_migration=newest,
            database_bytes=size,
            files=self._files,
            file_bytes=self._file_bytes,
            missing_files=missing,
            files_elsewhere=self._elsewhere,
            master_key=key,
            sums=digest_of(self._draft / SUMS),
        )
        write_proof(self._draft, manifest.text(), self._given_keys or self._folders_keys())
        manifest.write(self._draft)
        return manifest

    # --- the target

    def _check(self) -> None:
        if os.path.lexists(self._target):
            raise BackupError(f"{self._target} exists already: name a new folder")
        if not self._target.parent.is_dir():
            raise BackupError(f"{self._target.parent} is no folder")
        if self._data in self._target.parents:
            raise BackupError(f"{self._target} is in the data folder, whose loss it must survive")
        if not self._given_keys and not self._folders_keys():
            raise BackupError(
                f"{self._data} has no {KEY_FILE}: give the master key as to the server, by"
                " ANGARIUM_MASTER_KEY_FILE. It proves at a restoration that the backup is yours"
            )
        check_place(self._data / "postgres")
        needed = sum(_sizes(self._data / "postgres"))
        if not self._elsewhere:
            needed += sum(_sizes(self._data / FILES))
        free = shutil.disk_usage(self._target.parent).free
        if not self._compress and free < needed + RESERVE_BYTES:
            raise BackupError(
                f"{self._target.parent} has {free >> 20} MiB free, {needed >> 20} MiB are needed"
            )

    @contextmanager
    def _drafting(self) -> Iterator[None]:
        self._begin()
        try:
            yield
            (self._draft / LOCK).unlink()
            self._draft.rename(self._target)
            sync_folder(self._target.parent)
        except BaseException:
            shutil.rmtree(self._draft, ignore_errors=True)
            raise
        finally:
            os.close(self._lock)

    def _begin(self) -> None:
        """Make the draft's folder, and remove that of a killed backup."""
        if self._draft.exists():
            strange = {each.name for each in self._draft.iterdir()} - _PARTIAL
            if strange:
                raise BackupError(f"{self._draft} is in the way: it has {sorted(strange)[0]}")
            os.close(self._locked())
            shutil.rmtree(self._draft)
        self._draft.mkdir(mode=0o700)
        self._lock = self._locked()

    def _locked(self) -> int:
        """Lock the draft folder. pg_basebackup inherits the lock, because it can run for a moment after
        this process has ended."""
        descriptor = os.open(self._draft / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise BackupError(f"another backup to {self._target} is running: wait") from None
        return descriptor

    # --- the backup's parts

    def _part(self, name: str, digest: str) -> None:
        assert self._sums is not None
        self._sums.write(f"{digest}  {name}\n".encode())

    def _copy_database(self, url: str) -> None:
        self._progress("database", 0, 0)
        command = [
            *(str(program("pg_basebackup")), "--dbname", url, "--no-password"),
            *("--pgdata", str(self._draft / DATABASE), "--format=tar", "--wal-method=stream"),
            # A fast checkpoint, because a spread checkpoint would take a quarter of an hour.
            *("--checkpoint=fast", "--manifest-checksums=SHA256", "--label=angarium", "--progress"),
            *(("--compress=client-gzip:1",) if self._compress else ()),
        ]
        process = subprocess.Popen(  # noqa: S603 - PostgreSQL's own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            pass_fds=(self._lock,),
        )
        try:
            said = self._follow(process)
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stderr is not None:
                process.stderr.close()
        if code != 0:
            raise BackupError(f"pg_basebackup failed to copy the database: {said}")

    def _follow(self, process: "subprocess.Popen[bytes]") -> str:
        assert process.stderr is not None
        rest, said = b"", "it said nothing"
        while data := process.stderr.read1(4096):  # type: ignore[attr-defined]  # a BufferedReader
            *lines, rest = re.split(rb"[\r\n]", rest + data)
            for line in filter(None, lines):
                match = _PROGRESS.search(line)
                if match is not None:
                    self._progress("database", int(match[1]) << 10, int(match[2]) << 10)
                else:
                    said = line.decode("utf-8", "replace").strip()
        return said

    def _verify_database(self) -> int:
        folder = self._draft / DATABASE
        manifest = folder / "backup_manifest"
        expected = expected_of(manifest.read_bytes())
        self._part(f"{DATABASE}/backup_manifest", digest_of(manifest))
        size = 0
        for part in sorted(folder.glob("*.tar*")):
            with part.open("rb") as file:
                reading = HashedReader(file)
                for member, content in members(reading, compressed=self._compress):
                    if content is None:
                        continue
                    digest = HashedReader(content)
                    digest.drain()
                    size += member.size
                    self._progress("checking", size, 0)
                    if part.name.startswith("base."):
                        check_member(expected, member, digest.digest)
                reading.drain()
            self._part(f"{DATABASE}/{part.name}", reading.digest)
        if expected:
            raise BackupError(f"the database's copy lacks {min(expected)}")
        return size

    def _copy_files(self, step: str) -> None:
        source = self._data / FILES
        for folder, _, names in os.walk(source):
            place = Path(folder).relative_to(source)
            if len(place.parts) != 2 or not place.parts[0].isdigit():
                continue  # the spool, or an environment's folder itself
            for name in names:
                if _HASH.fullmatch(name):
                    self._copy_file(place / name)
                    self._progress(step, self._file_bytes, 0)

    def _copy_file(self, name: Path) -> None:
        copy = self._draft / FILES / name
        if copy.exists():
            return
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            source = (self._data / FILES / name).open("rb")
        except FileNotFoundError:
            return  # the depot has just removed it: no row has named it for days
        with source, copy.open("xb") as file:
            os.fchmod(file.fileno(), 0o600)
            reading = HashedReader(source)
            while data := reading.read():
                file.write(data)
                self._file_bytes += len(data)
            file.flush()
            os.fsync(file.fileno())
        if reading.digest != name.name:
            log.warning("backup.file_damaged", file=str(name), remedy="damaged before the backup")
        self._files += 1
        self._part(f"{FILES}/{name}", reading.digest)

    def _named(self, url: str) -> Path:
        listed = self._draft / NAMED
        listed.touch(mode=0o600)
        if _query(url, "SELECT to_regclass('files') IS NOT NULL").strip() == "t":
            _query(url, _NAMED, "-o", str(listed))
        return listed

    def _missing(self, named: Path) -> int:
        missing = 0
        with named.open(encoding="ascii") as file:
            for line in file:
                environment, digest = line.split()
                missing += not (self._draft / FILES / environment / digest[:2] / digest).exists()
        named.unlink()
        return missing

    def _keys(self) -> list[bytes]:
        return self._folders_keys() if self._with_key else []

    def _folders_keys(self) -> list[bytes]:
        file = KeyFile(self._data / KEY_FILE)
        return file.read() if file.path.exists() else []

    def _keep_keys(self, before: list[bytes]) -> bool:
        """Write the keys from before the database's copy, and the keys from after it: a rotation of keys
        can happen during the copy."""
        keys = list(dict.fromkeys([*self._keys(), *before]))
        if not keys:
            return False
        kept = KeyFile(self._draft / KEY_FILE)
        kept.write(keys)
        self._part(KEY_FILE, digest_of(kept.path))
        return True


def read_last(data_dir: Path) -> LastBackup | None:
    """Return a data folder's record of its last backup, None if it is missing or unreadable."""
    try:
        return msgspec.json.decode((data_dir / LAST).read_bytes(), type=LastBackup)
    except (OSError, msgspec.MsgspecError):
        return None


def _query(url: str, statement: str, *options: str) -> str:
    command = [str(program("psql")), "-XAtq", "--no-password", *options, "--dbname", url]
    command += ["-c", statement]
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        command, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        raise BackupError(f"cannot reach the database: {done.stderr.strip()}")
    return done.stdout


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(place, name)).st_size
            except FileNotFoundError:  # removed meanwhile by the running server
                continue


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
