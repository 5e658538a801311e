"""`angarium throughput`: the present rates of an environment."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from api.cli.errors import SettingsTrouble
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import TableColumn

if TYPE_CHECKING:
    from angarium import Client

COLUMNS = (
    TableColumn("AT", "at"),
    TableColumn("ACCEPTED/s", "accepted"),
    TableColumn("DELIVERED/s", "delivered"),
    TableColumn("FAILED/s", "failed"),
    TableColumn("ATTEMPTS/s", "attempts"),
    TableColumn("PENDING", "pending"),
    TableColumn("IN FLIGHT", "inFlight"),
)
EVERY_S = 2.0


@click.command("throughput")
@click.option("--watch", is_flag=True, help="Print a line repeatedly, until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(0.1, 3600), default=EVERY_S, metavar="SECONDS",
    help=f"With --watch: the time between two lines. [{EVERY_S:g}]",
)  # fmt: skip
@over_http
def command(session: Session, watch: bool, interval: float) -> None:
    """Show rates per second over the last minute, for the key's environment."""
    with session.client() as client:
        environment = session.environment or client.auth_context()["environment"]
        if environment is None:
            raise SettingsTrouble("an MCP key has no environment: give --environment")
        if watch:
            session.output.rows(_looks(client, environment, interval), COLUMNS)
        elif session.output.for_people:
            session.output.rows([client.throughput(environment)], COLUMNS)
        else:
            session.output.one(client.throughput(environment))


def _looks(client: "Client", environment: Any, interval_s: float) -> Iterator[Any]:
    while True:
        found = client.throughput(environment)
        # Most of a series is the same in each answer.
        yield {name: value for name, value in found.items() if name != "series"}
        time.sleep(interval_s)
