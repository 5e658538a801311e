"""What the commands fail with, in words for people, and the exit codes that scripts rely on.

0 done; 1 it failed, or what was promised was not so; 2 wrong usage or settings; 3 the server or its
database cannot be reached; 130 interrupted by Ctrl-C.
"""

from typing import NoReturn

import click
from pydantic import ValidationError

from angarium import AngariumError, ConnectionFailedError
from engine.errors import Refusal
from engine.ports import StoreAwayError, StoreError
from engine.settings import PREFIX

FAILED = 1
USAGE = 2
UNREACHABLE = 3
INTERRUPTED = 130


class Trouble(click.ClickException):
    """An error for people: what is wrong, and what to do about it."""

    exit_code = FAILED


class SettingsTrouble(Trouble):
    """The settings or the usage are wrong."""

    exit_code = USAGE


class UnreachableTrouble(Trouble):
    """The server or its database does not answer."""

    exit_code = UNREACHABLE


def explain(error: BaseException) -> NoReturn:
    """Raise what a person should see of an error; what nobody foresaw is raised as it is."""
    cause = _only_cause(error)
    if isinstance(cause, (click.ClickException, click.exceptions.Exit, click.Abort)):
        raise cause
    if isinstance(cause, KeyboardInterrupt):
        raise click.exceptions.Exit(INTERRUPTED) from None
    if isinstance(cause, ValidationError):
        raise SettingsTrouble(settings_trouble(cause)) from None
    if isinstance(cause, Refusal):
        places = "".join(f"\n  {detail.path}: {detail.message}" for detail in cause.details)
        raise Trouble(cause.message + places) from None
    if isinstance(cause, ConnectionFailedError):
        raise UnreachableTrouble(f"the server cannot be reached: {cause}") from None
    if isinstance(cause, AngariumError):
        raise Trouble(f"the server refused: {cause}") from None
    if isinstance(cause, StoreAwayError):
        raise UnreachableTrouble(f"the database cannot be reached: {cause}") from None
    if isinstance(cause, StoreError) or type(cause).__module__.startswith("storage."):
        raise Trouble(str(cause)) from None  # storage's errors are written for operators
    if isinstance(cause, BrokenPipeError):
        raise click.exceptions.Exit(0) from None  # whoever read our output has seen enough
    if isinstance(cause, OSError):
        raise Trouble(str(cause)) from None
    raise error


def settings_trouble(error: ValidationError) -> str:
    """Return what is wrong with the settings, one line each, by both of its names."""
    lines = []
    for fault in error.errors(include_url=False, include_input=False):
        name = str(fault["loc"][0]) if fault["loc"] else ""
        message = fault["msg"].removeprefix("Value error, ")
        if name:
            flag = "--" + name.replace("_", "-")
            lines.append(f"  {PREFIX}{name.upper()} ({flag}): {message}")
        else:
            lines.append(f"  {message}")
    return "the settings are wrong:\n" + "\n".join(lines)


def _only_cause(error: BaseException) -> BaseException:
    """Return the one error within nested groups of one, as task nurseries make them."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
