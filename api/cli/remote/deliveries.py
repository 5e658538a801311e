"""`angarium deliveries`: what became of events, once and as it goes on."""

import click

from api.cli.remote.made.deliveries import PLAIN
from api.cli.remote.plain import add_plain, columns_of
from api.cli.remote.session import Session, over_http
from api.cli.suggestions import CommandGroup

LAST = 10  # as tail(1)
EVERY_S = 2.0


@click.group("deliveries", help="What became of events.", cls=CommandGroup)
def command() -> None:
    """Group the commands on deliveries."""


add_plain(command, PLAIN)


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
        session.output.rows(
            follow(client, destination_id, lines, interval), columns_of(PLAIN, "list")
        )
