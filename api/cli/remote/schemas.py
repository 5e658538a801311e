"""`angarium schemas`: what events of a type must look like."""

from typing import Any

import click

from api.cli.remote.parameters import INSTANT, JSON, JSON_HELP, paged
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

COLUMNS = (
    Column("ID", "id"),
    Column("VERSION", "version"),
    Column("STATUS", "status"),
    Column("CREATED", "createdAt"),
    Column("EVENT TYPE", "eventType"),
    Column("DESCRIPTION", "description"),
)


@click.group("schemas", help="Event schemas (JSON Schema 2020-12), in versions.")
def command() -> None:
    """Group the commands on schemas."""


@command.command("list")
@click.option("--type", "event_type", metavar="EVENT_TYPE", help="Only this type's.")
@click.option(
    "--status", type=click.Choice(("DRAFT", "ACTIVE", "DEPRECATED"), case_sensitive=False)
)
@paged
@over_http
def list_(
    session: Session,
    event_type: str | None,
    status: Any,
    limit: int | None,
    cursor: str | None,
) -> None:
    """List versions, newest first."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.schemas.list(
                limit=count, cursor=after, event_type=event_type, status=status
            ),
            COLUMNS,
            limit,
            cursor,
        )


@command.command("versions")
@click.argument("event_type")
@over_http
def versions(session: Session, event_type: str) -> None:
    """List a type's versions, newest first."""
    with session.client() as client:
        session.output.rows(client.schemas.versions(event_type), COLUMNS)


@command.command("active")
@click.argument("event_type")
@over_http
def active(session: Session, event_type: str) -> None:
    """Show the version that events of a type are held to; exit code 4 without one."""
    with session.client() as client:
        session.output.one(client.schemas.active(event_type))


@command.command("get")
@click.argument("schema_id", metavar="ID")
@over_http
def get(session: Session, schema_id: str) -> None:
    """Show a version."""
    with session.client() as client:
        session.output.one(client.schemas.get(schema_id))


@command.command("create")
@click.argument("event_type")
@click.argument("schema", type=JSON, metavar="JSON")
@click.option("--description", metavar="TEXT")
@click.option("--example", type=JSON, metavar="JSON", help="A payload, which must conform.")
@click.option("--activate", is_flag=True, help="Hold events to it at once.")
@over_http
def create(
    session: Session,
    event_type: str,
    schema: Any,
    description: str | None,
    example: Any,
    activate: bool,
) -> None:
    """Make the next version of a type's schema, as a DRAFT."""
    with session.client() as client:
        made = client.schemas.create(event_type, schema, description=description, example=example)
        if activate:
            made = client.schemas.activate(made["id"])
        session.output.one(made)


create.help = f"{create.help}\n\nJSON is the schema ({JSON_HELP})."


@command.command("activate")
@click.argument("schema_id", metavar="ID")
@over_http
def activate(session: Session, schema_id: str) -> None:
    """Hold events of the type to this version; the active one becomes DEPRECATED."""
    with session.client() as client:
        session.output.one(client.schemas.activate(schema_id))


@command.command("deprecate")
@click.argument("schema_id", metavar="ID")
@over_http
def deprecate(session: Session, schema_id: str) -> None:
    """Hold events of the type to this active version no longer, and to no other."""
    with session.client() as client:
        session.output.one(client.schemas.deprecate(schema_id))


@command.command("infer")
@click.argument("event_type")
@click.option("--sample", type=click.IntRange(1, 1_000), help="How many recent events. [100]")
@click.option("--from", "since", type=INSTANT, metavar="INSTANT", help="Only events since then.")
@click.option("--create", is_flag=True, help="Make a draft of it.")
@over_http
def infer(session: Session, event_type: str, sample: int | None, since: Any, create: bool) -> None:
    """Make a schema that recent events of a type conform to."""
    with session.client() as client:
        session.output.one(
            client.schemas.infer(event_type, sample=sample, since=since, create=create or None)
        )
