"""A misspelt command, subcommand or variable is answered with similar names."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from api.cli import main
from api.cli.errors import FAILED, USAGE
from api.cli.serve import warn_of_unknown


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["destinatoins"], "Did you mean destinations?"),
        (["keys", "craete"], "Did you mean create?"),
        (["destinations", "lst"], "Did you mean list?"),
        (["nodes", "lits"], "Did you mean list?"),
    ],
)
def test_a_misspelt_command_is_answered_with_a_close_one(words: list[str], hint: str) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == USAGE
    assert hint in result.output


def test_a_command_like_no_other_gets_no_suggestion() -> None:
    assert "Did you mean" not in CliRunner().invoke(main, ["qqqq"]).output


def test_keys_create_makes_no_database(tmp_path: Path) -> None:
    folder = tmp_path / "misspelt"
    words = ["keys", "create", "--scope", "read", "--environment", "STAGING", "--output", "text"]
    result = CliRunner().invoke(main, [*words, "--data-dir", str(folder)])
    assert result.exit_code == FAILED
    assert f"there is no database in {folder}" in result.output
    assert not folder.exists()


def test_an_unknown_variable_of_ours_is_a_warning() -> None:
    known = {"ANGARIUM_DATA_DIR": "d", "ANGARIUM_KEY": "k", "ANGARIUM_BENCH_BASE": "b", "HOME": "h"}
    with capture_logs() as lines:
        warn_of_unknown({**known, "ANGARIUM_DATADIR": "d", "ANGARIUM_QQ": "1"})
    assert [(line["name"], line["log_level"]) for line in lines] == [
        ("ANGARIUM_DATADIR", "warning"),
        ("ANGARIUM_QQ", "warning"),
    ]
    assert lines[0]["remedy"] == "Did you mean ANGARIUM_DATA_DIR?"
    assert "--help" in lines[1]["remedy"]
