"""`angarium dlq`: dead letters, singly and by filter."""

from typing import Any

import click

from api.cli.errors import NotFoundTrouble
from api.cli.remote.made.words import ERROR_CATEGORY
from api.cli.remote.output import note
from api.cli.remote.parameters import since_until
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http

MOST = 10_000  # dead letters in one request


@click.group("dlq", help="List, retry and discard dead letters.", cls=PlainGroup)
def command() -> None:
    """Group the commands on the dead-letter queue."""


def _filters(decorated: Any) -> Any:
    for option in (
        click.option(
            "--error-category", type=click.Choice(ERROR_CATEGORY, case_sensitive=False),
            help="The error of the last attempt.",
        ),
        click.option("--replay-job", "replay_job_id", metavar="ID", help="Deliveries of this job."),
        click.option("--signature", metavar="DIGEST", help="A group of `angarium dlq groups`."),
        click.option("--event-type", metavar="EVENT_TYPE"),
        click.option("--destination", "destination_id", metavar="ID"),
    ):  # fmt: skip
        decorated = option(decorated)
    return since_until(decorated)


@command.command("get")
@click.argument("delivery_id", metavar="DELIVERY_ID")
@over_http
def get(session: Session, delivery_id: str) -> None:
    """Show an entry of the dead-letter queue. The exit code is 4 if the delivery is not in the queue."""
    with session.client() as client:
        entry = client.dlq.get(delivery_id)
    if entry is None:
        raise NotFoundTrouble(f"the delivery {delivery_id} is not in the dead-letter queue")
    session.output.one(entry)


def _bulk(decorated: Any) -> Any:
    for option in (
        click.option(
            "--rate",
            type=click.FloatRange(0, min_open=True),
            metavar="PER_SECOND",
            help="The most deliveries a second.",
        ),
        click.option("--limit", type=click.IntRange(1), metavar="N", help="The most deliveries."),
        click.option("--yes", "-y", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Only print the number."),
    ):
        decorated = option(decorated)
    return click.argument("ids", metavar="[DELIVERY_ID]...", nargs=-1)(_filters(decorated))


@command.command("retry")
@_bulk
@over_http
def retry(session: Session, **given: Any) -> None:
    """Retry the given dead letters, or all dead letters that pass the filters, with a new schedule.

    The command prints the number of dead letters and asks first. If filters are given without --to, the
    command also retries deliveries that become dead letters while it runs.
    """
    _all(session, "retry", "retried", **given)


@command.command("discard")
@_bulk
@over_http
def discard(session: Session, **given: Any) -> None:
    """Discard the given dead letters, or all dead letters that pass the filters. The records of the
    deliveries stay."""
    _all(session, "discard", "discarded", **given)


def _all(
    session: Session,
    verb: str,
    done: str,
    *,
    ids: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    rate: float | None,
    limit: int | None,
    **filters: Any,
) -> None:
    chosen = {name: value for name, value in filters.items() if value is not None}
    if ids:
        chosen["delivery_ids"] = ids
    if not chosen:
        raise click.UsageError("name deliveries, or give at least one filter")
    with session.client() as client:
        act = client.dlq.retry_all if verb == "retry" else client.dlq.discard_all
        if dry_run or not yes:
            counted = act(dry_run=True, **chosen)
            if dry_run:
                session.output.one(counted)
                return
            number = min(counted["matched"], limit or counted["matched"])
            deliveries = "1 delivery" if number == 1 else f"{number} deliveries"
            session.confirm(f"{verb.capitalize()} {deliveries}?", yes=number == 0)
        chosen |= {} if rate is None else {"rate_per_second": rate}
        total, left = 0, 1
        while left:  # the server bounds each request; the next request continues
            if limit is not None:
                chosen["limit"] = min(MOST, limit - total)
            answer: Any = act(**chosen)
            total += answer[done]
            if total == limit:
                break
            left = answer.get("remaining", 0) if answer[done] else 0
            if left:
                note(f"{total} {done}, {left} to go")
        session.output.one({**answer, done: total})
