"""`angarium stream`: the server's live updates as lines of JSON, until Ctrl-C."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from api.cli.remote.output import note
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import TableColumn

if TYPE_CHECKING:
    from angarium import Client

TOPICS = ("throughput", "health", "deliveries", "replays", "dlq")
COLUMNS = (TableColumn("TOPIC", "topic"), TableColumn("DATA", "data"))
AWAY_S = 5.0  # between two attempts while the server does not respond


@click.command("stream", short_help="Show live updates as lines of JSON.")
@click.option(
    "--topic", "topics", type=click.Choice(TOPICS), multiple=True,
    help="Can be repeated. [all topics that the key can see]",
)  # fmt: skip
@click.option(
    "--destination", "destination_id", metavar="ID", help="Only updates about this destination."
)
@click.option(
    "--customer", metavar="EXTERNAL_ID", help="Only updates about this customer's destinations."
)
@over_http
def command(
    session: Session, topics: tuple[str, ...], destination_id: str | None, customer: str | None
) -> None:
    """Show rates, health, outcomes, replays and dead letters as they happen, until Ctrl-C.

    Each line of JSON has the fields "topic" and "data". If the server ends the stream, the command opens
    the stream again.
    """
    which = {"destination_id": destination_id, "customer_external_id": customer}
    with session.client() as client:
        session.output.rows(_rows_of(client, topics, which), COLUMNS)


def _rows_of(
    client: "Client", topics: tuple[str, ...], which: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield updates without end. If the connection or the server fails after the first update, repeat
    the request. If either fails before the first update, raise the error. Always raise other errors."""
    from angarium import ConnectionFailedError, ServerError

    begun = False
    while True:
        try:
            for topic, data in client.observability.stream(*topics, **which):
                begun = True
                yield {"topic": topic, "data": data}
        except (ConnectionFailedError, ServerError) as error:
            if not begun:
                raise
            note(f"{error}; trying again")
            time.sleep(AWAY_S)
        else:
            note("the server ended the stream; opening it again")
            time.sleep(1)
