"""The types of arguments, and the options of lists."""

import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    _Kind = click.ParamType[Any]
else:
    _Kind = click.ParamType  # before click 8.2, this class takes no type argument

Command = TypeVar("Command", bound=Callable[..., Any])
SHOWN = 20  # the API's default
AUTO = "auto"
MOST_CONCURRENCY = 256  # the API's limit, repeated because this module must load quickly
_AGO = re.compile(r"(\d{1,6})(s|m|h|d)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class InstantType(_Kind):
    """An instant as ISO 8601 with an offset, or an age: `90s`, `30m`, `24h`, `7d`."""

    name = "instant"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | str:
        text = str(value)
        if match := _AGO.fullmatch(text):
            return datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
        try:
            zone = datetime.fromisoformat(text).tzinfo
        except ValueError:
            zone = None
        if zone is None:
            self.fail(
                f"{text!r} is neither 2026-11-20T12:00:00Z nor an age: 90s, 30m, 24h, 7d",
                param,
                ctx,
            )
        return text


class ConcurrencyType(_Kind):
    """A number of requests in flight, or `auto`."""

    name = "1-256|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if value == AUTO:
            return AUTO
        try:
            number = int(value)
        except ValueError:
            number = 0
        if not 1 <= number <= MOST_CONCURRENCY:
            self.fail(f"{value!r} is neither 1 to {MOST_CONCURRENCY} nor {AUTO}", param, ctx)
        return number


class PairType(_Kind):
    """An argument `NAME=VALUE`."""

    name = "pair"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        name, sign, rest = str(value).partition("=")
        if not sign or not name.strip():
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name.strip(), rest.strip()


class RawJsonType(_Kind):
    """A JSON object, given as text, as `@FILE`, or as `-` for standard input. The result is the object's
    unchanged bytes."""

    name = "json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        if isinstance(value, bytes):
            return value
        raw = self.read(str(value), param, ctx)
        try:
            document = json.loads(raw)
        except ValueError as error:
            self.fail(f"is not JSON: {error}", param, ctx)
        if not isinstance(document, dict):
            self.fail("must be a JSON object", param, ctx)
        return raw

    def read(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if text == "-":
            return sys.stdin.buffer.read()
        if not text.startswith("@"):
            return text.encode("utf-8", "surrogateescape")  # the argument's bytes
        try:
            return Path(text[1:]).read_bytes()
        except OSError as error:
            self.fail(f"{text[1:]} cannot be read: {error.strerror}", param, ctx)


class JsonType(RawJsonType):
    """A decoded JSON object."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, dict) else json.loads(super().convert(value, param, ctx))


INSTANT = InstantType()
PAIR = PairType()
CONCURRENCY = ConcurrencyType()
RAW_JSON = RawJsonType()
JSON = JsonType()
JSON_HELP = "JSON, @FILE, or - for standard input"


def paged(command: Command) -> Command:
    """Add the options `--limit`, `--all` and `--cursor` to a command that prints a list. The command
    receives `cursor` and `limit`. With `--all`, `limit` is None."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        if options.pop("everything"):
            options["limit"] = None
        return command(*arguments, **options)

    decorated: Any = run
    for option in (
        click.option("--cursor", metavar="CURSOR", help="Continue after an earlier list."),
        click.option("--all", "everything", is_flag=True, help="Show all items."),
        click.option(
            "--limit", type=click.IntRange(1), default=SHOWN, help=f"The most items. [{SHOWN}]"
        ),
    ):
        decorated = option(decorated)
    return cast(Command, decorated)


def since_until(command: Command) -> Command:
    """Add `--from` and `--to`, as `since` and `until`."""
    command = click.option(
        "--to",
        "until",
        type=INSTANT,
        metavar="INSTANT",
        help="Created before this instant. Like --from.",
    )(command)
    return click.option(
        "--from", "since", type=INSTANT, metavar="INSTANT",
        help="Created at or after this instant: 2026-11-20T12:00:00Z, or an age: 90s, 30m, 24h, 7d.",
    )(command)  # fmt: skip
