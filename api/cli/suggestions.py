"""The suggestions for a misspelt command, subcommand or environment variable."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import click

Resolve = Callable[[click.Context, list[str]], Any]


def did_you_mean(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a question that names the closest word, empty if no word is close."""
    close = get_close_matches(word, list(known), 1, likeness)
    return f" Did you mean {close[0]}?" if close else ""


def suggesting(resolve: Resolve, known: Iterable[str]) -> Resolve:
    """Let the error of `resolve` name the closest command."""

    def find(ctx: click.Context, args: list[str]) -> Any:
        try:
            return resolve(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + did_you_mean(args[0], known), ctx) from None

    return find


class CommandGroup(click.Group):
    """A group of commands that suggests the closest name for a misspelt one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises UsageError with the closest name."""
        found: tuple[str | None, click.Command | None, list[str]] = suggesting(
            super().resolve_command, self.commands
        )(ctx, args)
        return found
