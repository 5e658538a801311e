"""`angarium transforms`: scripts that change the requests of a destination, in versions."""

import sys
from pathlib import Path
from typing import Any

import click

from api.cli.printing import say_whole
from api.cli.remote.parameters import JSON, JSON_HELP
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http

SCRIPT_FAILED = 1  # the exit code of a run whose script failed
the_id = click.argument("script_id", metavar="ID")


@click.group(
    "transforms",
    help="Transform scripts (JavaScript), which change the requests of destinations.",
    cls=PlainGroup,
)
def command() -> None:
    """Group the commands on transform scripts."""


@command.command("get")
@the_id
@click.option("--source", is_flag=True, help="Print only the source.")
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
@click.option("--name", metavar="NAME", help="The name of the script. [FILE's name]")
@click.option("--publish", is_flag=True, help="Publish it at once.")
@over_http
def create(session: Session, destination: str, file: str, name: str | None, publish: bool) -> None:
    """Create the next version of a destination's script from FILE (- for standard input). The version is
    a DRAFT until it is published."""
    source, known = _read(file)
    with session.client() as client:
        made = client.transform_scripts.create(destination, name or known, source)
        if publish:
            made = client.transform_scripts.publish(made["id"])
        session.output.one(made)


@command.command("run")
@the_id
@click.argument("event", type=JSON, metavar="JSON", required=False)
@click.option("--event", "event_id", metavar="ID", help="Run over the body of this event.")
@over_http
def run(session: Session, script_id: str, event: Any, event_id: str | None) -> None:
    """Run a version of a script over an event. Nothing is sent. Exit code 1 if the script fails."""
    with session.client() as client:
        _tell(session, client.transform_scripts.run(script_id, event, event_id=event_id))


@command.command("preview")
@click.argument("destination", metavar="DESTINATION_ID")
@click.argument("file", metavar="FILE")
@click.argument("event", type=JSON, metavar="JSON", required=False)
@click.option("--event", "event_id", metavar="ID", help="Run over the body of this event.")
@over_http
def preview(
    session: Session, destination: str, file: str, event: Any, event_id: str | None
) -> None:
    """Run the script in FILE over an event. Nothing is stored or sent. Exit code 1 if the run fails."""
    source, _ = _read(file)
    with session.client() as client:
        _tell(
            session, client.transform_scripts.preview(destination, source, event, event_id=event_id)
        )


for each in (run, preview):
    each.help = (
        f"{each.help}\n\nThe last argument is the outbound body: an object with type, timestamp, id and "
        f"data. Give it as {JSON_HELP}."
    )


def _tell(session: Session, found: Any) -> None:
    session.output.one(found)
    if not found["success"]:
        raise click.exceptions.Exit(SCRIPT_FAILED)


def _read(file: str) -> tuple[str, str]:
    if file == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), "from standard input"
    path = Path(file)
    try:
        return path.read_text("utf-8"), path.stem
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise click.UsageError(f"{file}: {reason}") from None
