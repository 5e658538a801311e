"""The creation of a backup: it is complete, checked and private. A refusal, a full disk or a kill
leaves no backup."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.backup import making as backups
from storage.backup.making import Backup, read_last
from storage.backup.manifest import SUMS, BackupError, digest_of, parts_of, read_manifest
from storage.embedded.server import program
from storage.encryption.key_file import KEY_FILE, KeyFile, new_key
from tests.backup.conftest import CONTENT, PLACE, Installation
from tests.process.house import until

ROOT = Path(__file__).parents[2]


def test_it_has_all_parts_and_their_hashes_and_nobody_else_may_read_it(
    there: Installation, backup: Path
) -> None:
    manifest, _ = read_manifest(backup)
    assert (manifest.files, manifest.file_bytes, manifest.missing_files) == (1, len(CONTENT), 0)
    assert (manifest.migrations, manifest.newest_migration) == (1, "0001_delivery.sql")
    assert manifest.database_bytes > 1 << 20
    assert manifest.made_at <= manifest.ended_at
    assert {name for name, _ in parts_of(backup, manifest.sums)} == {
        "database/backup_manifest",
        "database/base.tar",
        "database/pg_wal.tar",
        "master.key",
        f"files/{PLACE}",
    }
    # A shell's standard tools are enough to check it.
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=backup, check=True)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o700
    assert stat.S_IMODE((backup / KEY_FILE).stat().st_mode) == 0o600
    assert (backup / KEY_FILE).read_bytes() == (there.folder / KEY_FILE).read_bytes()
    last = read_last(there.folder)
    assert last is not None
    assert last.target
    assert stat.S_IMODE((there.folder / backups.LAST).stat().st_mode) == 0o600


def test_the_key_is_left_out_where_asked_and_what_is_in_a_store_is_said_to_be(
    there: Installation, place: Path
) -> None:
    told: list[str] = []
    manifest = Backup(
        there.folder,
        place / "b",
        master_key=False,
        files_elsewhere=True,
        compress=True,
        progress=lambda step, done, total: told.append(step),
    ).make(there.url)
    assert (manifest.master_key, manifest.files_elsewhere, manifest.files) == (False, True, 0)
    assert {name for name, _ in parts_of(place / "b", digest_of(place / "b" / SUMS))} == {
        "database/backup_manifest",
        "database/base.tar.gz",
        "database/pg_wal.tar.gz",
    }
    assert list(dict.fromkeys(told)) == ["database", "checking"]


def test_a_key_that_was_rotated_meanwhile_is_kept_beside_the_new_one(
    there: Installation, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = place / "data"
    data.mkdir()
    file = KeyFile(data / KEY_FILE)
    old, new = new_key(), new_key()
    file.write([old])

    def rotated(self: Backup, url: str) -> None:
        file.write([new])
        copied(self, url)

    copied = Backup._copy_database
    monkeypatch.setattr(Backup, "_copy_database", rotated)
    assert Backup(data, place / "b", files_elsewhere=True).make(there.url).master_key
    assert KeyFile(place / "b" / KEY_FILE).read() == [new, old]


def test_content_that_is_gone_or_damaged_before_is_told_and_does_not_stop_it(
    there: Installation, place: Path
) -> None:
    data = place / "data"
    (data / "files" / PLACE).parent.mkdir(parents=True)
    assert Backup(data, place / "gone", keys=[new_key()]).make(there.url).missing_files == 1
    (data / "files" / PLACE).write_bytes(b"something else")
    damaged = Backup(data, place / "damaged", keys=[new_key()]).make(there.url)
    assert (damaged.missing_files, damaged.files) == (0, 1)


def test_what_is_written_while_the_database_is_copied_is_in_it(
    there: Installation, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first scan of the folder, a new file can be written. If its row is written before the
    database is copied, the backup has the row. So the backup must have the file too."""
    data = place / "data"
    content = data / "files" / PLACE

    def meanwhile(self: Backup, url: str) -> None:
        content.parent.mkdir(parents=True)
        content.write_bytes(CONTENT)
        copied(self, url)

    copied = Backup._copy_database
    monkeypatch.setattr(Backup, "_copy_database", meanwhile)
    manifest = Backup(data, place / "b", keys=[new_key()]).make(there.url)
    assert (manifest.files, manifest.missing_files) == (1, 0)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("b", "exists already"),
        ("nowhere/b", "is no folder"),
        ("data/b", "in the data folder"),
    ],
)
def test_a_wrong_place_is_refused(there: Installation, place: Path, target: str, said: str) -> None:
    (place / "b").mkdir()
    (place / "data").mkdir()
    with pytest.raises(BackupError, match=said):
        Backup(place / "data", place / target).make(there.url)
    assert sorted(each.name for each in place.iterdir()) == ["b", "data"]


