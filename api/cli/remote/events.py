"""`angarium events`: send events, and look them up."""

from typing import Any

import click

from api.cli.remote.batches import MOST_EVENTS, send_lines
from api.cli.remote.parameters import INSTANT, JSON, JSON_HELP, RAW_JSON, paged, since_until
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

COLUMNS = (
    Column("RECEIVED", "receivedAt"),
    Column("ID", "id"),
    Column("DELIVERIES", "deliveries"),
    Column("CUSTOMER", "customerExternalId"),
    Column("SOURCE", "source"),
    Column("EVENT TYPE", "eventType"),
)


@click.group("events", help="Send events, and look up what was accepted.")
def command() -> None:
    """Group the commands on events."""


@command.command("list")
@click.option("--type", "event_type", metavar="EVENT_TYPE", help="Only this type.")
@click.option("--customer", metavar="EXTERNAL_ID", help="Only this end-customer's.")
@since_until
@paged
@over_http
def list_(
    session: Session,
    event_type: str | None,
    customer: str | None,
    since: Any,
    until: Any,
    limit: int | None,
    cursor: str | None,
) -> None:
    """List events, newest first; also those that no rule matched."""
    with session.client() as client:
        session.output.listing(
            lambda count, after: client.events.list(
                limit=count,
                cursor=after,
                event_type=event_type,
                customer_external_id=customer,
                since=since,
                until=until,
            ),
            COLUMNS,
            limit,
            cursor,
        )


@command.command("get")
@click.argument("event_id", metavar="ID")
@over_http
def get(session: Session, event_id: str) -> None:
    """Show an event with its payload."""
    with session.client() as client:
        session.output.one(client.events.get(event_id))


@command.command("send")
@click.argument("event_type", metavar="[EVENT_TYPE]", required=False)
@click.option(
    "--data",
    type=RAW_JSON,
    metavar="JSON",
    help=f"The payload ({JSON_HELP}), kept byte for byte. [{{}}]",
)
@click.option("--customer", metavar="EXTERNAL_ID", help="The end-customer whom it concerns.")
@click.option(
    "--idempotency-key", metavar="KEY", help="The same key is the same event. [a new one]"
)
@click.option("--source", metavar="TEXT")
@click.option("--correlation-id", metavar="TEXT")
@click.option("--occurred-at", type=INSTANT, metavar="INSTANT", help="[now]")
@click.option("--metadata", type=JSON, metavar="JSON")
@click.option(
    "--batch", type=click.File("rb"), metavar="FILE",
    help="Send many: a line an event, as the API has it; - for standard input.",
)  # fmt: skip
@click.option(
    "--batch-size", type=click.IntRange(1, MOST_EVENTS), default=MOST_EVENTS,
    help=f"How many at once; 1 for a stream that is slow. [{MOST_EVENTS}]",
)  # fmt: skip
@over_http
def send(
    session: Session,
    event_type: str | None,
    data: bytes | None,
    customer: str | None,
    idempotency_key: str | None,
    source: str | None,
    correlation_id: str | None,
    occurred_at: Any,
    metadata: Any,
    batch: Any,
    batch_size: int,
) -> None:
    """Send one event of EVENT_TYPE, or with --batch many.

    It is durable when this ends with 0. With --batch the exit code is 1 if any event was rejected;
    those are named on standard error with their lines, and the others are accepted.
    """
    if batch is not None:
        if event_type is not None or data is not None:
            raise click.UsageError("--batch has whole events; give neither EVENT_TYPE nor --data")
        with session.client() as client:
            send_lines(client, batch, session.output, batch_size)
        return
    if event_type is None:
        raise click.UsageError("EVENT_TYPE is needed, or --batch")
    with session.client() as client:
        accepted = client.events.send(
            event_type,
            b"{}" if data is None else data,
            customer_external_id=customer,
            idempotency_key=idempotency_key,
            source=source,
            correlation_id=correlation_id,
            occurred_at=occurred_at,
            metadata=metadata,
        )
    session.output.one(accepted)


@command.command("deliveries")
@click.argument("event_id", metavar="ID")
@over_http
def deliveries(session: Session, event_id: str) -> None:
    """List an event's deliveries."""
    from api.cli.remote.deliveries import COLUMNS as DELIVERY_COLUMNS

    with session.client() as client:
        session.output.rows(client.events.deliveries(event_id), DELIVERY_COLUMNS)
