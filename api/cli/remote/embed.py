"""`angarium embed`: sessions for end-customers' browsers."""

import click

from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http


@click.group("embed", help="Sessions for end-customers' browsers.", cls=PlainGroup)
def command() -> None:
    """Group the commands on embed sessions."""


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
    """Create a token for an end-customer's browser. The token gives access only to this customer's
    destinations."""
    with session.client() as client:
        session.output.one(client.embed_sessions.create(customer, ttl_seconds=ttl))