def test_a_database_with_a_tablespace_is_refused_before_it_is_copied(
    there: Installation, place: Path
) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    owner = (there.folder / "postgres").stat()
    os.chown(elsewhere, owner.st_uid, owner.st_gid)
    there.sql(f"CREATE TABLESPACE more LOCATION '{elsewhere}'")
    try:
        with pytest.raises(BackupError, match=r"1 tablespaces of its own.*SET TABLESPACE"):
            Backup(there.folder, place / "b").make(there.url)
    finally:
        there.sql("DROP TABLESPACE more")
    assert list(place.iterdir()) == [elsewhere]


def test_without_room_nothing_is_begun(
    there: Installation, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(place)._replace(free=1 << 20)
    monkeypatch.setattr(backups.shutil, "disk_usage", lambda _: usage)  # type: ignore[attr-defined]  # the module's own
    with pytest.raises(BackupError, match="1 MiB free"):
        Backup(there.folder, place / "b").make(there.url)
    assert list(place.iterdir()) == []


SENDERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender'"


@contextmanager
def replicating(url: str) -> Iterator[None]:
    command = [str(program("psql")), "-XAtq", "--dbname", f"{url}&replication=true"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"IDENTIFY_SYSTEM;\n")
        process.stdin.flush()
        assert process.stdout.readline()
        yield
        process.stdin.close()


def test_what_the_server_refuses_is_said_and_leaves_nothing(
    there: Installation, place: Path
) -> None:
    backup = Backup(there.folder, place / "b")
    refused = pytest.raises(BackupError, match=r"failed to copy.*max_wal_senders")
    with replicating(there.url), replicating(there.url), refused:  # the maximum number of standbys
        backup.make(there.url)
    until(lambda: there.sql(SENDERS) == "0", "the server has given their places back")
    with pytest.raises(BackupError, match="cannot reach the database"):
        Backup(there.folder, place / "b").make(there.url.replace("5432", "5433"))
    assert list(place.iterdir()) == []


def test_a_copy_that_is_not_what_the_server_sent_is_no_backup(
    there: Installation, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaging(self: Backup, url: str) -> None:
        copied(self, url)
        archive = place / "b.partial" / "database" / "base.tar"
        with tarfile.open(archive) as opened:
            member = next(each for each in opened if each.size > 100_000)
        with archive.open("r+b") as file:
            file.seek(member.offset_data + 50_000)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 1]))

    copied = Backup._copy_database
    monkeypatch.setattr(Backup, "_copy_database", damaging)
    with pytest.raises(BackupError, match="differs from what its server sent"):
        Backup(there.folder, place / "b").make(there.url)
    assert list(place.iterdir()) == []


# The backup is killed in the step `database`, in the step `checking`, before the manifest gets its final
# name, or before the whole backup gets its final name.
@pytest.mark.parametrize("step", ["database ", "checking ", "manifest.json.new", "b.partial"])
def test_killed_at_any_step_it_is_not_there_and_the_next_one_takes_its_place(
    there: Installation, place: Path, step: str
) -> None:
    command = [sys.executable, "-m", "tests.backup.killing", step, "backup"]
    arguments = [str(there.folder), str(place / "b"), there.url]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [each.name for each in place.iterdir()] == ["b.partial"]
    with pytest.raises(BackupError):
        read_manifest(place / "b")
    if step == "b.partial":  # the other steps leave the same kind of remains
        assert Backup(there.folder, place / "b").make(there.url).files == 1
        assert [each.name for each in place.iterdir()] == ["b"]


def test_of_two_at_once_one_is_refused_and_strange_things_are_left_alone(
    there: Installation, place: Path
) -> None:
    tried: list[str] = []

    def second(step: str, done: int, total: int) -> None:
        if step not in tried:
            tried.append(step)
            with pytest.raises(BackupError, match="is running"):
                Backup(there.folder, place / "b").make(there.url)

    Backup(there.folder, place / "b", progress=second).make(there.url)
    (place / "c.partial").mkdir()
    (place / "c.partial" / "thesis.txt").write_text("do not touch")
    with pytest.raises(BackupError, match=r"in the way.*thesis\.txt"):
        Backup(there.folder, place / "c").make(there.url)
    assert (place / "c.partial" / "thesis.txt").exists()


def test_a_memory_of_a_backup_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read_last(tmp_path) is None
    (tmp_path / backups.LAST).write_text(json.dumps({"endedAt": 3}))
    assert read_last(tmp_path) is None


def test_a_backup_is_there_though_the_data_folder_cannot_remember_it(
    there: Installation, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there.folder / "folder").mkdir()
    monkeypatch.setattr(backups, "LAST", "folder")  # a file cannot replace a folder
    Backup(there.folder, place / "b", files_elsewhere=True).make(there.url)
    assert read_manifest(place / "b")[0].files == 0
    assert read_last(there.folder) is None
    assert not (there.folder / "folder.new").exists()
    (there.folder / "folder").rmdir()
