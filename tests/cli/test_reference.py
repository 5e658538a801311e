"""The help of the command line: docs/cli.md lists the present commands, `--help` is quick, and shells can
complete commands.
"""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from api.cli import COMMANDS, main
from api.cli.errors import FAILED, INTERRUPTED, NOT_ALLOWED, NOT_FOUND, UNREACHABLE, USAGE
from api.cli.reference import MARK, PAGE, page, reference
from tests.cli.programs import COMMAND, ROOT, environment


def test_the_list_of_commands_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m api.generation"


def test_the_list_shows_arguments_and_options_that_share_a_name_with_common_ones() -> None:
    sections = dict(part.split("\n", 1) for part in reference().split("\n## ")[1:])
    assert "| `--url URL` | Address of the server. [from" in sections["`angarium demo`"]
    assert {"`angarium backup TARGET`", "`angarium listen [PORT]`"} <= sections.keys()
    keys = sections["`angarium keys`"].partition("### `angarium keys create`")[2].split("###")[0]
    assert "`--environment [" in keys
    assert "`--output [text\\|json]`" in keys
    assert "ANGARIUM_KEY" not in sections["`angarium events`"], "said once, at the top"
    assert "ANGARIUM_KEY" in sections["Options of every command over HTTP"]


def test_every_command_that_the_page_shows_exists() -> None:
    prose = PAGE.read_text("utf-8").partition(MARK)[0]
    context = click.Context(main, info_name="angarium")
    for block in prose.split("```")[1::2]:
        for line in block.splitlines():
            if not line.startswith("angarium "):
                continue
            command: click.Command | None = main
            words = line.partition("|")[0].split()[1:]
            while isinstance(command, click.Group) and words:
                command = command.get_command(context, words.pop(0))
            assert command is not None, line
            known = {name for option in command.params for name in option.opts}
            assert {word for word in words if word.startswith("--")} <= known, line


def test_every_exit_code_is_on_the_page() -> None:
    prose = PAGE.read_text("utf-8").partition(MARK)[0]
    for code in (0, FAILED, USAGE, UNREACHABLE, NOT_FOUND, NOT_ALLOWED, INTERRUPTED):
        assert f"\n| {code} | " in prose


def test_short_helps_are_of_commands_that_can_be_imported() -> None:
    context = click.Context(main)
    for name, entry in COMMANDS.items():
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert entry.short_help.endswith(".")


def all_commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    context = click.Context(group)
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += all_commands(command, (*path, name))
        elif command is not None:
            found.append((*path, name))
            assert command.help, f"{path} {name} says nothing of itself"
            for option in command.params:
                bare = isinstance(option, click.Option) and not option.help
                assert not bare or option.name in PLAIN, f"{path} {name} {option.name}: no help"
    return found


PLAIN = {  # options whose names need no help text
    "address", "description", "destination_id", "customer_account_id", "dlq_status", "event_type",
    "kind", "lines", "metadata", "name", "object_id", "occurred_at", "origin_kind", "priority",
    "source", "correlation_id", "status",
}  # fmt: skip


def test_every_command_and_option_says_what_it_is() -> None:
    assert len(all_commands(main)) > 50


@pytest.mark.parametrize(
    "words", [("--help",), ("deliveries", "--help"), ("dlq", "retry", "--help")]
)
def test_help_loads_neither_the_server_nor_the_client(words: tuple[str, ...]) -> None:
    script = (
        "import sys\n"
        "from api.cli import main\n"
        f"try: main({list(words)!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'httpx', 'trio', 'quart', 'asyncpg', 'rich', 'pydantic', 'structlog', 'engine'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment("", Path("/nonexistent")),
        cwd=ROOT,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout.endswith("LOADED []\n")


def test_the_shell_completes_commands_and_options() -> None:
    def completed(line: str) -> list[str]:
        done = subprocess.run(
            COMMAND,
            env={
                **environment("", Path("/nonexistent")),
                "_ANGARIUM_COMPLETE": "bash_complete",
                "COMP_WORDS": line,
                "COMP_CWORD": str(line.count(" ")),
            },
            cwd=ROOT,
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        return [found.partition(",")[2] for found in done.stdout.split()]

    assert set(completed("angarium de")) == {"demo", "destinations", "deliveries"}
    assert "tail" in completed("angarium deliveries t")
    assert "--ordering" in completed("angarium destinations create --ord")
    assert "STRICT" in {
        found.upper() for found in completed("angarium destinations create --ordering S")
    }
