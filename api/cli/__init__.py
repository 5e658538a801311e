"""The console command `angarium`. Each subcommand has its own module."""

import os
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from api.cli.errors import explain
from api.cli.remote.made import GROUPS
from api.cli.suggestions import suggesting


class Subcommand(NamedTuple):
    """A command's module, and the command's line in `--help`. Because the line is here, `--help` need not
    import the module.

    `module` is empty for a group that has only generated commands.
    """

    module: str
    short_help: str


# Commands that run on the server's machine.
LOCAL = {
    "serve": Subcommand(".serve", "Run the service."),
    "demo": Subcommand(".demo", "Show a demonstration (needs a running server)."),
    "console": Subcommand(".console", "Print a link that signs in at the console."),
    "keys": Subcommand(".keys", "Create, list, rotate and revoke keys."),
    "workspaces": Subcommand(".workspaces", "Create and list workspaces (tenants)."),
    "master-key": Subcommand(".master_key", "Replace the key that encrypts secrets at rest."),
    "backup": Subcommand(".backup", "Make a backup while the server runs."),
    "restore": Subcommand(".restore", "Make a data folder from a backup."),
    "listen": Subcommand(".listen", "Print and verify webhooks on a port."),
    "doctor": Subcommand(".doctor", "Find the problems of a setup."),
    "version": Subcommand(".version", "Show the versions of Angarium and its parts."),
}
# Commands over HTTP, which need an API key. A group that has only generated commands needs no entry here.
# If it has no entry, `--help` lists it last, and describes it with the summary of its first command.
REMOTE = {
    "auth": Subcommand("", "Show the identity of a key."),
    "trigger": Subcommand(".remote.trigger", "Send an example event of a type."),
    "top": Subcommand(".remote.top", "Watch destinations live, failing ones first."),
    "stream": Subcommand(".remote.stream", "Show live updates as lines of JSON."),
    "events": Subcommand(".remote.events", "Send and look up events."),
    "files": Subcommand(".remote.files", "Upload, list and download files."),
    "destinations": Subcommand(".remote.destinations", "Create, change, test and watch receivers."),
    "templates": Subcommand(".remote.templates", "Show the templates for destinations."),
    "rules": Subcommand(".remote.rules", "Create, change and try routing rules."),
    "deliveries": Subcommand(".remote.deliveries", "Look up deliveries, and follow new ones."),
    "dlq": Subcommand(".remote.dlq", "List, retry or discard dead letters."),
    "replay": Subcommand(".remote.replay", "Send past deliveries again."),
    "schemas": Subcommand(".remote.schemas", "Create and activate schemas of events."),
    "transforms": Subcommand(".remote.transforms", "Create and publish transform scripts."),
    "throughput": Subcommand(".remote.throughput", "Show the present rates of an environment."),
    "observability": Subcommand("", "Show the counters of an environment."),
    "nodes": Subcommand("", "List the servers, drain and undrain machines."),
    "audit": Subcommand("", "Show who changed the configuration."),
    "customers": Subcommand(".remote.customers", "Show and change end-customers' quotas."),
    "workspace": Subcommand(".remote.workspace", "Show and change the workspace's settings."),
    "mcp": Subcommand(".remote.mcp", "Serve an agent (Model Context Protocol)."),
    "embed": Subcommand(".remote.embed", "Open sessions for end-customers' browsers."),
}
REMOTE |= {name: Subcommand("", about) for name, about in GROUPS.items() if name not in REMOTE}
COMMANDS = LOCAL | REMOTE


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.invoke(import_module(COMMANDS["version"].module, __package__).command)
        ctx.exit()


class Program(click.Group):
    """The group of all commands, in the order in which a new user needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if not entry.module:
            plain = import_module(".remote.plain", __package__)
            group: click.Group = plain.PlainGroup(cmd_name, help=entry.short_help)
            return group
        command: click.Command = import_module(entry.module, __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises UsageError with the closest command."""
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
        found = [
            CompletionItem(name, help=entry.short_help)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BaseException as error:
            explain(error)


@click.group(
    cls=Program, context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the versions, like the command version.",
)  # fmt: skip
@click.pass_context
def main(ctx: click.Context) -> None:
    """Angarium delivers events as signed webhooks, in order and without loss.

    Start with `angarium serve`, then `angarium demo` in a second terminal. Commands over HTTP use the
    server at ANGARIUM_URL (or --url) and the key in ANGARIUM_KEY (or --key-file).

    \b
    Exit codes: 0 done; 1 failed or refused; 2 wrong usage or settings; 3 the server or
    its database cannot be reached, or is overloaded; 4 not found; 5 not allowed;
    130 interrupted.
    """
    if "NO_COLOR" in os.environ:
        ctx.color = False
    if ctx.invoked_subcommand in LOCAL:
        from api import logs

        logs.configure("console", "warning")  # stdout is for answers
