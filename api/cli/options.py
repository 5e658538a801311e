"""The flags made from the settings."""

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
    """Add the flags of the named settings, or of all settings."""

    def decorate(command: Command) -> Command:
        for name in reversed(names or tuple(Settings.model_fields)):
            command = _flag(name)(command)
        return command

    return decorate


def settings_from(flags: dict[str, Any]) -> Settings:
    """Return the settings. The value of a flag replaces the value of the setting's environment variable.
    Raises ValidationError."""
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
    """Refuse a flag whose value is a secret. Every user of the computer can read the arguments of a
    program, and shells store arguments in their history."""
    if value is not None:
        raise SettingsTrouble(
            "--master-key is not accepted any more: every user can see it in the list of "
            "processes. Use --master-key-file or ANGARIUM_MASTER_KEY, and replace the key that was "
            "just given: angarium master-key rotate"
        )


def _secret_refused(_: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise SettingsTrouble(
            f"{option.opts[0]} is a secret, and every user can see arguments in the list of processes."
            f" Use {PREFIX}{str(option.name).upper()}, with another value than the one just given"
        )


def _without_password(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and _has_password(value):
        raise SettingsTrouble(
            "--database-url has a password, and every user can see arguments in the list of processes."
            f" Use {PREFIX}DATABASE_URL, or leave the password out and use"
            " PGPASSWORD or ~/.pgpass. Change the password that was just given"
        )
    return value


def _proxy_without_password(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and _has_password(value):
        raise SettingsTrouble(
            "--egress-proxy has a password, and every user can see arguments in the list of processes."
            f" Use {PREFIX}EGRESS_PROXY, and change the password that was just given"
        )
    return value


def _has_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.password) or "password" in parse_qs(parts.query)
    except ValueError:  # an invalid address: look at its text
        return "password" in url or "@" in url


# The settings that can contain a secret. Each setting has a text for the help of its flag, and a function
# that refuses a secret that is given by the flag.
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
    """Return a setting's default as text for the help."""
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
