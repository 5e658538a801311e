"""The errors of commands as messages for people, and the exit codes for scripts.

The functions here compare the names of error classes, so that they need not import the modules that
define these classes. Such imports would make every command slower.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn

import click

from api.printable import printable, printable_lines

FAILED = 1
USAGE = 2
UNREACHABLE = 3
NOT_FOUND = 4
NOT_ALLOWED = 5
INTERRUPTED = 130
# The prefix of the packages in a wheel; empty in a checkout.
_INSTALLED = __name__.removesuffix("api.cli.errors")


class Trouble(click.ClickException):
    """An error whose message says what is wrong and what to do."""

    exit_code = FAILED

    def format_message(self) -> str:
        """Return the message with its unprintable characters escaped. The message can quote untrusted
        text."""
        return printable_lines(self.message)


class SettingsTrouble(Trouble):
    """The settings or the usage are wrong."""

    exit_code = USAGE


class UnreachableTrouble(Trouble):
    """The server or its database does not respond."""

    exit_code = UNREACHABLE


class NotFoundTrouble(Trouble):
    """The named object does not exist."""

    exit_code = NOT_FOUND


class NotAllowedTrouble(Trouble):
    """The command has no key, or a wrong key. Or the key's scope or environment does not allow the
    command."""

    exit_code = NOT_ALLOWED


def explain(error: BaseException) -> NoReturn:
    """Convert an exception into the error that ends the command with a message and an exit code, and
    raise this error. If the exception is unexpected, raise it unchanged."""
    cause: Any = _telling_cause(error)
    if isinstance(cause, (click.ClickException, click.exceptions.Exit, click.Abort)):
        raise cause
    if isinstance(cause, KeyboardInterrupt):
        raise click.exceptions.Exit(INTERRUPTED) from None
    if _is(cause, "pydantic_core._pydantic_core.ValidationError"):
        raise SettingsTrouble(settings_trouble(cause)) from None
    files = ("engine.plans.file.PlansFileError", "engine.templates.reading.TemplateFileError")
    if any(_is(cause, name) for name in files):
        raise SettingsTrouble(str(cause)) from None
    if _is(cause, "engine.model.errors.Refusal"):
        places = "".join(f"\n  {detail.path}: {detail.message}" for detail in cause.details)
        raise Trouble(cause.message + places) from None
    if _is(cause, "angarium.errors.ConnectionFailedError"):
        raise UnreachableTrouble(f"the server cannot be reached: {cause}") from None
    if _is(cause, "angarium.errors.ApiError"):
        raise trouble_of(cause.status)(refusal_text(cause)) from None
    if _is(cause, "angarium.errors.ArgumentError"):
        raise SettingsTrouble(str(cause)) from None
    if _is(cause, "angarium.errors.AngariumError"):
        raise Trouble(f"the server refused: {cause}") from None
    if _is(cause, "engine.ports.StoreAwayError"):
        raise UnreachableTrouble(f"the database cannot be reached: {cause}") from None
    if _is(cause, "engine.ports.StoreError") or _name(type(cause)).startswith("storage."):
        raise Trouble(str(cause)) from None  # the messages of storage's errors are for operators
    if isinstance(cause, BrokenPipeError):
        _let_go_of_output()
        raise click.exceptions.Exit(0) from None  # the reader of the output has closed it
    if isinstance(cause, OSError):
        raise Trouble(str(cause)) from None
    raise error


def refusal_text(error: Any) -> str:
    """Return a refusal as one line, with the request's id for the operator."""
    line = printable(" ".join(str(error).split()))
    request = f"; request {error.request_id}" if error.request_id else ""
    return f"the server refused: {line}{request}"


def trouble_of(status: int) -> type[Trouble]:
    """Return the class of the command's error for an API status."""
    if status == 404:
        return NotFoundTrouble
    if status in (401, 403):
        return NotAllowedTrouble
    return UnreachableTrouble if status in (408, 429) or status >= 500 else Trouble


def settings_trouble(error: Any) -> str:
    """Return the errors of the settings, one line each."""
    from engine.settings import PREFIX

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


def _is(error: BaseException, name: str) -> bool:
    """Return True if the error's class, or a base class of it, has this full name."""
    return any(_name(kind) == name for kind in type(error).__mro__)


def _name(kind: type) -> str:
    """Return the full name of a class in a checkout."""
    return f"{kind.__module__.removeprefix(_INSTALLED)}.{kind.__qualname__}"


def _telling_cause(error: BaseException) -> BaseException:
    """Return the error that best explains an exception. If the exception is a group of one error, return
    the error in the group. If a group has only StoreErrors, return one of these errors. Prefer an error
    that is no StoreAwayError, because a StoreAwayError does not name the cause. Return any other
    exception itself."""
    causes = list(_leaves(error))
    if len(causes) > 1 and not all(_is(each, "engine.ports.StoreError") for each in causes):
        return error
    return min(causes, key=lambda each: _is(each, "engine.ports.StoreAwayError"))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _let_go_of_output() -> None:
    """Redirect standard output to /dev/null. Otherwise Python, when it exits, would write its buffered
    output to the closed pipe and report an error."""
    with suppress(OSError, ValueError):  # standard output is not a file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
