"""Flags made from the settings: every `ANGARIUM_...` variable is a flag of the same name."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from engine.settings import MIB, PREFIX, Settings

Command = TypeVar("Command", bound=Callable[..., Any])
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
    help_text = f"{field.description}. [{default_text(name)}; {PREFIX}{name.upper()}]"
    return click.option(
        "--" + name.replace("_", "-"), name, default=None, metavar=_metavar(name), help=help_text
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
