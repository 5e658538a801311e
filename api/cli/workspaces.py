"""`angarium workspaces`: create and list tenants and set their plans, directly in the database."""

from typing import Any

import click
import trio

from api.cli.database import open_keys
from api.cli.keys import output_option
from api.cli.options import DATABASE, settings_flags, settings_from
from api.cli.printing import json_text, say
from api.cli.suggestions import CommandGroup
from engine.model.configuration import Tenant
from engine.plans.plans import FIRST
from engine.settings import Settings

SETTINGS = (*DATABASE, "plans_file")


@click.group(
    "workspaces",
    help="Create and list workspaces, which are isolated tenants, and set their plans.",
    cls=CommandGroup,
)
def command() -> None:
    """Group the commands on workspaces."""


@command.command("create")
@click.argument("name")
@click.option(
    "--plan",
    default=FIRST,
    help=f"Its plan: free, pro, scale, or one from your plans file. [{FIRST}]",
)
@output_option
@settings_flags(*SETTINGS)
def create(name: str, plan: str, output: str, **flags: Any) -> None:
    """Create a workspace with its three environments."""
    tenant = trio.run(_create, settings_from(flags), name, plan)
    if output == "json":
        say(json_text(shown(tenant)))
    else:
        say(f"workspace {name} ({plan}) created; next: angarium keys create --workspace {name} ...")


async def _create(settings: Settings, name: str, plan: str) -> Tenant:
    async with open_keys(settings) as keys:
        return await keys.create_workspace(name, plan)


@command.command("set-plan")
@click.argument("name")
@click.argument("plan")
@output_option
@settings_flags(*SETTINGS)
def set_plan(name: str, plan: str, output: str, **flags: Any) -> None:
    """Set the plan of the workspace NAME. A running server applies it within a second."""
    tenant = trio.run(_set_plan, settings_from(flags), name, plan)
    if output == "json":
        say(json_text(shown(tenant)))
    else:
        say(f"workspace {name} is on the plan {tenant.workspace.plan}")


async def _set_plan(settings: Settings, name: str, plan: str) -> Tenant:
    async with open_keys(settings) as keys:
        return await keys.set_plan(name, plan)


@command.command("list")
@output_option
@settings_flags(*SETTINGS)
def list_(output: str, **flags: Any) -> None:
    """List workspaces, the oldest first."""
    tenants = trio.run(_list, settings_from(flags))
    if output == "json":
        say(json_text([shown(tenant) for tenant in tenants]))
        return
    for tenant in tenants:
        say(f"{tenant.workspace.id}  {tenant.workspace.plan:<5}  {tenant.workspace.name}")


async def _list(settings: Settings) -> list[Tenant]:
    async with open_keys(settings) as keys:
        return list(await keys.workspaces())


def shown(tenant: Tenant) -> dict[str, Any]:
    """Return a workspace for JSON."""
    return {
        "id": tenant.workspace.id,
        "name": tenant.workspace.name,
        "plan": tenant.workspace.plan,
        "environments": [environment.name.name for environment in tenant.environments],
    }
