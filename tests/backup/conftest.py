"""A server's data folder (a small embedded database, a file, a master key), and a backup of it."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage.backup.making import Backup
from storage.embedded.postmaster import read_postmaster
from storage.embedded.server import EmbeddedServer, program
from storage.encryption.key_file import KEY_FILE, KeyFile

CONTENT = b"what a file holds" * 1000
HASH = hashlib.sha256(CONTENT).hexdigest()
PLACE = f"7/{HASH[:2]}/{HASH}"
TABLES = f"""
    CREATE TABLE schema_migrations (number int, name text);
    INSERT INTO schema_migrations VALUES (1, '0001_delivery.sql');
    CREATE TABLE files (environment int, sha256 bytea);
    INSERT INTO files VALUES (7, '\\x{HASH}'), (7, NULL);
    CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) AS n;
"""


@dataclass(frozen=True)
class Installation:
    """A data folder whose database is running."""

    folder: Path
    url: str

    def sql(self, statement: str) -> str:
        command = [str(program("psql")), "-XAtq", "--dbname", self.url, "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that PostgreSQL's account can enter. Servers in it are stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="angarium-backup-"))
    folder.chmod(0o755)
    yield folder
    _ended(folder)


@pytest.fixture(scope="package")
def there() -> Iterator[Installation]:
    """An installation that no test changes."""
    folder = Path(tempfile.mkdtemp(prefix="angarium-backup-"))
    folder.chmod(0o755)
    try:
        with EmbeddedServer(folder / "data", durable=False) as server:
            content = server.data_dir / "files" / PLACE
            content.parent.mkdir(parents=True)
            content.write_bytes(CONTENT)
            incoming = server.data_dir / "files" / "incoming" / "abc"
            incoming.mkdir(parents=True)
            (incoming / HASH).write_bytes(b"half of it")
            KeyFile(server.data_dir / KEY_FILE).make()
            made = Installation(server.data_dir, server.url)
            made.sql(TABLES)
            yield made
    finally:
        _ended(folder)


@pytest.fixture(scope="package")
def backup(there: Installation) -> Path:
    """A backup of the installation that no test changes."""
    target = there.folder.parent / "backup"
    Backup(there.folder, target).make(there.url)
    return target


@pytest.fixture
def copy(backup: Path, place: Path) -> Path:
    """A copy of the backup. Its files are hard links to the backup's files, so a test that changes a file
    must replace it."""
    subprocess.run(["cp", "-al", str(backup), str(place / "copy")], check=True)
    return place / "copy"


def _ended(folder: Path) -> None:
    for cluster in folder.glob("**/PG_VERSION"):
        left = read_postmaster(cluster.parent)
        if left is not None and left.alive:
            left.stop(fast_s=0.0)
    shutil.rmtree(folder, ignore_errors=True)
