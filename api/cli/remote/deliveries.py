"""`angarium deliveries`: what became of events, once and as it goes on."""

from typing import Any

import click

from api.cli.remote.parameters import paged, since_until
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

COLUMNS = (
    Column("CREATED", "createdAt"),
    Column("ID", "id"),
    Column("STATUS", "status"),
    Column("TRY", "attemptCount"),
    Column("HTTP", "responseStatus"),
    Column("ERROR", "errorCategory"),
    Column("DLQ", "dlqStatus"),
    Column("DESTINATION", "destinationId"),
    Column("EVENT TYPE", "eventType"),
)
ATTEMPTS = (
    Column("TRY", "number"),
    Column("STARTED", "startedAt"),
    Column("MS", "durationMs"),
    Column("OK", "success"),
    Column("HTTP", "responseStatus"),
    Column("ERROR", "errorCategory"),
    Column("MESSAGE", "errorMessage"),
)
STATUSES = ("PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN")
CATEGORIES = (
    "TIMEOUT", "DNS", "CONNECTION", "TLS", "BLOCKED_ADDRESS", "PROTOCOL", "REDIRECT", "HTTP_4XX",
    "HTTP_5XX", "RATE_LIMITED", "TRANSFORM", "DESTINATION_GONE", "INTERNAL",
)  # fmt: skip
LAST = 10  # as tail(1)
EVERY_S = 2.0


@click.group("deliveries", help="What became of events.")
def command() -> None:
    """Group the commands on deliveries."""


def _choice(*values: str) -> click.Choice[str]:
    return click.Choice(values, case_sensitive=False)


@command.command("list")
@click.option("--event", "event_id", metavar="ID", help="Only this event's.")
@click.option("--destination", "destination_id", metavar="ID", help="Only to this destination.")
@click.option("--status", type=_choice(*STATUSES))
@click.option("--error-category", type=_choice(*CATEGORIES), help="Of the last attempt.")
@click.option("--priority", type=_choice("STANDARD", "HIGH", "CRITICAL"))
@click.option("--dlq-status", type=_choice("IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED"))
@click.option("--kind", type=_choice("EVENT", "FILE"))
@click.option("--origin", "origin_kind", type=_choice("NORMAL", "REPLAY", "INSPECTION"))
@click.option("--replays/--no-replays", "is_replay", default=None, help="Only those.")
@since_until
@paged
@over_http
def list_(session: Session, limit: int | None, cursor: str | None, **chosen: Any) -> None:
    """List deliveries, newest first."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.deliveries.list(limit=count, cursor=after, **chosen),
            COLUMNS,
            limit,
            cursor,
        )


@command.command("get")
@click.argument("delivery_id", metavar="ID")
@over_http
def get(session: Session, delivery_id: str) -> None:
    """Show a delivery with its event, its request and its newest attempts."""
    with session.client() as client:
        session.output.one(client.deliveries.get(delivery_id))


@command.command("attempts")
@click.argument("delivery_id", metavar="ID")
@paged
@over_http
def attempts(session: Session, delivery_id: str, limit: int | None, cursor: str | None) -> None:
    """List a delivery's attempts, newest first."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.deliveries.attempts(delivery_id, limit=count, cursor=after),
            ATTEMPTS,
            limit,
            cursor,
        )


@command.command("tail")
@click.option("--destination", "destination_id", metavar="ID", help="Only to this destination.")
@click.option("-n", "--lines", type=click.IntRange(0, 100), default=LAST, help=f"[{LAST}]")
@click.option(
    "--interval", type=click.FloatRange(0.1, 3600), default=EVERY_S, metavar="SECONDS",
    help=f"How often to look; each look counts against the rate limit. [{EVERY_S:g}]",
)  # fmt: skip
@over_http
def tail(session: Session, destination_id: str | None, lines: int, interval: float) -> None:
    """Show the last deliveries, then each new one and each change, until Ctrl-C.

    A server that is away is waited for. With --output json or jsonl: a line a change.
    """
    from api.cli.remote.tail import follow

    with session.client() as client:
        session.output.rows(follow(client, destination_id, lines, interval), COLUMNS)
