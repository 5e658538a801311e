"""`angarium destinations list`: state, backlog, rate and concurrency, once or live."""

import time
from typing import Any

import click

from api.cli.remote.made.destinations import PLAIN
from api.cli.remote.made.words import DESTINATION_STATUS
from api.cli.remote.overview import COLUMNS, EVERY_S, SORTS, Overview, Sort
from api.cli.remote.parameters import paged
from api.cli.remote.plain import columns_of
from api.cli.remote.session import Session, over_http

ARCHIVED = "ARCHIVED"


@click.command("list")
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
def command(
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

    A table shows state, backlog, attempts per second and concurrency, failing destinations first. JSON
    is the API's list, newest first; with --watch, it is the rows of the table.
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
