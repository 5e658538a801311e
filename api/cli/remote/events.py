"""`angarium events`: send events, and look them up."""

from typing import Any

import click

from api.cli.remote.batches import MOST_EVENTS, send_lines
from api.cli.remote.parameters import INSTANT, JSON, JSON_HELP, RAW_JSON
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http


@click.group("events", help="Send events, and look up accepted events.", cls=PlainGroup)
def command() -> None:
    """Group the commands on events."""


@command.command("send")
@click.argument("event_type", metavar="[EVENT_TYPE]", required=False)
@click.option(
    "--data",
    type=RAW_JSON,
    metavar="JSON",
    help=f"The payload ({JSON_HELP}), sent with unchanged bytes. [{{}}]",
)
@click.option("--customer", metavar="EXTERNAL_ID", help="The end-customer of the event.")
@click.option(
    "--idempotency-key", metavar="KEY", help="Events with the same key count as one. [a new key]"
)
@click.option("--source", metavar="TEXT")
@click.option("--correlation-id", metavar="TEXT")
@click.option("--traceparent", metavar="TEXT", help="The trace that the event belongs to.")
@click.option("--occurred-at", type=INSTANT, metavar="INSTANT", help="[now]")
@click.option("--metadata", type=JSON, metavar="JSON")
@click.option(
    "--batch", type=click.File("rb"), metavar="FILE",
    help="A file with many events, one JSON object a line as for the API; - for standard input.",
)  # fmt: skip
@click.option(
    "--batch-size", type=click.IntRange(1, MOST_EVENTS), default=MOST_EVENTS,
    help=f"The most events in one request; 1 for a slow stream. [{MOST_EVENTS}]",
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
    traceparent: str | None,
    occurred_at: Any,
    metadata: Any,
    batch: Any,
    batch_size: int,
) -> None:
    """Send one event of EVENT_TYPE, or with --batch many.

    The event is durable if the exit code is 0. With --batch, the exit code is 1 if an event was rejected.
    The command then names the rejected lines on standard error. All other events are accepted.
    """
    if batch is not None:
        if event_type is not None or data is not None:
            raise click.UsageError("--batch has whole events: leave out EVENT_TYPE and --data")
        with session.client() as client:
            send_lines(client, batch, session.output, batch_size)
        return
    if event_type is None:
        raise click.UsageError("give EVENT_TYPE or --batch")
    with session.client() as client:
        accepted = client.events.send(
            event_type,
            b"{}" if data is None else data,
            customer_external_id=customer,
            idempotency_key=idempotency_key,
            source=source,
            correlation_id=correlation_id,
            traceparent=traceparent,
            occurred_at=occurred_at,
            metadata=metadata,
        )
    session.output.one(accepted)
