"""`angarium embed`: sessions for end-customers' browsers."""

import click

from api.cli.remote.made.embed import PLAIN
from api.cli.remote.plain import add_plain
from api.cli.remote.session import Session, over_http
from api.cli.suggestions import CommandGroup


@click.group("embed", help="Sessions for end-customers' browsers.", cls=CommandGroup)
def command() -> None:
    """Group the commands on embed sessions."""


add_plain(command, PLAIN)


@command.command("session")
@click.argument("customer", metavar="EXTERNAL_ID")
@click.option(
    "--ttl",
    type=click.IntRange(60, 900),
    metavar="SECONDS",
    help="How long the session is valid. [300]",
)
@over_http
def session(session: Session, customer: str, ttl: int | None) -> None:
    """Create a token for an end-customer's browser, which sees only the customer's destinations."""
    with session.client() as client:
        session.output.one(client.embed_sessions.create(customer, ttl_seconds=ttl))
