"""`angarium auth`: who a key is."""

import click

from api.cli.remote.session import Session, over_http


@click.group("auth", help="Who a key is.")
def command() -> None:
    """Group the commands on credentials."""


@command.command("context")
@over_http
def context(session: Session) -> None:
    """Show the workspace, environment and scope of the key."""
    with session.client() as client:
        session.output.one(client.auth_context())
