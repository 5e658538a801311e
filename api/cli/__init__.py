"""The console command `angarium`. Each subcommand is a file of its own; nothing is decided here."""

from importlib import import_module
from typing import Any

import click

from api import logs
from api.cli.errors import explain

# A command is imported when it is called, so that `--help` and `listen` do not load the whole server.
COMMANDS = {
    "serve": "api.cli.serve",
    "demo": "api.cli.demo",
    "keys": "api.cli.keys",
    "workspaces": "api.cli.workspaces",
    "listen": "api.cli.listen",
    "doctor": "api.cli.doctor",
    "version": "api.cli.version",
}


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.invoke(import_module(COMMANDS["version"]).command)
        ctx.exit()


class Program(click.Group):
    """The group of all commands, in the order in which a newcomer needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, importing it."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: click.Command = import_module(module).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what goes wrong is said in words."""
        try:
            return super().invoke(ctx)
        except BaseException as error:
            explain(error)


@click.group(
    cls=Program, context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the versions, as the command does.",
)  # fmt: skip
def main() -> None:
    """Angarium delivers events: signed webhooks, in order, with nothing lost.

    Start with `angarium serve`, then `angarium demo` in a second terminal.

    \b
    Exit codes: 0 done; 1 failed; 2 wrong usage or settings; 3 the server or its
    database cannot be reached; 130 interrupted.
    """
    logs.configure("console", "warning")  # standard output is for answers; `serve` sets its own
