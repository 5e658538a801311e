"""The trust in a backup: only a MAC under the master key proves its origin. PostgreSQL's configuration is
never taken from a backup, because it could make the restored server run an attacker's commands."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.cli import main
from storage.backup.database import is_data
from storage.backup.manifest import MANIFEST, SUMS, BackupError, digest_of
from storage.backup.proof import PROOF
from storage.backup.restoring import Restore
from storage.embedded.server import EmbeddedServer
from storage.embedded.tuning import CONFIGURATION, MAIN_FILE
from storage.encryption.key_file import KEY_FILE, KeyFile, new_key
from tests.backup.conftest import Installation

STATED = "database/backup_manifest"


def replaced(path: Path, content: bytes) -> None:
    path.unlink()  # the backup itself has a hard link to it
    path.write_bytes(content)


def forged(copy: Path, files: dict[str, bytes]) -> None:
    """Add files to the database's archive and update every SHA-256, as an attacker with write access
    can."""
    path = copy / "database/base.tar"
    made = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=made, mode="w") as new:
        for member in old:
            if member.name not in files:
                new.addfile(member, old.extractfile(member))
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    replaced(path, made.getvalue())
    told = json.loads((copy / STATED).read_bytes())
    told["Files"] = [each for each in told["Files"] if each["Path"] not in files] + [
        {"Path": name, "Size": len(content), "Checksum": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    ]
    replaced(copy / STATED, json.dumps(told).encode())
    parts = [line.split("  ")[1] for line in (copy / SUMS).read_text().splitlines()]
    sums = "".join(f"{digest_of(copy / part)}  {part}\n" for part in parts)
    replaced(copy / SUMS, sums.encode())
    manifest = {**json.loads((copy / MANIFEST).read_text()), "sums": digest_of(copy / SUMS)}
    replaced(copy / MANIFEST, json.dumps(manifest).encode())


def hostile(trace: Path) -> dict[str, bytes]:
    command = f"touch {trace}"
    settings = (
        f"archive_mode = on\narchive_command = '{command}'\nrestore_command = '{command}'\n"
        f"recovery_end_command = '{command}'\narchive_cleanup_command = '{command}'\n"
        f"shared_preload_libraries = '{trace}'\nssl_passphrase_command = '{command}'\n"
        "listen_addresses = '*'\n"
    ).encode()
    return {
        "postgresql.conf": settings,
        "postgresql.auto.conf": settings,
        "angarium.conf": settings,
        "pg_hba.conf": b"host all all 0.0.0.0/0 trust\n",
        "pg_ident.conf": b"m /^(.*)$ postgres\n",
        "recovery.signal": b"",
        "standby.signal": b"",
        "tablespace_map": f"16384 {trace}\n".encode(),
        "more.conf": settings,
        "pg_tblspc/16384/evil": b"x",
        "pg_wal/evil": b"x",
        "base/evil.so": b"\x7fELF",
    }


def test_configuration_is_never_taken_from_a_backup(
    there: Installation, copy: Path, place: Path
) -> None:
    trace = place / "trace"
    forged(copy, hostile(trace))
    with pytest.raises(BackupError, match="is not what was written"):
        Restore(copy, place / "refused", key_file=there.folder / KEY_FILE).run()
    Restore(copy, place / "data", unauthenticated=True).run()
    cluster = place / "data" / "postgres"
    assert {name: (cluster / name).read_text() for name in CONFIGURATION} == CONFIGURATION
    left = {name for name in hostile(trace) if (cluster / name).exists()}
    assert left == set(CONFIGURATION)
    with EmbeddedServer(place / "data", durable=False) as server:
        running = Installation(place / "data", server.url)
        assert running.sql("SELECT sum(n) FROM kept") == "500500"
        assert running.sql("SHOW archive_command") == "(disabled)"
        assert running.sql("SHOW shared_preload_libraries") == ""
        assert running.sql("SHOW listen_addresses") == ""
        running.sql("SELECT pg_switch_wal()")
    assert not trace.exists()
    assert (cluster / "postgresql.conf").read_text() == MAIN_FILE


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("PG_VERSION", True),
        ("base/5/1259_vm", True),
        ("base/5/16384_init", True),
        ("base/5/16384.12", True),
        ("global/pg_control", True),
        ("pg_multixact/offsets/0000", True),
        ("pg_xact/0000", True),
        ("backup_label", True),
        ("backup_label.conf", False),
        ("base/5/lib.so", False),
        ("base/5/../../postgresql.conf", False),
        ("postgresql.conf", False),
        ("conf.d/a.conf", False),
        ("global/1259\n", False),
        ("pg_wal/000000010000000000000001", False),
    ],
)
def test_only_what_is_data_by_its_name_is_taken(name: str, taken: bool) -> None:
    assert is_data(name, folder=False, wal=False) is taken


def unproved(copy: Path) -> None:
    (copy / PROOF).unlink()


def changed(copy: Path) -> None:
    forged(copy, {"base/1/PG_VERSION": b"18\n"})


def garbled(copy: Path) -> None:
    replaced(copy / PROOF, b"proof\n")


@pytest.mark.parametrize(
    ("tamper", "said"),
    [(unproved, "has no manifest.hmac"), (changed, "is not what was"), (garbled, "is damaged")],
)
def test_a_backup_that_no_key_proves_is_refused_before_it_is_read(
    there: Installation, copy: Path, place: Path, tamper: Callable[[Path], None], said: str
) -> None:
    tamper(copy)
    with pytest.raises(BackupError, match=said) as refused:
        Restore(copy, place / "data", key_file=there.folder / KEY_FILE).run()
    assert "--unauthenticated" in str(refused.value)
    assert not (place / "data").exists()
    Restore(copy, place / "data", unauthenticated=True).run()


def test_the_key_within_a_backup_proves_nothing(
    there: Installation, backup: Path, place: Path
) -> None:
    """An attacker who changes a backup can change the key in it as well."""
    with pytest.raises(BackupError, match="proves nothing"):
        Restore(backup, place / "data").run()
    (place / "link").symlink_to(backup)
    for folder in (backup, place / "link"):
        with pytest.raises(BackupError, match="is the key in the backup itself"):
            Restore(backup, place / "data", key_file=folder / KEY_FILE).run()
    arguments = ["restore", str(backup), "--data-dir", str(place / "data")]
    arguments += ["--master-key-file", str(backup / KEY_FILE)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 1
    assert "is the key in the backup itself" in done.output
    assert not (place / "data").exists()
    with pytest.raises(BackupError, match="is not among those given"):
        Restore(backup, place / "data", keys=[new_key()]).run()
    keys = KeyFile(there.folder / KEY_FILE).read()
    Restore(backup, place / "data", keys=[new_key(), *keys]).run()
