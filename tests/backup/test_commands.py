"""The commands' refusals, and the messages of the commands and of `angarium doctor`."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.cli import main
from api.cli.doctor import machine
from api.cli.doctor.finding import Level
from engine.settings import Settings
from storage.backup.making import LAST
from tests.backup.conftest import Installation


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("backup", "b", "--database-url", "postgresql://x/y"), 2, "with its own tools"),
        (("backup", "b", "--data-dir", "nowhere"), 2, "has no database"),
        (("restore", "b"), 2, "--data-dir"),
        (("restore", "b", "--data-dir", "d"), 1, "is no folder"),
        (("restore", ".", "--data-dir", "d"), 1, "never finished"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    arguments: tuple[str, ...],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, arguments)
    assert (done.exit_code, said in done.output) == (code, True), done.output
    assert not (tmp_path / "b").exists()


def test_what_a_backup_lacks_is_said(there: Installation, place: Path) -> None:
    target, data = str(place / "b"), str(place / "d")
    more = ("--without-master-key", "--file-store", "s3://bucket/prefix")
    done = CliRunner().invoke(main, ("backup", target, "--data-dir", str(there.folder), *more))
    assert done.exit_code == 0, done.output
    for said in ("database: ", "copy that bucket", "does not have the master key", "checking"):
        assert said in done.output
    restore = ("restore", target, "--data-dir", data, "--hold")
    done = CliRunner().invoke(main, restore)
    assert done.exit_code == 1, done.output
    assert "--with-key" in done.output
    done = CliRunner().invoke(main, (*restore, "--unauthenticated"))
    assert done.exit_code == 0, done.output
    for said in (
        "not checked with a master key",
        "put yours into",
        "in an object store",
        "deliveries are held",
        "angarium serve",
    ):
        assert said in done.output


def test_the_doctor_knows_of_the_last_backup(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert machine.check_backup(settings).level is Level.OK
    (tmp_path / "postgres").mkdir()
    assert machine.check_backup(settings).level is Level.WARNING
    (tmp_path / LAST).write_text(json.dumps({"endedAt": "2026-11-20T10:00:00Z", "target": "/b"}))
    then = datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp()
    assert machine.check_backup(settings, then + 86_400).level is Level.OK
    late = machine.check_backup(settings, then + 9 * 86_400)
    assert late.level is Level.WARNING
    assert "9 days old (/b)" in late.message
    own = Settings(database_url="postgresql://x/y", data_dir=tmp_path)
    assert machine.check_backup(own).level is Level.OK
