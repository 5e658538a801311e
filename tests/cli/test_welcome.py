"""A server's welcome message: its next command works as printed."""

import sys
from pathlib import Path

import pytest

from api.welcome import welcome
from engine.settings import Settings


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of an installed `angarium` command. The test pretends that this command started the
    process."""
    path = tmp_path / "bin" / "angarium"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(path), "serve"])
    monkeypatch.setenv("PATH", "/nowhere")
    return path


def next_command(settings: Settings, port: int = 8080) -> str:
    return welcome(settings, port, ()).rpartition("Next, in another terminal: ")[2]


def test_the_next_command_is_the_programs_path_where_its_name_finds_nothing(program: Path) -> None:
    assert next_command(Settings()) == f"{program} demo"


def test_the_next_command_is_short_where_the_name_finds_this_program(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(program.parent))
    assert next_command(Settings()) == "angarium demo"


def test_the_next_command_is_the_path_where_the_name_finds_another_program(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "angarium").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert next_command(Settings()) == f"{program} demo"


@pytest.mark.parametrize(
    ("settings", "port", "flags"),
    [
        (Settings(bind="127.0.0.1:0"), 4711, " --bind 127.0.0.1:4711"),
        (Settings(bind="[::1]:8080"), 8080, " --bind '[::1]:8080'"),
        (Settings(data_dir=Path("/srv/a b")), 8080, " --data-dir '/srv/a b'"),
        (Settings(data_dir=Path("other"), database_url="postgresql://u:p@h/d"), 8080, ""),
    ],
)
def test_the_next_command_finds_a_server_that_is_not_at_the_usual_place(
    program: Path, settings: Settings, port: int, flags: str
) -> None:
    assert next_command(settings, port) == f"{program} demo{flags}"
