"""The console command `angarium`. Each subcommand is a file of its own; nothing is decided here."""

import os
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from api.cli.errors import explain
from api.cli.suggestions import suggesting


class Subcommand(NamedTuple):
    """A command's module below this package, and its line in `--help`, which imports no command.

    Without a module it is a group of plain commands alone.
    """

    module: str
    short_help: str


# On the machine of the server, with its data or beside it.
LOCAL = {
    "serve": Subcommand(".serve", "Run the service."),
    "demo": Subcommand(".demo", "Show it at work (needs a running server)."),
    "console": Subcommand(".console", "Print a link that signs in at the console."),
    "keys": Subcommand(".keys", "Make, list, rotate and revoke keys."),
    "workspaces": Subcommand(".workspaces", "Make and list workspaces (tenants)."),
    "master-key": Subcommand(".master_key", "Replace the key that encrypts secrets at rest."),
    "backup": Subcommand(".backup", "Make a backup while the server runs."),
    "restore": Subcommand(".restore", "Make a data folder of a backup."),
    "listen": Subcommand(".listen", "Print and verify webhooks on a port."),
    "doctor": Subcommand(".doctor", "Find the faults of a setup."),
    "version": Subcommand(".version", "Show the versions of Angarium and its parts."),
}
# From anywhere, over HTTP, with a key.
REMOTE = {
    "auth": Subcommand("", "Show the identity of a key."),
    "trigger": Subcommand(".remote.trigger", "Send an example event of a type."),
    "top": Subcommand(".remote.top", "Watch destinations live, those in trouble first."),
    "stream": Subcommand(".remote.stream", "Show live updates as lines of JSON."),
    "events": Subcommand(".remote.events", "Send and look up events."),
    "files": Subcommand(".remote.files", "Upload files, look them up, download them."),
    "destinations": Subcommand(".remote.destinations", "Receivers: make, change, test, watch."),
    "templates": Subcommand(".remote.templates", "Templates of services for destinations."),
    "rules": Subcommand(".remote.rules", "Routing rules: which events go where."),
    "deliveries": Subcommand(".remote.deliveries", "Look up deliveries, and follow new ones."),
    "dlq": Subcommand(".remote.dlq", "Dead letters: retry or discard them."),
    "replay": Subcommand(".remote.replay", "Send past deliveries again."),
    "schemas": Subcommand(".remote.schemas", "Schemas for the events of a type."),
    "transforms": Subcommand(".remote.transforms", "Scripts that change what is sent."),
    "throughput": Subcommand(".remote.throughput", "An environment's rates, now."),
    "observability": Subcommand("", "Counters and history of an environment."),
    "nodes": Subcommand("", "Servers on this database, and the state of each."),
    "audit": Subcommand("", "Who changed what, when."),
    "customers": Subcommand(".remote.customers", "End-customers: quotas and numbers."),
    "workspace": Subcommand(".remote.workspace", "Customers' portals and permissions."),
    "mcp": Subcommand(".remote.mcp", "Serve an agent (Model Context Protocol)."),
    "embed": Subcommand(".remote.embed", "Sessions for end-customers' browsers."),
}
COMMANDS = LOCAL | REMOTE


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.invoke(import_module(COMMANDS["version"].module, __package__).command)
        ctx.exit()


class Program(click.Group):
    """The group of all commands, in the order in which a newcomer needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, importing it."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if not entry.module:
            plain = import_module(".remote.plain", __package__)
            made = import_module(f".remote.made.{cmd_name}", __package__)
            group: click.Group = plain.plain_group(cmd_name, entry.short_help, made.PLAIN)
            return group
        command: click.Command = import_module(entry.module, __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for. Raises UsageError that names what is close to it."""
        found: tuple[str | None, click.Command | None, list[str]] = suggesting(
            super().resolve_command, COMMANDS
        )(ctx, args)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        for title, commands in (
            ("Commands on the server's machine", LOCAL),
            ("Commands over HTTP", REMOTE),
        ):
            with formatter.section(title):
                formatter.write_dl([(name, entry.short_help) for name, entry in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin with a prefix, without importing them, and options."""
        found = [
            CompletionItem(name, help=entry.short_help)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; report errors in words."""
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
@click.pass_context
def main(ctx: click.Context) -> None:
    """Angarium delivers events: signed webhooks, in order, with nothing lost.

    Start with `angarium serve`, then `angarium demo` in a second terminal. Commands over HTTP find the
    server by ANGARIUM_URL (or --url) and act with the key in ANGARIUM_KEY (or --key-file).

    \b
    Exit codes: 0 done; 1 failed or refused; 2 wrong usage or settings; 3 the server or
    its database cannot be reached, or has no room now; 4 not found; 5 not allowed;
    130 interrupted.
    """
    if "NO_COLOR" in os.environ:
        ctx.color = False
    if ctx.invoked_subcommand in LOCAL:
        from api import logs

        logs.configure("console", "warning")  # standard output is for answers; `serve` sets its own
