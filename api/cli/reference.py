"""The list of all commands in docs/cli.md; `python -m api.generation` writes it."""

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from api.cli import COMMANDS, main
from api.cli.remote.session import common_options

PAGE = Path(__file__).parent.parent.parent / "docs/cli.md"
MARK = "<!-- what follows is made by `python -m api.generation` -->\n"
PROGRAM = "angarium"


def reference() -> str:
    """Return the list of all commands, as markdown."""
    context = click.Context(main, info_name=PROGRAM)
    lines = ["", "## Options of every command over HTTP", "", *_options(common_options())]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        own = click.Context(command, context, info_name=name)
        lines += ["", f"## `{_usage(command, own)}`", ""]
        lines += _described(command, own, level=3)
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the text of docs/cli.md."""
    head, mark, _ = PAGE.read_text("utf-8").partition(MARK)
    return head + (mark or MARK) + reference()


def _described(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield _prose(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            below = click.Context(inner, context, info_name=name)
            yield from ["", f"{'#' * level} `{_usage(inner, below)}`", ""]
            yield from _described(inner, below, level + 1)
        return
    # The page describes the common options only once, so they are left out here. A command's option is a
    # common option if all its properties are the same, not only its name: some commands have an option
    # `--output` of their own.
    common = [option.to_info_dict() for option in common_options()]
    options = [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.to_info_dict() not in common
    ]
    if options:
        yield ""
        yield from _options(options)


def _prose(command: click.Command) -> str:
    text = command.help or command.short_help or ""
    return cleandoc(text.replace("\b\n", ""))


def _usage(command: click.Command, context: click.Context) -> str:
    words = [context.command_path]
    words += [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    return " ".join(words)


def _options(options: list[click.Option]) -> Iterator[str]:
    yield "| option | |"
    yield "|---|---|"
    for option in options:
        record = option.get_help_record(click.Context(main))
        assert record is not None
        names, text = (" ".join(part.split()).replace("|", "\\|") for part in record)
        yield f"| `{names}` | {text} |"


def write_page() -> None:
    """Write docs/cli.md."""
    PAGE.write_text(page(), "utf-8")
