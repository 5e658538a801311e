"""`angarium keys`: create, list, rotate and revoke keys, directly in the database."""

import sys
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import click
import trio

from api.cli.database import open_keys
from api.cli.errors import SettingsTrouble
from api.cli.options import DATABASE, settings_flags, settings_from
from api.cli.printing import json_text, say
from api.cli.suggestions import CommandGroup
from engine.control.keys import NewKey
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.model.configuration import KeyRecord
from engine.model.identity import created_at_ms
from engine.settings import Settings

output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The format of the output. [text]",
)

secret_output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    help="The format of the output. Required if standard output is not a terminal. [text]",
)


@click.group(
    "keys",
    short_help="Create, list, rotate and revoke keys.",
    help="Create, list, rotate and revoke API keys. A running server knows the change within a second.",
    cls=CommandGroup,
)
def command() -> None:
    """Group the commands on keys."""


@command.command("create")
@click.option(
    "--environment",
    type=click.Choice([e.name for e in Environment], case_sensitive=False),
    help="The key's environment; not with --mcp.",
)
@click.option(
    "--scope",
    required=True,
    type=click.Choice([s.name.lower() for s in Scope], case_sensitive=False),
    help="ingest: only send events; read: only read; manage: everything.",
)
@click.option(
    "--mcp", is_flag=True, help="Create a key of the whole workspace, for every environment."
)
@click.option(
    "--workspace",
    metavar="NAME",
    help="The key's workspace, which is created if missing. [the oldest one]",
)
@click.option(
    "--name", default="command line", help="The key's name, such as its purpose. [command line]"
)
@secret_output_option
@settings_flags(*DATABASE)
def create(
    environment: str | None,
    scope: str,
    mcp: bool,
    workspace: str | None,
    name: str,
    output: str | None,
    **flags: Any,
) -> None:
    """Create a key and print its secret. The secret cannot be shown again. If you lose the secret, create
    a new one with `rotate`."""
    if environment is None and not mcp:
        raise SettingsTrouble("--environment is needed: DEVELOPMENT, STAGING or PRODUCTION")
    form = secret_form(output)
    bound = None if mcp or environment is None else Environment[environment.upper()]
    made = trio.run(_create, settings_from(flags), workspace, Scope[scope.upper()], bound, name)
    show_new(made, form)


async def _create(
    settings: Settings,
    workspace: str | None,
    scope: Scope,
    environment: Environment | None,
    name: str,
) -> NewKey:
    async with open_keys(settings) as keys:
        tenant = await keys.ensure_workspace(workspace)
        return await keys.create(tenant, scope, environment, name)


@command.command("list")
@click.option("--workspace", metavar="NAME", help="Only keys of this workspace. [all]")
@output_option
@settings_flags(*DATABASE)
def list_(workspace: str | None, output: str, **flags: Any) -> None:
    """List keys, without their secrets."""
    found = trio.run(_list, settings_from(flags), workspace)
    if output == "json":
        say(json_text([shown(key) | {"workspace": name} for name, key in found]))
        return
    row = "{:<36}  {:<12}  {:<11}  {:<6}  {:<14}  {:<10}  {:<16}  {}"
    columns = ("ID", "WORKSPACE", "ENVIRONMENT", "SCOPE", "SECRET", "CREATED", "LAST USED", "NAME")
    say(row.format(*columns))
    for name, key in found:
        values = shown(key)
        say(
            row.format(
                values["id"],
                name,
                values["environment"] or "(any)",
                values["scope"],
                f"{values['prefix']}..{values['lastFour']}",
                values["createdAt"][:10],
                (values["lastUsedAt"] or "never")[:16].replace("T", " "),
                values["name"],
            )
        )


async def _list(settings: Settings, workspace: str | None) -> list[tuple[str, KeyRecord]]:
    async with open_keys(settings) as keys:
        tenants = [await keys.workspace(workspace)] if workspace else await keys.workspaces()
        return [
            (tenant.workspace.name, key) for tenant in tenants for key in await keys.list(tenant)
        ]


@command.command("rotate")
@click.argument("key_id", metavar="ID", type=click.UUID)
@secret_output_option
@settings_flags(*DATABASE)
def rotate(key_id: UUID, output: str | None, **flags: Any) -> None:
    """Give a key a new secret. The former secret stays valid for 24 hours."""
    form = secret_form(output)
    show_new(trio.run(_rotate, settings_from(flags), str(key_id)), form)


async def _rotate(settings: Settings, key_id: str) -> NewKey:
    async with open_keys(settings) as keys:
        return await keys.rotate(key_id)


@command.command("revoke")
@click.argument("key_id", metavar="ID", type=click.UUID)
@settings_flags(*DATABASE)
def revoke(key_id: UUID, **flags: Any) -> None:
    """End a key with all its secrets, now."""
    trio.run(_revoke, settings_from(flags), str(key_id))
    say(f"revoked {key_id}")


async def _revoke(settings: Settings, key_id: str) -> None:
    async with open_keys(settings) as keys:
        await keys.revoke(key_id)


def secret_form(output: str | None) -> str:
    """Return the format in which to print a key. Raises SettingsTrouble if the user gave no format and
    standard output is not a terminal: standard output can be a log, and a log must not contain keys."""
    if output is None and not sys.stdout.isatty():
        raise SettingsTrouble(
            "standard output is not a terminal, and a log must not have keys."
            " Give --output text or --output json to print the key there"
        )
    return output or "text"


def show_new(made: NewKey, output: str) -> None:
    """Print a new secret."""
    key = made.key
    environment = None if key.environment_name is None else key.environment_name.name
    if output == "json":
        fields = {
            "id": key.id,
            "secret": made.secret,
            "environment": environment,
            "scope": key.scope.name.lower(),
        }
        say(json_text(fields))
        return
    say(made.secret)
    say(
        f"{key.scope.name.lower()} key {key.id} for {environment or 'any environment'}; "
        "keep the secret now, it is not shown again",
        err=True,
    )


def shown(key: KeyRecord) -> dict[str, Any]:
    """Return the API's fields of a key, without the secret."""
    secret = key.secrets[0]
    return {
        "id": key.id,
        "kind": CredentialKind(key.kind).name,
        "name": key.name,
        "scope": key.scope.name.lower(),
        "environment": None if key.environment_name is None else key.environment_name.name,
        "prefix": secret.prefix,
        "lastFour": secret.last_four,
        "fingerprint": secret.fingerprint,
        "createdAt": _instant(created_at_ms(key.id)),
        "lastUsedAt": None if key.last_used_at_ms is None else _instant(key.last_used_at_ms),
        "rotatedAt": _instant(secret.created_at_ms) if len(key.secrets) > 1 else None,
    }


def _instant(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
