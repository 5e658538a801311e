"""`angarium replay`: send past deliveries again."""

from typing import TYPE_CHECKING, Any

import click

from api.cli.errors import FAILED
from api.cli.remote.output import note
from api.cli.remote.parameters import since_until
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http

if TYPE_CHECKING:
    from angarium import Client
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from angarium.shapes import ReplayProgress


LINE_S = 5.0  # between two lines without a terminal


def watch(stream: "Iterable[ReplayProgress]") -> "ReplayProgress":
    """Show all progress reports, and return the last one."""
    return _bar(stream) if sys.stderr.isatty() else _lines(stream)


def _bar(stream: "Iterable[ReplayProgress]") -> "ReplayProgress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("PENDING", total=None, note="")
        for last in stream:
            shown.update(
                task,
                description=last["status"],
                total=None if last["status"] == "PENDING" else last["total"],  # still counting
                completed=settled(last),
                note=_note(last),
            )
    return last


def _lines(stream: "Iterable[ReplayProgress]") -> "ReplayProgress":
    shown_at, shown = float("-inf"), ""
    for last in stream:
        now = time.monotonic()
        if last["status"] != shown or now - shown_at >= LINE_S:
            shown_at, shown = now, last["status"]
            note(f"{last['status']} {settled(last)}/{last['total']} {_note(last)}".rstrip())
    return last


def settled(progress: "ReplayProgress") -> int:
    """Return the number of deliveries that have ended."""
    return progress["total"] - progress["remaining"]


def _note(progress: "ReplayProgress") -> str:
    parts = []
    if progress["failed"]:
        parts.append(f"{progress['failed']} failed")
    if progress["skipped"]:
        parts.append(f"{progress['skipped']} skipped")
    if progress["perSecond"] is not None:
        parts.append(f"{progress['perSecond']:.0f}/s")
    if progress["etaSeconds"]:
        parts.append(f"{progress['etaSeconds']:.0f} s left")
    return ", ".join(parts)


SETTLED = ("DELIVERED", "FAILED", "DRY_RUN")
the_id = click.argument("job_id", metavar="ID")
wait_option = click.option(
    "--wait",
    is_flag=True,
    help="Wait for the end, with a progress bar; exit code 1 if the job is not COMPLETED.",
)


@click.group(
    "replay", help="Send past deliveries again, as a job beside live traffic.", cls=PlainGroup
)
def command() -> None:
    """Group the commands on replay jobs."""


@command.command("start")
@click.argument("ids", metavar="[DELIVERY_ID]...", nargs=-1)
@click.option(
    "--destination", "destination_id", metavar="ID", help="Deliveries to this destination."
)
@click.option(
    "--customer-account",
    "customer_account_id",
    metavar="ID",
    help="Deliveries to this account's destinations.",
)
@click.option("--type", "event_types", multiple=True, metavar="EVENT_TYPE", help="Can be repeated.")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(SETTLED, case_sensitive=False),
    help="Can be repeated. [all three]",
)  # fmt: skip
@since_until
@click.option(
    "--rate", "rate_per_second", type=click.FloatRange(0, min_open=True), metavar="NUMBER",
    help="The most deliveries a second.",
)  # fmt: skip
@click.option(
    "--missing", is_flag=True,
    help="Send the events that match the destination's present rules and have no delivery to it.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only count the deliveries.")
@wait_option
@over_http
def start(
    session: Session,
    ids: tuple[str, ...],
    event_types: tuple[str, ...],
    statuses: Any,
    missing: bool,
    dry_run: bool,
    wait: bool,
    **chosen: Any,
) -> None:
    """Replay the given deliveries. Without a DELIVERY_ID, replay the deliveries that the flags select,
    such as all deliveries to a destination, or all since a point in time."""
    with session.client() as client:
        job = client.replay_jobs.create(
            delivery_ids=ids or None,
            event_types=event_types or None,
            statuses=statuses or None,
            mode="MISSING" if missing else None,
            dry_run=dry_run or None,
            **chosen,
        )
        if wait:
            until_finished(session, client, job["id"])
        else:
            session.output.one(job)


@command.command("rate")
@the_id
@click.argument("number", required=False, type=click.FloatRange(0, min_open=True))
@click.option("--no-limit", is_flag=True, help="Remove the limit.")
@over_http
def rate(session: Session, job_id: str, number: float | None, no_limit: bool) -> None:
    """Limit the rate of a job to NUMBER deliveries a second. You can change the limit until the job
    ends."""
    if no_limit == (number is not None):
        raise click.UsageError("give either a number or --no-limit")
    with session.client() as client:
        session.output.one(client.replay_jobs.update(job_id, {"ratePerSecond": number}))


@command.command("progress")
@the_id
@wait_option
@over_http
def progress(session: Session, job_id: str, wait: bool) -> None:
    """Show the progress of a job."""
    with session.client() as client:
        if wait:
            until_finished(session, client, job_id)
        else:
            session.output.one(client.replay_jobs.progress(job_id))


def until_finished(session: Session, client: "Client", job_id: str) -> None:
    """Show a job's progress until it is finished."""
    try:
        last = watch(client.replay_jobs.watch(job_id))
    except KeyboardInterrupt:
        note(f"the job continues; end it with angarium replay cancel {job_id}")
        raise
    session.output.one(last)
    if last["status"] != "COMPLETED":
        raise click.exceptions.Exit(FAILED)
