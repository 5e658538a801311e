"""The restoration of a data folder: complete or not at all, and never from a damaged backup."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.backup import restoring as restores
from storage.backup.making import Backup
from storage.backup.manifest import MANIFEST, SUMS, BackupError, digest_of
from storage.backup.restoring import Restore
from storage.embedded.server import HOLD, DataDirBusyError, EmbeddedError, EmbeddedServer
from storage.encryption.key_file import KEY_FILE, KeyFile, open_secret_box
from storage.encryption.secretbox import SecretBoxError
from tests.backup.conftest import CONTENT, PLACE, Installation

ROOT = Path(__file__).parents[2]


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def opened(folder: Path) -> int:
    with EmbeddedServer(folder, durable=False) as server:
        return int(Installation(folder, server.url).sql("SELECT sum(n) FROM kept"))


def test_what_was_restored_is_what_was_there(
    there: Installation, backup: Path, place: Path
) -> None:
    told: list[tuple[int, int]] = []
    data = place / "data"
    data.mkdir()  # an empty folder can exist already, such as a volume
    restore = Restore(
        backup,
        data,
        key_file=there.folder / KEY_FILE,
        progress=lambda step, done, total: told.append((done, total)),
    )
    restore.run()
    assert names(data) == ["files", "lock", "master.key", "postgres"]
    assert (data / "files" / PLACE).read_bytes() == CONTENT
    assert KeyFile(data / KEY_FILE).read() == KeyFile(there.folder / KEY_FILE).read()
    assert opened(data) == 500_500
    assert told[-1][0] >= told[-1][1]
    with pytest.raises(BackupError, match="not empty: it has files"):
        Restore(backup, data, unauthenticated=True).run()


def test_a_compressed_one_without_a_key_starts_no_server_until_it_has_one(
    there: Installation, place: Path
) -> None:
    """The restored folder has no master key. If a server made a new key there, it could not decrypt the
    data, so no server starts."""
    source = place / "b"
    Backup(there.folder, source, master_key=False, compress=True).make(there.url)
    keys = KeyFile(there.folder / KEY_FILE).read()
    Restore(source, place / "data", hold=True, keys=keys).run()
    assert "deliver" in (place / "data" / HOLD).read_text()
    with pytest.raises(SecretBoxError, match=r"master\.key"):
        open_secret_box(None, place / "data", own_database=False)
    key = there.folder / KEY_FILE
    with pytest.raises(BackupError, match="no file"):
        Restore(source, place / "more", key_file=place / "none").run()
    Restore(source, place / "more", key_file=key).run()
    box = open_secret_box(None, place / "more", own_database=False)
    assert box.ids == open_secret_box(None, there.folder, own_database=False).ids


def replaced(path: Path, content: bytes) -> None:
    path.unlink()  # the backup has a hard link to the content
    path.write_bytes(content)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    replaced(path, bytes(content))


def with_manifest(copy: Path, **changes: object) -> None:
    told = json.loads((copy / MANIFEST).read_text())
    replaced(copy / MANIFEST, json.dumps({**told, **changes}).encode())


def with_sums(copy: Path, line: str) -> None:
    """Add a line to the list of hashes and update the manifest, as an attacker who knows the format
    can."""
    replaced(copy / SUMS, (copy / SUMS).read_bytes() + line.encode())
    with_manifest(copy, sums=digest_of(copy / SUMS))


TAMPERING: dict[str, tuple[Callable[[Path], None], str]] = {
    "database": (lambda copy: flipped(copy / "database/base.tar"), "damaged|differs from what"),
    "log": (lambda copy: flipped(copy / "database/pg_wal.tar"), "damaged"),
    "cut off": (
        lambda copy: replaced(
            copy / "database/base.tar", (copy / "database/base.tar").read_bytes()[:3_000_000]
        ),
        "damaged",
    ),
    "stated": (lambda copy: flipped(copy / "database/backup_manifest"), "differs|cannot be read"),
    "stated by none": (
        lambda copy: (copy / "database/backup_manifest").unlink(),
        "cannot be read",
    ),
    "file": (lambda copy: flipped(copy / "files" / PLACE), "damaged"),
    "file gone": (lambda copy: (copy / "files" / PLACE).unlink(), "is missing"),
    "key": (lambda copy: flipped(copy / KEY_FILE), "damaged"),
    "sums": (lambda copy: flipped(copy / SUMS), "was changed after it was written"),
    "sums gone": (lambda copy: (copy / SUMS).unlink(), "is missing"),
    "manifest": (lambda copy: replaced(copy / MANIFEST, b"{"), "is damaged"),
    "manifest gone": (lambda copy: (copy / MANIFEST).unlink(), "never finished"),
    "way out": (
        lambda copy: with_sums(copy, f"{'0' * 64}  files/../../../etc/passwd\n"),
        "has a line that no backup has",
    ),
    "other format": (lambda copy: with_manifest(copy, format=2), "of format 2"),
    "other PostgreSQL": (lambda copy: with_manifest(copy, postgres="17"), "PostgreSQL 17"),
    "newer": (lambda copy: with_manifest(copy, migrations=9_999), "newer Angarium"),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_what_is_damaged_or_does_not_suit_is_refused_and_leaves_nothing(
    copy: Path, place: Path, what: str
) -> None:
    tamper, said = TAMPERING[what]
    tamper(copy)
    with pytest.raises(BackupError, match=said):
        Restore(copy, place / "data", unauthenticated=True).run()
    if (place / "data").exists():
        assert set(names(place / "data")) <= {"lock"}


def test_a_folder_in_use_or_without_room_is_refused(
    there: Installation, backup: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("do not touch")
    with pytest.raises(BackupError, match="not empty"):
        Restore(backup, place / "mine", unauthenticated=True).run()
    with pytest.raises(BackupError, match="is no folder"):
        Restore(place / "none", place / "data").run()
    holder = EmbeddedServer(place / "held")
    holder.claim()
    try:
        with pytest.raises(DataDirBusyError):
            Restore(backup, place / "held", unauthenticated=True).run()
    finally:
        holder.stop()
    usage = shutil.disk_usage(place)._replace(free=1 << 20)
    monkeypatch.setattr(restores.shutil, "disk_usage", lambda _: usage)  # type: ignore[attr-defined]  # the module's own
    with pytest.raises(BackupError, match="1 MiB free"):
        Restore(backup, place / "data", unauthenticated=True).run()


# The restoration is killed at one of four steps. The step "restoring " (with a blank) is a report of its
# progress while it reads the backup. At the other steps, it is about to rename `master.key` or
# `postgres`, or to remove the folder `restoring`.
@pytest.mark.parametrize("step", ["restoring ", "master.key", "postgres", "restoring"])
def test_killed_at_any_step_no_server_starts_on_it_and_it_is_run_again(
    backup: Path, place: Path, step: str
) -> None:
    data = place / "data"
    command = [sys.executable, "-m", "tests.backup.killing", step, "restore"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}"}
    done = subprocess.run(
        [*command, str(backup), str(data)], cwd=ROOT, env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(EmbeddedError, match="run `angarium restore` again"):
        EmbeddedServer(data).start()
    Restore(backup, data, unauthenticated=True).run()
    assert names(data) == ["files", "lock", "master.key", "postgres"]
    if step == "postgres":
        assert opened(data) == 500_500
