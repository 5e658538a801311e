"""`angarium deliveries`: show deliveries, once or continuously, and retry or cancel them."""

from typing import TYPE_CHECKING, Any

import click

from api.cli.remote.made.deliveries import PLAIN
from api.cli.remote.parameters import since_until
from api.cli.remote.plain import PlainGroup, columns_of
from api.cli.remote.replay import until_finished, wait_option
from api.cli.remote.session import Session, over_http

if TYPE_CHECKING:
    from angarium import Client

WAITING = ("PENDING", "RETRYING")
LAST = 10  # like tail(1)
EVERY_S = 2.0


@click.group("deliveries", help="Show, retry and cancel deliveries of events.", cls=PlainGroup)
def command() -> None:
    """Group the commands on deliveries."""


@command.command("tail")
@click.option(
    "--destination", "destination_id", metavar="ID", help="Only deliveries to this destination."
)
@click.option("-n", "--lines", type=click.IntRange(0, 100), default=LAST, help=f"[{LAST}]")
@click.option(
    "--interval", type=click.FloatRange(0.1, 3600), default=EVERY_S, metavar="SECONDS",
    help=f"The time between two reads; each read counts against the rate limit. [{EVERY_S:g}]",
)  # fmt: skip
@over_http
def tail(session: Session, destination_id: str | None, lines: int, interval: float) -> None:
    """Show the last deliveries, then each new delivery and each changed delivery, until Ctrl-C.

    If the server does not respond, the command waits for the server. With --output json or jsonl, the
    command prints one line of JSON for each new or changed delivery.
    """
    from api.cli.remote.tail import follow

    with session.client() as client:
        session.output.rows(
            follow(client, destination_id, lines, interval), columns_of(PLAIN, "list")
        )


def _bulk(decorated: Any) -> Any:
    for option in (
        click.option("--yes", "-y", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Only print the number."),
        wait_option,
        click.option("--limit", type=click.IntRange(1), metavar="N", help="The most deliveries."),
        click.option(
            "--status", type=click.Choice(WAITING, case_sensitive=False), help="[both]"
        ),
        click.option(
            "--customer", "customer_external_id", metavar="CUSTOMER",
            help="Only deliveries of this customer's events.",
        ),
        click.option(
            "--type", "event_types", multiple=True, metavar="EVENT_TYPE", help="Can be repeated."
        ),
    ):  # fmt: skip
        decorated = option(decorated)
    return click.option("--destination", "destination_id", metavar="ID", required=True)(
        since_until(decorated)
    )


@command.command("retry-all")
@_bulk
@over_http
def retry_all(session: Session, **given: Any) -> None:
    """Retry all waiting deliveries of a destination, or only those that pass the given filters. The
    command asks first. Then the server retries the deliveries as a job."""
    _all(session, "retry", **given)


@command.command("cancel-all")
@_bulk
@over_http
def cancel_all(session: Session, **given: Any) -> None:
    """Cancel all waiting deliveries of a destination, or only those that pass the given filters. The
    command asks first. Then the server cancels the deliveries as a job."""
    _all(session, "cancel", **given)


def _all(
    session: Session, verb: str, *, yes: bool, dry_run: bool, wait: bool, **given: Any
) -> None:
    chosen = {name: value for name, value in given.items() if value not in (None, ())}
    with session.client() as client:
        start = client.deliveries.retry_all if verb == "retry" else client.deliveries.cancel_all
        if dry_run or not yes:
            counted = _counted(client, start(dry_run=True, **chosen))
            if dry_run:
                session.output.one(counted)
                return
            number = counted["total"]
            deliveries = "1 delivery" if number == 1 else f"{number} deliveries"
            session.confirm(f"{verb.capitalize()} {deliveries}?", yes=number == 0)
        job = start(**chosen)
        if wait:
            until_finished(session, client, job["id"])
        else:
            session.output.one(job)


def _counted(client: "Client", job: Any) -> Any:
    for _ in client.replay_jobs.watch(job["id"]):
        pass
    return client.replay_jobs.get(job["id"])
