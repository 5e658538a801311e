"""Flags made from the settings: every `ANGARIUM_...` variable is a flag of the same name."""

import os
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import click

from api.cli.errors import SettingsTrouble
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
    """Return the settings from the environment and from flags; a flag wins. Raises ValidationError."""
    known = {name: value for name, value in flags.items() if name in Settings.model_fields}
    return Settings.from_environment(os.environ, **known)


def _flag(name: str) -> Callable[[Command], Command]:
    field = Settings.model_fields[name]
    more, check = _GUARDED.get(name, ("", None))
    help_text = f"{field.description}.{more} [{default_text(name)}; {PREFIX}{name.upper()}]"
    return click.option(
        "--" + name.replace("_", "-"),
        name,
        default=None,
        metavar=_metavar(name),
        help=help_text,
        callback=check,
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


def _secret_refused(_: click.Context, option: click.Parameter, value: str | None) -> None:
    """Refuse a secret that can be given by its variable alone, for the same reason."""
    if value is not None:
        raise SettingsTrouble(
            f"{option.opts[0]} is a secret, and the list of processes shows arguments to everybody."
            f" Give it by {PREFIX}{str(option.name).upper()}, with another value than the one just given"
        )


def _without_password(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse a database address that holds a password, for the same reason."""
    if value is not None and _has_password(value):
        raise SettingsTrouble(
            "--database-url holds a password, and the list of processes shows arguments to everybody."
            f" Give the address by {PREFIX}DATABASE_URL, or leave the password out of it and give that by"
            " PGPASSWORD or ~/.pgpass; and change the password that was just given"
        )
    return value


def _proxy_without_password(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse a proxy address that holds a password, for the same reason."""
    if value is not None and _has_password(value):
        raise SettingsTrouble(
            "--egress-proxy holds a password, and the list of processes shows arguments to everybody."
            f" Give the address by {PREFIX}EGRESS_PROXY, and change the password that was just given"
        )
    return value


def _has_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.password) or "password" in parse_qs(parts.query)
    except ValueError:  # an invalid address: connecting with it fails and says so
        return "password" in url or "@" in url


# Settings that arguments must not hold, or not wholly: what the help says more, and the check.
_GUARDED: dict[str, tuple[str, Callable[..., Any]]] = {
    "master_key": (
        " Give it by the variable only: every user of the machine can see arguments.",
        _refused,
    ),
    "database_url": (
        " Give a password by the variable only: every user can see arguments.",
        _without_password,
    ),
    "operations_key": (
        " Give it by the variable only: every user of the machine can see arguments.",
        _secret_refused,
    ),
    "egress_proxy": (
        " Give a password by the variable only: every user can see arguments.",
        _proxy_without_password,
    ),
}


def default_text(name: str) -> str:
    """Return a setting's default in the form that people write."""
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
