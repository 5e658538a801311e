"""`angarium audit`: who changed what, when."""

from typing import Any

import click

from api.cli.remote.parameters import paged, since_until
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

COLUMNS = (
    Column("AT", "createdAt"),
    Column("ID", "id"),
    Column("ACTOR", "actorType"),
    Column("ACTOR ID", "actorId"),
    Column("ACTION", "action"),
    Column("OBJECT", "objectId"),
)


@click.group("audit", help="The audit log: who changed what, when.")
def command() -> None:
    """Group the commands on the audit log."""


@command.command("list")
@click.option("--action", metavar="ACTION", help="Such as api_key.rotate.")
@click.option("--object-type", metavar="TYPE", help="Such as destination.")
@click.option("--object", "object_id", metavar="ID")
@click.option("--actor", "actor_id", metavar="ID", help="A key's, for what was done with it.")
@since_until
@paged
@over_http
def list_(session: Session, limit: int | None, cursor: str | None, **chosen: Any) -> None:
    """List changes, newest first."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.audit_logs.list(limit=count, cursor=after, **chosen),
            COLUMNS,
            limit,
            cursor,
        )


@command.command("get")
@click.argument("entry_id", metavar="ID")
@over_http
def get(session: Session, entry_id: str) -> None:
    """Show a change, with what was before and after."""
    with session.client() as client:
        session.output.one(client.audit_logs.get(entry_id))
