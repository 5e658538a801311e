"""The flags that set the fields of a template's configuration.

A flag gives the value itself, or names a file or an environment variable that has the value.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from api.cli.errors import SettingsTrouble
from api.cli.remote.parameters import PAIR

if TYPE_CHECKING:
    from angarium.shapes import DestinationTemplate

Command = TypeVar("Command", bound=Callable[..., Any])
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def config_options(command: Command) -> Command:
    """Add the flags for a template's configuration."""
    for option in reversed(
        (
            click.option(
                "--config", "literal", type=PAIR, multiple=True, metavar="NAME=VALUE",
                help="Set a field of the template's configuration; can be repeated, for a list"
        " with the same name. Other users of this machine can see a command"
        " line: give secrets with the next two flags.",
            ),
            click.option(
                "--config-file", "from_files", type=PAIR, multiple=True, metavar="NAME=FILE",
                help="The same, with the value from a file, or from standard input for -.",
            ),
            click.option(
                "--config-env", "from_variables", type=PAIR, multiple=True, metavar="NAME=VARIABLE",
                help="The same, with the value from an environment variable.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def given_config(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the texts that the flags give for each field, by the field's name. Raises SettingsTrouble
    if a file cannot be read, or if an environment variable is missing."""
    found: dict[str, list[str]] = {}
    for name, value in given["literal"]:
        found.setdefault(name, []).append(value)
    for name, file in given["from_files"]:
        found.setdefault(name, []).append(_read(name, file))
    for name, variable in given["from_variables"]:
        if variable not in os.environ:
            raise SettingsTrouble(f"--config-env {name}: there is no variable {variable}")
        found.setdefault(name, []).append(os.environ[variable])
    return found


def typed(values: Mapping[str, list[str]], template: "DestinationTemplate") -> dict[str, Any]:
    """Return the values, converted from texts to the types in the template's schema. Raises
    click.UsageError for an unknown field or an unsuitable text."""
    fields = template["configSchema"]["properties"]
    unknown = [name for name in values if name not in fields]
    if unknown:
        known = ", ".join(fields)
        raise click.UsageError(
            f"{template['id']} has no field {unknown[0]}; its fields are {known}"
        )
    return {name: _typed(name, texts, fields[name]["type"]) for name, texts in values.items()}


def _typed(name: str, texts: list[str], kind: str) -> Any:
    if kind == "array":
        return texts
    if len(texts) > 1:
        raise click.UsageError(f"{name} is given twice")
    (text,) = texts
    if kind == "boolean":
        if text.lower() not in _FLAGS:
            raise click.UsageError(f"{name} must be true or false")
        return _FLAGS[text.lower()]
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise click.UsageError(f"{name} must be a number") from None
    return text


def _read(name: str, file: str) -> str:
    if file == "-":
        if sys.stdin.isatty():
            return str(click.prompt(name, hide_input=True, err=True))
        return sys.stdin.read().strip()
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsTrouble(f"--config-file {name}: {file} cannot be read: {error}") from None
