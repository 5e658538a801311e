"""The options of every command over HTTP: the server's address, a key, and the form of the output."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from api.cli.errors import SettingsTrouble
from api.cli.remote.made.words import ENVIRONMENT
from api.cli.remote.output import FORMS, Output

if TYPE_CHECKING:
    from angarium import Client
    from angarium.shapes import Environment
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING
from uuid import UUID

from api.cli.errors import NotFoundTrouble, Trouble

if TYPE_CHECKING:
    from angarium import Client


DESTINATIONS = ("destination_id", "destination")
RULES = ("rule_id",)
SUGGESTED = 3


def with_ids(client: Callable[[], "Client"], options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace names of destinations and rules in the options by their ids, and return the options. Raises
    NotFoundTrouble for an unknown name, and Trouble if several objects have the same name."""
    found = dict(options)
    for names, kind in ((DESTINATIONS, "destination"), (RULES, "rule")):
        for option in names:
            value = found.get(option)
            if isinstance(value, str):
                found[option] = _with_id(client, kind, value)
            elif isinstance(value, tuple):
                found[option] = tuple(_with_id(client, kind, each) for each in value)
    return found


def _with_id(client: Callable[[], "Client"], kind: str, value: str) -> str:
    if not value or _is_id(value):
        return value
    with client() as asked:
        all_of = _destinations if kind == "destination" else _rules
        return _only(kind, value, all_of(asked))


def _destinations(client: "Client") -> Iterable[tuple[str, str]]:
    return ((each["name"], each["id"]) for each in client.destinations.iterate())


def _rules(client: "Client") -> Iterable[tuple[str, str]]:
    return ((each["name"], each["id"]) for each in client.routing_rules.iterate())


def _only(kind: str, name: str, known: Iterable[tuple[str, str]]) -> str:
    names: dict[str, list[str]] = {}
    for each, identifier in known:
        names.setdefault(each, []).append(identifier)
    ids = names.get(name, [])
    if len(ids) > 1:
        raise Trouble(
            f"{len(ids)} {kind}s have the name {name!r}: give one of the ids {', '.join(ids)}"
        )
    if not ids:
        close = get_close_matches(name, names, SUGGESTED)
        hint = f": did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise NotFoundTrouble(f"no {kind} has the id or name {name!r}{hint}")
    return ids[0]


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_S = 30.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Session:
    """One command's connection to the server, and its output."""

    url: str
    key: str
    environment: "Environment | None"
    timeout_s: float
    output: Output

    def client(self) -> "Client":
        """Return a client. Raises SettingsTrouble for a wrong address or key."""
        from angarium import Client

        try:
            return Client(
                self.url,
                self.key,
                environment=self.environment,
                timeout_s=self.timeout_s,
                trust_env=urlsplit(self.url).hostname not in LOOPBACK,
            )
        except ValueError as error:
            raise SettingsTrouble(str(error)) from None

    def confirm(self, question: str, *, yes: bool) -> None:
        """Raises Abort, or SettingsTrouble if no person can answer."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise SettingsTrouble(
                "the command needs a confirmation, and standard input is not a terminal: give --yes"
            )
        click.confirm(question, abort=True, err=True)


def over_http(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command: add the common options to the command, and pass a `Session` as its first
    argument."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        session = _session(options)
        return command(session, *arguments, **with_ids(session.client, options))

    return _with_options(run)


def maybe_over_http(command: Callable[..., Any]) -> Callable[..., Any]:
    """Like `over_http`, for a command that can run without a server. The command's first argument is a
    function that returns the `Session`."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in _NAMES}
        return command(lambda: _session(given), *arguments, **options)

    return _with_options(run)


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _session(options: dict[str, Any]) -> Session:
    """Remove the common options from `options`, and return the session made from them."""
    return Session(
        url=options.pop("url"),
        key=_key(options.pop("key"), options.pop("key_file")),
        environment=options.pop("environment"),
        timeout_s=options.pop("timeout"),
        output=Output(options.pop("output")),
    )


_NAMES = ("url", "key", "key_file", "environment", "timeout", "output")


_OPTIONS = (
    click.option(
        "--url", envvar="ANGARIUM_URL", default=DEFAULT_URL, metavar="URL",
        help=f"Address of the server. [{DEFAULT_URL}; ANGARIUM_URL]",
    ),
    click.option(
        "--key", envvar="ANGARIUM_KEY", metavar="KEY",
        help="The key. Other users of the machine can see it: prefer the variable. [ANGARIUM_KEY]",
    ),
    click.option(
        "--key-file", envvar="ANGARIUM_KEY_FILE", type=click.Path(path_type=Path, dir_okay=False),
        help="A file with the key. [ANGARIUM_KEY_FILE]",
    ),
    click.option(
        "--environment", envvar="ANGARIUM_ENVIRONMENT",
        type=click.Choice(ENVIRONMENT, case_sensitive=False),
        help="The environment, needed with an MCP key. [ANGARIUM_ENVIRONMENT]",
    ),
    click.option(
        "--timeout", type=click.FloatRange(0, min_open=True), default=TIMEOUT_S, metavar="SECONDS",
        help=f"How long to wait for each answer. [{TIMEOUT_S:g}]",
    ),
    click.option(
        "--output", "-o", type=click.Choice(FORMS),
        help="table, json, or jsonl (one object a line). [table on a terminal, else jsonl]",
    ),
)  # fmt: skip


def common_options() -> list[click.Option]:
    """Return the options that `over_http` adds to a command."""
    bare = click.command(over_http(lambda session: None))
    return [option for option in bare.params if isinstance(option, click.Option)]


def _key(given: object, file: object) -> str:
    """Return the key from the first of these that is given: `--key`, `--key-file`, ANGARIUM_KEY,
    ANGARIUM_KEY_FILE."""
    context = click.get_current_context()
    source = context.get_parameter_source("key_file")
    if isinstance(file, Path) and (
        not given
        or (
            source is click.core.ParameterSource.COMMANDLINE
            and context.get_parameter_source("key") is not source
        )
    ):
        try:
            given = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsTrouble(f"the key file {file} cannot be read: {error}") from None
    if not given:
        raise SettingsTrouble(
            "no key: set ANGARIUM_KEY or give --key-file FILE (create a key with `angarium keys "
            "create`)"
        )
    return str(given)
