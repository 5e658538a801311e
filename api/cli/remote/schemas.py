"""`angarium schemas`: JSON Schemas for the payloads of event types."""

from typing import Any

import click

from api.cli.remote.parameters import INSTANT, JSON, JSON_HELP
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http


@click.group("schemas", help="Event schemas (JSON Schema 2020-12), in versions.", cls=PlainGroup)
def command() -> None:
    """Group the commands on schemas."""


@command.command("create")
@click.argument("event_type")
@click.argument("schema", type=JSON, metavar="JSON")
@click.option("--description", metavar="TEXT")
@click.option(
    "--example",
    type=JSON,
    metavar="JSON",
    help="An example payload, which must conform to the schema.",
)
@click.option("--activate", is_flag=True, help="Check events against it at once.")
@over_http
def create(
    session: Session,
    event_type: str,
    schema: Any,
    description: str | None,
    example: Any,
    activate: bool,
) -> None:
    """Create the next version of a type's schema, as a DRAFT."""
    with session.client() as client:
        made = client.schemas.create(event_type, schema, description=description, example=example)
        if activate:
            made = client.schemas.activate(made["id"])
        session.output.one(made)


create.help = f"{create.help}\n\nJSON is the schema ({JSON_HELP})."


@command.command("infer")
@click.argument("event_type")
@click.option(
    "--sample", type=click.IntRange(1, 1_000), help="The number of recent events to read. [100]"
)
@click.option(
    "--from", "since", type=INSTANT, metavar="INSTANT", help="Only events since this instant."
)
@click.option("--create", is_flag=True, help="Create a draft from the schema.")
@over_http
def infer(session: Session, event_type: str, sample: int | None, since: Any, create: bool) -> None:
    """Infer a schema to which recent events of a type conform."""
    with session.client() as client:
        session.output.one(
            client.schemas.infer(event_type, sample=sample, since=since, create=create or None)
        )
