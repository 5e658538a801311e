"""`angarium customers`: quotas and objects of end-customers."""

from typing import Any

import click

from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http
from api.cli.remote.workspace import permissions_of

_COUNT = click.IntRange(min=0)


@click.group(
    "customers",
    help="End-customers: their quotas, and the numbers of their objects.",
    cls=PlainGroup,
)
def command() -> None:
    """Group the commands on customers."""


@command.command("set")
@click.argument("customer", metavar="EXTERNAL_ID")
@click.option("--name", metavar="TEXT", help="A name for people.")
@click.option("--destinations", type=_COUNT, help="The most destinations of the customer.")
@click.option("--rules", type=_COUNT, help="The most routing rules of the customer's destinations.")
@click.option(
    "--transforms", type=_COUNT, help="The most transform scripts of the customer's destinations."
)
@click.option(
    "--requests",
    type=click.IntRange(min=1),
    help="The most requests a minute of all the customer's sessions.",
)
@click.option(
    "--allow", "allowed", multiple=True, metavar="ABILITY",
    help="Allow this ability in the customer's sessions, even if the workspace forbids it; can be "
    "repeated.",
)  # fmt: skip
@click.option(
    "--deny",
    "denied",
    multiple=True,
    metavar="ABILITY",
    help="Forbid this ability in the customer's sessions; can be repeated.",
)
@over_http
def set_(session: Session, customer: str, **given: Any) -> None:
    """Set an end-customer's name, quotas and permissions. If a quota is not given, the plan's quota
    applies. If a permission is not given, the workspace's default applies. If the name is not given, the
    present name is removed."""
    with session.client() as client:
        session.output.one(
            client.customers.put(
                customer,
                name=given["name"],
                quotas={
                    "destinations": given["destinations"],
                    "rules": given["rules"],
                    "transforms": given["transforms"],
                    "requestsPerMinute": given["requests"],
                },
                permissions=permissions_of(given["allowed"], given["denied"]),
            )
        )
