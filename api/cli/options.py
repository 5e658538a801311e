"""Flags made from the settings: every `ANGARIUM_...` variable is a flag of the same name."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from api.cli.errors import SettingsTrouble
from engine.settings import MIB, PREFIX, Settings

Command = TypeVar("Command", bound=Callable[..., Any])
SECRETS = ("master_key",)  # that no argument holds
DATABASE = ("data_dir", "database_url", "master_key", "master_key_file")


def settings_flags(*names: str) -> Callable[[Command], Command]:
    """Add the flags of some settings, of all where none is named."""

    def decorate(command: Command) -> Command:
        for name in reversed(names or tuple(Settings.model_fields)):
            command = _flag(name)(command)
        return command

    return decorate


def settings_from(flags: dict[str, Any]) -> Settings:
    """Return the settings of the environment and of flags, which win. Raises ValidationError."""
    known = {name: value for name, value in flags.items() if name in Settings.model_fields}
    return Settings.from_environment(os.environ, **known)


def _flag(name: str) -> Callable[[Command], Command]:
    field = Settings.model_fields[name]
    secret = name in SECRETS
    more = " By the variable alone: arguments are seen by all." if secret else ""
    help_text = f"{field.description}.{more} [{default_text(name)}; {PREFIX}{name.upper()}]"
    return click.option(
        "--" + name.replace("_", "-"),
        name,
        default=None,
        metavar=_metavar(name),
        help=help_text,
        callback=_refused if secret else None,
    )


def _refused(_: click.Context, __: click.Parameter, value: str | None) -> None:
    """Refuse a master key in the arguments: every account of the machine can read those of a process, and
    shells keep them."""
    if value is not None:
        raise SettingsTrouble(
            "--master-key is not taken any more: the list of processes shows it to everybody. Give it by"
            " --master-key-file or by ANGARIUM_MASTER_KEY, and regard the key"
            " that was just given as known: angarium master-key rotate"
        )


def default_text(name: str) -> str:
    """Return a setting's default as people write it."""
    default = Settings.model_fields[name].default
    if default is None or default == ():
        return "default: none"
    if isinstance(default, int) and default >= MIB and default % MIB == 0:
        return f"default: {default} = {default // MIB} MiB"
    if isinstance(default, float):
        return f"default: {default:g}"
    return f"default: {default}"


def _metavar(name: str) -> str:
    annotation = str(Settings.model_fields[name].annotation)
    for word, shown in (
        ("Network", "CIDRS"),
        ("Path", "PATH"),
        ("float", "NUMBER"),
        ("int", "NUMBER"),
    ):
        if word in annotation:
            return shown
    return "TEXT"
