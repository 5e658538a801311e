"""The plain commands: each calls one method of the client and prints the answer."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from api.cli.remote.parameters import paged, since_until
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import TableColumn
from api.cli.suggestions import CommandGroup


class Option(NamedTuple):
    """A flag that filters a list. `words` are the allowed values. If `words` is empty, every value is
    allowed. If `repeated` is True, the flag can be given several times. The list then shows the items
    that have one of the given values."""

    flags: str
    argument: str
    metavar: str = ""
    words: tuple[str, ...] = ()
    help: str | None = None
    repeated: bool = False


class Plain(NamedTuple):
    """A plain command. Each pair in `arguments` describes one argument: its name in the client's method,
    and its name in the help. If `spans` is True, the command has the flags `--from` and `--to`. `confirm`
    is the question that the command asks before it acts."""

    name: str
    method: str
    help: str
    arguments: tuple[tuple[str, str], ...] = ()
    columns: tuple[TableColumn, ...] = ()
    options: tuple[Option, ...] = ()
    paged: bool = False
    spans: bool = False
    confirm: str = ""


class PlainGroup(CommandGroup):
    """A group of commands. Its constructor adds the generated plain commands. A handwritten command that
    is added later replaces the plain command of the same name."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(name, **given)
        for plain in import_module(f".made.{name}", __package__).PLAIN:
            self.command(plain.name, help=plain.help)(_command(plain))


def columns_of(commands: Sequence[Plain], name: str) -> tuple[TableColumn, ...]:
    """Return the columns of a group's plain command."""
    return next(plain.columns for plain in commands if plain.name == name)


def _command(plain: Plain) -> Callable[..., Any]:
    def run(session: Session, **given: Any) -> None:
        named = [given.pop(argument) for argument, _ in plain.arguments]
        if plain.confirm:
            session.confirm(plain.confirm.format(*named), yes=given.pop("yes"))
        with session.client() as client:
            method: Any = client
            for part in plain.method.split("."):
                method = getattr(method, part)
            given = {name: None if value == () else value for name, value in given.items()}
            if plain.paged:
                limit, cursor = given.pop("limit"), given.pop("cursor")
                session.output.listing(
                    lambda count, after: method(*named, limit=count, cursor=after, **given),
                    plain.columns,
                    limit,
                    cursor,
                )
            elif plain.columns:
                session.output.rows(method(*named, **given), plain.columns)
            else:
                session.output.one(method(*named))

    decorated = over_http(run)
    if plain.paged:
        decorated = paged(decorated)
    if plain.spans:
        decorated = since_until(decorated)
    for option in reversed(plain.options):
        decorated = _option(option)(decorated)
    if plain.confirm:
        decorated = click.option("--yes", "-y", is_flag=True, help="Do not ask.")(decorated)
    for argument, metavar in reversed(plain.arguments):
        decorated = click.argument(argument, metavar=metavar)(decorated)
    return decorated


def _option(option: Option) -> Callable[..., Any]:
    if option.words:
        kind = click.Choice(option.words, case_sensitive=False)
        return click.option(
            option.flags, option.argument, type=kind, help=option.help, multiple=option.repeated
        )
    if "/" in option.flags:
        return click.option(option.flags, option.argument, default=None, help=option.help)
    return click.option(
        option.flags,
        option.argument,
        metavar=option.metavar,
        help=option.help,
        multiple=option.repeated,
    )
