"""`angarium destinations`: receivers, and how they do."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from api.cli.errors import FAILED
from api.cli.remote.configuration import config_options, given_config, typed
from api.cli.remote.drafts import (
    destination_body,
    destination_options,
    keep_secret,
    secret_option,
)
from api.cli.remote.parameters import paged
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

if TYPE_CHECKING:
    from angarium import Client
    from angarium.shapes import DestinationTemplate

COLUMNS = (
    Column("ID", "id"),
    Column("STATUS", "status"),
    Column("ORDERING", "delivery.ordering"),
    Column("CUSTOMER", "customerExternalId"),
    Column("TEMPLATE", "templateId"),
    Column("NAME", "name"),
    Column("URL", "url"),
)
SERIES = (
    Column("AT", "at"),
    Column("ATTEMPTS", "attempts"),
    Column("DELIVERED", "delivered"),
    Column("FAILED", "failed"),
    Column("RETRIED", "retried"),
    Column("DEAD", "deadLettered"),
    Column("P50 MS", "latencyMs.p50"),
    Column("P95 MS", "latencyMs.p95"),
    Column("P99 MS", "latencyMs.p99"),
)
PERIODS = ("1h", "6h", "24h", "7d", "30d")
the_id = click.argument("destination_id", metavar="ID")


@click.group("destinations", help="Receivers: make them, change them, and see how they do.")
def command() -> None:
    """Group the commands on destinations."""


@command.command("list")
@click.option(
    "--status", type=click.Choice(("ACTIVE", "DISABLED", "ARCHIVED"), case_sensitive=False),
    help="ARCHIVED ones are listed only when asked for.",
)  # fmt: skip
@click.option("--customer-account", metavar="ID", help="Only this account's.")
@paged
@over_http
def list_(
    session: Session,
    status: Any,
    customer_account: str | None,
    limit: int | None,
    cursor: str | None,
) -> None:
    """List destinations, newest first."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.destinations.list(
                limit=count, cursor=after, status=status, customer_account_id=customer_account
            ),
            COLUMNS,
            limit,
            cursor,
        )


@command.command("get")
@the_id
@over_http
def get(session: Session, destination_id: str) -> None:
    """Show a destination."""
    with session.client() as client:
        session.output.one(client.destinations.get(destination_id))


@command.command("create")
@click.argument("name")
@click.argument("address", metavar="[URL]", required=False)
@click.option("--template", metavar="ID", help="Of `angarium templates list`; instead of a URL.")
@config_options
@click.option("--customer", metavar="EXTERNAL_ID", help="Tie it to this end-customer's events.")
@click.option(
    "--algorithm", type=click.Choice(("HMAC_SHA256", "ED25519"), case_sensitive=False),
    help="How it is signed. [HMAC_SHA256]",
)  # fmt: skip
@destination_options
@secret_option
@over_http
def create(session: Session, secret_file: Path | None, template: str | None, **given: Any) -> None:
    """Make a destination called NAME that receives at URL, or one of a template."""
    from angarium.calls import Call

    values = given_config(given)
    if (given["address"] is None) is (template is None) and not given["data"]:
        raise click.UsageError("give either a URL or --template")
    if values and template is None:
        raise click.UsageError("--config is of a template: give --template")
    body = destination_body(given)
    with session.client() as client:
        if template is not None:
            config = typed(values, client.templates.get(template))
            body |= {"templateId": template, "config": (body.get("config") or {}) | config}
        made = client.send(Call[Any]("POST", "/destinations", body=body, repeatable=False))
        session.output.one(keep_secret(made, secret_file))


@command.command("update")
@the_id
@click.option("--name", metavar="NAME")
@click.option("--address", metavar="URL", help="Where it receives.")
@click.option(
    "--remove-header", "removed_headers", multiple=True, metavar="NAME", help="May be repeated."
)
@config_options
@click.option(
    "--remove-config", "removed_config", multiple=True, metavar="NAME", help="May be repeated."
)
@click.option("--no-rate-limit", is_flag=True, help="Send as fast as it goes.")
@click.option("--rotate-secret", is_flag=True, help="Make a new secret; both sign for 24 hours.")
@destination_options
@secret_option
@over_http
def update(
    session: Session,
    destination_id: str,
    rotate_secret: bool,
    secret_file: Path | None,
    removed_config: tuple[str, ...],
    **given: Any,
) -> None:
    """Change what is given; it acts on every attempt not yet begun."""
    change: Any = destination_body(given)
    values = given_config(given)
    if rotate_secret:
        change["rotateSecret"] = True
    if not (change or values or removed_config):
        raise click.UsageError("nothing to change: give at least one flag")
    with session.client() as client:
        if values or removed_config:
            config = typed(values, _template_of(client, destination_id)) if values else {}
            removed = dict.fromkeys(removed_config)
            change["config"] = (change.get("config") or {}) | config | removed
        changed = client.destinations.update(destination_id, change)
        session.output.one(keep_secret(changed, secret_file))


def _template_of(client: "Client", destination_id: str) -> "DestinationTemplate":
    template = client.destinations.get(destination_id)["templateId"]
    if template is None:
        raise click.UsageError("the destination is of no template")
    return client.templates.get(template)


@command.command("enable")
@the_id
@over_http
def enable(session: Session, destination_id: str) -> None:
    """Send on what was held."""
    with session.client() as client:
        session.output.one(client.destinations.enable(destination_id))


@command.command("disable")
@the_id
@over_http
def disable(session: Session, destination_id: str) -> None:
    """Hold deliveries until it is enabled again."""
    with session.client() as client:
        session.output.one(client.destinations.disable(destination_id))


@command.command("delete")
@the_id
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@over_http
def delete(session: Session, destination_id: str, yes: bool) -> None:
    """Archive a destination for good: what waits for it is discarded, the record stays."""
    session.confirm(f"Archive {destination_id} and discard what waits for it?", yes=yes)
    with session.client() as client:
        session.output.one(client.destinations.archive(destination_id))


@command.command("test")
@the_id
@over_http
def test(session: Session, destination_id: str) -> None:
    """Send a signed sample now; exit code 1 unless the receiver took it."""
    with session.client() as client:
        result = client.destinations.test(destination_id)
    session.output.one(result)
    if not result["success"]:
        raise click.exceptions.Exit(FAILED)


@command.command("health")
@the_id
@over_http
def health(session: Session, destination_id: str) -> None:
    """Show how it does, from its live actor."""
    with session.client() as client:
        session.output.one(client.destinations.health(destination_id))


@command.command("analytics")
@the_id
@click.option("--period", type=click.Choice(PERIODS), help="Up to now. [24h]")
@click.option(
    "--granularity", type=click.Choice(("minute", "hour", "day")),
    help="A row's span. [minute up to 6h, hour up to 7d, else day]",
)  # fmt: skip
@over_http
def analytics(session: Session, destination_id: str, period: Any, granularity: Any) -> None:
    """Show attempts, deliveries and latencies over time. In a table, only spans with something."""
    with session.client() as client:
        found = client.destinations.analytics(
            destination_id, period=period, granularity=granularity
        )
    if not session.output.for_people:
        session.output.one(found)
        return
    busy = [point for point in found["series"] if point["attempts"] or point["deadLettered"]]
    session.output.rows(busy, SERIES)
    totals = {"totals": found["totals"], "errorCategories": found["errorCategories"]}
    session.output.one({"from": found["from"], "to": found["to"], **totals})
