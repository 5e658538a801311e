"""`angarium workspaces`: make and list tenants, directly on the database."""

import json
from typing import Any

import click
import trio

from api.cli.database import open_keys
from api.cli.keys import output_option
from api.cli.options import DATABASE, settings_flags, settings_from
from engine.control.keys import PLANS
from engine.control.records import Tenant
from engine.settings import Settings


@click.group(
    "workspaces", help="Make and list workspaces: tenants that know nothing of each other."
)
def command() -> None:
    """Group the commands on workspaces."""


@command.command("create")
@click.argument("name")
@click.option("--plan", type=click.Choice(PLANS), default="scale", help="Its limits. [scale]")
@output_option
@settings_flags(*DATABASE)
def create(name: str, plan: str, output: str, **flags: Any) -> None:
    """Make a workspace with its three environments."""
    tenant = trio.run(_create, settings_from(flags), name, plan)
    if output == "json":
        click.echo(json.dumps(shown(tenant)))
    else:
        click.echo(
            f"workspace {name} ({plan}) made; next: angarium keys create --workspace {name} ..."
        )


async def _create(settings: Settings, name: str, plan: str) -> Tenant:
    async with open_keys(settings) as keys:
        return await keys.create_workspace(name, plan)


@command.command("list")
@output_option
@settings_flags(*DATABASE)
def list_(output: str, **flags: Any) -> None:
    """List workspaces, the oldest first."""
    tenants = trio.run(_list, settings_from(flags))
    if output == "json":
        click.echo(json.dumps([shown(tenant) for tenant in tenants]))
        return
    for tenant in tenants:
        click.echo(f"{tenant.workspace.id}  {tenant.workspace.plan:<5}  {tenant.workspace.name}")


async def _list(settings: Settings) -> list[Tenant]:
    async with open_keys(settings) as keys:
        return list(await keys.workspaces())


def shown(tenant: Tenant) -> dict[str, Any]:
    """Return a workspace as JSON shows it."""
    return {
        "id": tenant.workspace.id,
        "name": tenant.workspace.name,
        "plan": tenant.workspace.plan,
        "environments": [environment.name.name for environment in tenant.environments],
    }
