"""`angarium rules`: create, change and try routing rules."""

from typing import Any

import click

from api.cli.remote.drafts import rule_body, rule_options
from api.cli.remote.parameters import JSON, JSON_HELP
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http

the_id = click.argument("rule_id", metavar="ID")


@click.group("rules", help="Create, change and try routing rules.", cls=PlainGroup)
def command() -> None:
    """Group the commands on rules."""


@command.command("create")
@click.argument("name")
@click.argument("destination", metavar="DESTINATION_ID")
@click.argument("types", metavar="EVENT_TYPE...", nargs=-1)
@click.option("--enabled/--disabled", default=None, help="The state of the rule. [enabled]")
@rule_options
@over_http
def create(session: Session, **given: Any) -> None:
    """Route event types to a destination. Examples of EVENT_TYPE: order.created, 'order.*', '*'."""
    from angarium.calls import Call

    body = rule_body(given)
    with session.client() as client:
        made = client.send(Call[Any]("POST", "/routing-rules", body=body, repeatable=False))
        session.output.one(made)


@command.command("update")
@the_id
@click.option("--name", metavar="NAME")
@click.option("--destination", metavar="ID", help="Another destination.")
@click.option("--type", "types", multiple=True, metavar="EVENT_TYPE", help="Can be repeated.")
@click.option("--no-filter", is_flag=True, help="Remove the filter.")
@rule_options
@over_http
def update(session: Session, rule_id: str, **given: Any) -> None:
    """Change the given fields."""
    change: Any = rule_body(given)
    if not change:
        raise click.UsageError("nothing to change: give at least one flag")
    with session.client() as client:
        session.output.one(client.routing_rules.update(rule_id, change))


@command.command("preview")
@click.argument("event", type=JSON, metavar="JSON")
@click.option(
    "--rule", type=JSON, metavar="JSON", help="Also try this rule, which does not exist yet."
)
@over_http
def preview(session: Session, event: Any, rule: Any) -> None:
    """Show which destinations an event would reach, and why. Nothing is sent."""
    with session.client() as client:
        session.output.one(client.routing_rules.preview(event, rule=rule))


preview.help = f"{preview.help}\n\nJSON is an event in the form of `POST /events` ({JSON_HELP})."
