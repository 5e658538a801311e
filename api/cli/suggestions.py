"""Suggestions for a misspelt word: of a command, a subcommand, or a variable of the environment."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import click

Resolve = Callable[[click.Context, list[str]], Any]


def did_you_mean(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a question that names what is closest to a word, empty if nothing is so much alike."""
    close = get_close_matches(word, list(known), 1, likeness)
    return f" Did you mean {close[0]}?" if close else ""


def suggesting(resolve: Resolve, known: Iterable[str]) -> Resolve:
    """Return a way to find a command whose error names the commands that are close."""

    def find(ctx: click.Context, args: list[str]) -> Any:
        try:
            return resolve(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + did_you_mean(args[0], known), ctx) from None

    return find


class CommandGroup(click.Group):
    """A group of commands that suggests what a misspelt one could be."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for. Raises UsageError that names what is close to it."""
        found: tuple[str | None, click.Command | None, list[str]] = suggesting(
            super().resolve_command, self.commands
        )(ctx, args)
        return found
