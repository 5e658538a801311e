"""The commands on the console's pages: each exists on the command line."""

import re
import shlex
from pathlib import Path

import click
import pytest

from api.cli import main

WEB = Path(__file__).parents[2] / "web"
SHOWN = re.compile(r"""h\(Shell, \{ text: (["'])(angarium (?:(?!\1)[^\\]|\\.)*)\1""")
TEXTS = sorted(
    {
        re.sub(r"\\(.)", r"\1", found)
        for path in WEB.rglob("*.js")
        for _, found in SHOWN.findall(path.read_text("utf-8"))
    }
)


def test_there_are_such_commands() -> None:
    assert len(TEXTS) >= 5


@pytest.mark.parametrize("text", TEXTS)
def test_a_command_that_is_shown_is_understood(text: str) -> None:
    command: click.Command = main
    _, *words = shlex.split(text)
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(click.Context(command), words)
        assert found is not None, name
        command = found
    command.make_context(command.name, words)
