"""`angarium transforms`: what a destination is sent, by scripts in versions."""

import sys
from pathlib import Path
from typing import Any

import click

from api.cli.printing import say_whole
from api.cli.remote.parameters import JSON, JSON_HELP
from api.cli.remote.session import Session, over_http
from api.cli.remote.tables import Column

COLUMNS = (
    Column("ID", "id"),
    Column("VERSION", "version"),
    Column("STATUS", "status"),
    Column("CREATED", "createdAt"),
    Column("PUBLISHED", "publishedAt"),
    Column("NAME", "name"),
)
SCRIPT_FAILED = 1  # the exit code of a run whose script failed, as of a request that was refused
the_id = click.argument("script_id", metavar="ID")


@click.group("transforms", help="Transform scripts (JavaScript): what destinations are sent.")
def command() -> None:
    """Group the commands on transform scripts."""


@command.command("list")
@click.argument("destination", metavar="DESTINATION_ID")
@over_http
def list_(session: Session, destination: str) -> None:
    """List a destination's versions, newest first."""
    with session.client() as client:
        session.output.rows(client.transform_scripts.of_destination(destination), COLUMNS)


@command.command("get")
@the_id
@click.option("--source", is_flag=True, help="Print the source alone.")
@over_http
def get(session: Session, script_id: str, source: bool) -> None:
    """Show a version."""
    with session.client() as client:
        script = client.transform_scripts.get(script_id)
        if source:
            say_whole(script["source"])
        else:
            session.output.one(script)


@command.command("create")
@click.argument("destination", metavar="DESTINATION_ID")
@click.argument("file", metavar="FILE")
@click.option("--name", metavar="NAME", help="What it is called. [FILE's name]")
@click.option("--publish", is_flag=True, help="Use it from now on.")
@over_http
def create(session: Session, destination: str, file: str, name: str | None, publish: bool) -> None:
    """Make the next version of a destination's script of a FILE (- for standard input), as a DRAFT."""
    source, known = _read(file)
    with session.client() as client:
        made = client.transform_scripts.create(destination, name or known, source)
        if publish:
            made = client.transform_scripts.publish(made["id"])
        session.output.one(made)


@command.command("publish")
@the_id
@over_http
def publish(session: Session, script_id: str) -> None:
    """Use this version from now on; an earlier one: roll back."""
    with session.client() as client:
        session.output.one(client.transform_scripts.publish(script_id))


@command.command("unpublish")
@the_id
@over_http
def unpublish(session: Session, script_id: str) -> None:
    """Send the events' own bodies again, where this version is the published one."""
    with session.client() as client:
        session.output.one(client.transform_scripts.unpublish(script_id))


@command.command("run")
@the_id
@click.argument("event", type=JSON, metavar="JSON", required=False)
@click.option("--event", "event_id", metavar="ID", help="Over the body of this event instead.")
@over_http
def run(session: Session, script_id: str, event: Any, event_id: str | None) -> None:
    """Run a version over an event; exit code 1 where it fails. Nothing is sent."""
    with session.client() as client:
        found = client.transform_scripts.run(script_id, event, event_id=event_id)
        session.output.one(found)
    if not found["success"]:
        raise click.exceptions.Exit(SCRIPT_FAILED)


run.help = f"{run.help}\n\nJSON is the outbound body: type, timestamp, id, data ({JSON_HELP})."


@command.command("delete")
@the_id
@over_http
def delete(session: Session, script_id: str) -> None:
    """Delete a version that is not published."""
    with session.client() as client:
        session.output.one(client.transform_scripts.delete(script_id))


def _read(file: str) -> tuple[str, str]:
    """Return a source and what it is called."""
    if file == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), "from standard input"
    path = Path(file)
    try:
        return path.read_text("utf-8"), path.stem
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise click.UsageError(f"{file}: {reason}") from None
