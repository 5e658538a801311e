"""`angarium destinations`: receivers, and their health."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from api.cli.errors import FAILED
from api.cli.remote.configuration import config_options, given_config, typed
from api.cli.remote.drafts import (
    destination_body,
    destination_options,
    keep_secret,
    put,
    secret_option,
)
from api.cli.remote.made.destinations import PLAIN
from api.cli.remote.made.words import (
    ANALYTICS_GRANULARITY,
    ANALYTICS_PERIOD,
    DESTINATION_STATUS,
    SIGNING_ALGORITHM,
)
from api.cli.remote.overview import COLUMNS, EVERY_S, SORTS, Overview, Sort
from api.cli.remote.parameters import JSON, JSON_HELP, paged
from api.cli.remote.plain import PlainGroup, columns_of
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import TableColumn

if TYPE_CHECKING:
    from angarium import Client
    from angarium.shapes import DestinationTemplate

ARCHIVED = "ARCHIVED"
SERIES = (
    TableColumn("AT", "at"),
    TableColumn("ATTEMPTS", "attempts"),
    TableColumn("DELIVERED", "delivered"),
    TableColumn("FAILED", "failed"),
    TableColumn("RETRIED", "retried"),
    TableColumn("DEAD", "deadLettered"),
    TableColumn("P50 MS", "latencyMs.p50"),
    TableColumn("P95 MS", "latencyMs.p95"),
    TableColumn("P99 MS", "latencyMs.p99"),
)
the_id = click.argument("destination_id", metavar="ID")


@click.group(
    "destinations",
    help="Create, change and test receivers, and show their health.",
    cls=PlainGroup,
)
def command() -> None:
    """Group the commands on destinations."""


@command.command("list")
@click.option(
    "--status", "statuses", type=click.Choice(DESTINATION_STATUS, case_sensitive=False),
    multiple=True, help="Can be repeated. [ACTIVE and DISABLED]",
)  # fmt: skip
@click.option("--customer-account", "account", metavar="ID", help="Destinations of this account.")
@click.option(
    "--sort", type=click.Choice(SORTS), default="trouble", help="The order of a table. [trouble]"
)
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(0.5, 3600), default=EVERY_S, metavar="SECONDS",
    help=f"With --watch: the time between two reads. [{EVERY_S:g}]",
)  # fmt: skip
@paged
@over_http
def list_(
    session: Session,
    statuses: tuple[str, ...],
    account: str | None,
    sort: Sort,
    watch: bool,
    interval: float,
    limit: int | None,
    cursor: str | None,
) -> None:
    """List destinations.

    A table shows state, backlog, attempts per second and concurrency, failing destinations first. The
    JSON output is the API's list, newest destinations first. With --watch, the JSON output has the rows
    of the table instead.
    """
    output = session.output
    if watch and (cursor is not None or ARCHIVED in statuses):
        raise click.UsageError("--watch cannot be used with --cursor or archived destinations")
    with session.client() as client:
        overview = Overview(client, sort, statuses, account)
        if watch:
            while True:
                output.whole(overview.rows(limit), COLUMNS, in_place=True)
                time.sleep(interval)
        elif output.for_people and cursor is None and ARCHIVED not in statuses:
            output.whole(overview.rows(limit), COLUMNS)
        else:
            chosen: dict[str, Any] = {"status": statuses or None, "customer_account_id": account}
            output.listing(
                lambda count, after: client.destinations.list(limit=count, cursor=after, **chosen),
                columns_of(PLAIN, "list"),
                limit,
                cursor,
            )


@command.command("create")
@click.argument("name")
@click.argument("address", metavar="[URL]", required=False)
@click.option(
    "--template", metavar="ID", help="A template of `angarium templates list`, instead of a URL."
)
@config_options
@click.option(
    "--customer",
    metavar="EXTERNAL_ID",
    help="The end-customer to whom the destination belongs. It gets only this customer's events.",
)
@click.option(
    "--algorithm", type=click.Choice(SIGNING_ALGORITHM, case_sensitive=False),
    help="The signature scheme. [HMAC_SHA256]",
)  # fmt: skip
@destination_options
@secret_option
@over_http
def create(session: Session, secret_file: Path | None, template: str | None, **given: Any) -> None:
    """Create a destination NAME with a URL or from a template."""
    from angarium.calls import Call

    values = given_config(given)
    if (given["address"] is None) is (template is None) and not given["data"]:
        raise click.UsageError("give either a URL or --template")
    if values and template is None:
        raise click.UsageError("--config needs --template")
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
@click.option("--address", metavar="URL", help="The URL of the receiver.")
@click.option(
    "--remove-header", "removed_headers", multiple=True, metavar="NAME", help="Can be repeated."
)
@config_options
@click.option(
    "--remove-config", "removed_config", multiple=True, metavar="NAME", help="Can be repeated."
)
@click.option("--no-rate-limit", is_flag=True, help="Send without a rate limit.")
@click.option("--no-authentication", is_flag=True, help="Remove the authentication.")
@click.option(
    "--no-disable-after", is_flag=True, help="Never disable the destination because of failures."
)
@click.option("--rotate-secret", is_flag=True, help="Create a new secret.")
@click.option(
    "--grace-seconds", type=click.IntRange(0, 604_800),
    help="How long the former secret also signs. [86400]",
)  # fmt: skip
@destination_options
@secret_option
@over_http
def update(
    session: Session,
    destination_id: str,
    rotate_secret: bool,
    grace_seconds: int | None,
    secret_file: Path | None,
    removed_config: tuple[str, ...],
    **given: Any,
) -> None:
    """Change the given fields. Attempts that have already begun do not see the change."""
    change: Any = destination_body(given)
    values = given_config(given)
    if rotate_secret:
        change["rotateSecret"] = True
    put(change, graceSeconds=grace_seconds)
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
        raise click.UsageError("the destination was not made from a template")
    return client.templates.get(template)


@command.command("test")
@the_id
@click.option(
    "--type", "event_type", metavar="EVENT_TYPE", help="The sample's type. [angarium.test]"
)
@click.option(
    "--payload", type=JSON, metavar="JSON",
    help=f"The sample's payload ({JSON_HELP}). [the schema's example]",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the request and send nothing.")
@over_http
def test(
    session: Session, destination_id: str, event_type: Any, payload: Any, dry_run: bool
) -> None:
    """Send a signed sample now; exit code 1 if the receiver does not accept it."""
    with session.client() as client:
        result = client.destinations.test(
            destination_id, event_type=event_type, payload=payload, dry_run=dry_run
        )
    session.output.one(result)
    if not result["success"]:
        raise click.exceptions.Exit(FAILED)


@command.command("analytics")
@the_id
@click.option(
    "--period", type=click.Choice(ANALYTICS_PERIOD), help="The period that ends now. [24h]"
)
@click.option(
    "--granularity", type=click.Choice(ANALYTICS_GRANULARITY),
    help="The time of one row. [minute up to 6h, hour up to 7d, else day]",
)  # fmt: skip
@over_http
def analytics(session: Session, destination_id: str, period: Any, granularity: Any) -> None:
    """Show attempts, deliveries and latencies over time. A table leaves out the minutes, hours or days
    without an attempt and without a dead letter."""
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
