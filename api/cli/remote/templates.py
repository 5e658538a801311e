"""`angarium templates`: the catalog of services for which destinations can be created."""

from typing import Any

import click

from api.cli.errors import FAILED
from api.cli.remote.configuration import config_options, given_config, typed
from api.cli.remote.parameters import JSON, JSON_HELP
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import TableColumn

FIELDS = (
    TableColumn("FIELD", "name"),
    TableColumn("TYPE", "type"),
    TableColumn("REQUIRED", "required"),
    TableColumn("SECRET", "secret"),
    TableColumn("TITLE", "title"),
    TableColumn("DESCRIPTION", "description"),
)
the_id = click.argument("template_id", metavar="ID")


@click.group("templates", help="Show and try the templates for destinations.", cls=PlainGroup)
def command() -> None:
    """Group the commands on templates."""


@command.command("show")
@the_id
@over_http
def show(session: Session, template_id: str) -> None:
    """Show a template. The form `table` lists the fields of the template's configuration, the forms
    `json` and `jsonl` show the whole template."""
    with session.client() as client:
        found = client.templates.get(template_id)
    if not session.output.for_people:
        session.output.one(found)
        return
    schema = found["configSchema"]
    session.output.rows(
        [
            {
                **field,
                "name": name,
                "required": name in schema["required"],
                "secret": field.get("secret", False),
            }
            for name, field in schema["properties"].items()
        ],
        FIELDS,
    )
    session.output.one(
        {
            "defaults": found["defaults"],
            "documentationUrls": found["documentationUrls"],
            "example": found["example"],
        }
    )


@command.command("preview")
@the_id
@click.option("--destination", metavar="ID", help="Start from this destination's configuration.")
@click.option(
    "--event", type=JSON, metavar="JSON",
    help=f"An event in its input or outbound form ({JSON_HELP}). [the template's example]",
)  # fmt: skip
@click.option("--event-id", metavar="ID", help="An accepted event.")
@config_options
@over_http
def preview(
    session: Session,
    template_id: str,
    destination: str | None,
    event: Any,
    event_id: str | None,
    **given: Any,
) -> None:
    """Show the request that the template makes. Nothing is sent. Exit code 1 if the template cannot make
    the request."""
    values = given_config(given)
    with session.client() as client:
        config = typed(values, client.templates.get(template_id)) if values else None
        found = client.templates.preview(
            template_id, config, event=event, event_id=event_id, destination_id=destination
        )
    session.output.one(found)
    if found["request"] is None:
        raise click.exceptions.Exit(FAILED)
