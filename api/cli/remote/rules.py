"""`angarium rules`: which events go where, and what they would do with one."""

from typing import Any

import click

from api.cli.remote.drafts import rule_body, rule_options
from api.cli.remote.parameters import JSON, JSON_HELP, paged
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

COLUMNS = (
    Column("ID", "id"),
    Column("ENABLED", "enabled"),
    Column("PRIORITY", "priority"),
    Column("DESTINATION", "destinationId"),
    Column("EVENT TYPES", "eventTypes"),
    Column("FILTER", "filter"),
    Column("NAME", "name"),
)
the_id = click.argument("rule_id", metavar="ID")


@click.group("rules", help="Routing rules: which events go where.")
def command() -> None:
    """Group the commands on rules."""


@command.command("list")
@click.option("--destination", metavar="ID", help="Only this one's.")
@click.option("--enabled/--disabled", default=None, help="Only those.")
@paged
@over_http
def list_(
    session: Session,
    destination: str | None,
    enabled: bool | None,
    limit: int | None,
    cursor: str | None,
) -> None:
    """List rules, newest first."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.routing_rules.list(
                limit=count, cursor=after, destination_id=destination, enabled=enabled
            ),
            COLUMNS,
            limit,
            cursor,
        )


@command.command("get")
@the_id
@over_http
def get(session: Session, rule_id: str) -> None:
    """Show a rule, and how often its filter failed."""
    with session.client() as client:
        session.output.one(client.routing_rules.get(rule_id))


@command.command("create")
@click.argument("name")
@click.argument("destination", metavar="DESTINATION_ID")
@click.argument("types", metavar="EVENT_TYPE...", nargs=-1)
@click.option("--enabled/--disabled", default=None, help="Whether it matches now. [enabled]")
@rule_options
@over_http
def create(session: Session, **given: Any) -> None:
    """Route event types to a destination: order.created, 'order.*', '*'."""
    from angarium.calls import Call

    body = rule_body(given)
    with session.client() as client:
        made = client.send(Call[Any]("POST", "/routing-rules", body=body, repeatable=False))
        session.output.one(made)


@command.command("update")
@the_id
@click.option("--name", metavar="NAME")
@click.option("--destination", metavar="ID", help="Another destination.")
@click.option("--type", "types", multiple=True, metavar="EVENT_TYPE", help="May be repeated.")
@click.option("--no-filter", is_flag=True, help="Remove the filter.")
@rule_options
@over_http
def update(session: Session, rule_id: str, **given: Any) -> None:
    """Change what is given."""
    change: Any = rule_body(given)
    if not change:
        raise click.UsageError("nothing to change: give at least one flag")
    with session.client() as client:
        session.output.one(client.routing_rules.update(rule_id, change))


@command.command("delete")
@the_id
@over_http
def delete(session: Session, rule_id: str) -> None:
    """Delete a rule. Deliveries that it made go on."""
    with session.client() as client:
        session.output.one(client.routing_rules.delete(rule_id))


@command.command("enable")
@the_id
@over_http
def enable(session: Session, rule_id: str) -> None:
    """Let a rule match."""
    with session.client() as client:
        session.output.one(client.routing_rules.enable(rule_id))


@command.command("disable")
@the_id
@over_http
def disable(session: Session, rule_id: str) -> None:
    """Keep a rule from matching."""
    with session.client() as client:
        session.output.one(client.routing_rules.disable(rule_id))


@command.command("preview")
@click.argument("event", type=JSON, metavar="JSON")
@click.option("--rule", type=JSON, metavar="JSON", help="A rule that does not exist yet, to try.")
@over_http
def preview(session: Session, event: Any, rule: Any) -> None:
    """Say which destinations an event would reach, and why. Nothing is sent."""
    with session.client() as client:
        session.output.one(client.routing_rules.preview(event, rule=rule))


preview.help = f"{preview.help}\n\nJSON is an event as it would be sent ({JSON_HELP})."
