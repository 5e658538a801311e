"""`angarium trigger`: send an example event of a type, to try rules and receivers."""

from typing import TYPE_CHECKING, Any

import click

from api.cli.remote.output import note
from api.cli.remote.parameters import JSON_HELP, RAW_JSON
from api.cli.remote.session import Session, over_http

if TYPE_CHECKING:
    from angarium import Client

SOURCE = "angarium trigger"
MOST_REASONS = 10  # lines that fit on a screen with the event
EXAMPLE: dict[str, Any] = {"example": True}


@click.command("trigger", short_help="Send an example event of a type.")
@click.argument("event_type")
@click.option(
    "--data", type=RAW_JSON, metavar="JSON",
    help=f"The payload ({JSON_HELP}). [the example of the active schema]",
)  # fmt: skip
@click.option("--customer", metavar="EXTERNAL_ID", help="The end-customer of the event.")
@over_http
def command(session: Session, event_type: str, data: bytes | None, customer: str | None) -> None:
    """Send an event of EVENT_TYPE. Without --data, its payload is an example.

    The example comes from the active schema of the event type. If there is no such example, the command
    sends a general one.
    """
    with session.client() as client:
        accepted = client.events.send(
            event_type,
            _example(client, event_type) if data is None else data,
            customer_external_id=customer,
            source=SOURCE,
        )
        session.output.one(accepted)
        if not accepted["deliveries"]:
            for reason in _reasons(client, accepted["id"]):
                note(reason)


def _reasons(client: "Client", event: str) -> list[str]:
    from angarium import AngariumError

    try:
        rules = client.events.explain(event)["rules"]
    except AngariumError:  # a key for ingestion cannot read the event
        rules = []
    failed = [
        f"no match: the filter of rule {each['name']!r} failed: {each['filterError']}"
        for each in rules
        if each["reason"] == "FILTER_FAILED"
    ]
    if len(failed) > MOST_REASONS:
        more = f"{len(failed) - MOST_REASONS} more: see `angarium events explain {event}`"
        return [*failed[:MOST_REASONS], more]
    return failed or ["no rule matched: see the patterns with `angarium rules list`"]


def _example(client: "Client", event_type: str) -> dict[str, Any]:
    """Return the example in the active schema of the type. If there is none, return a general example."""
    from angarium import NotFoundError, PermissionDeniedError

    try:
        example = client.schemas.active(event_type)["example"]
    except (NotFoundError, PermissionDeniedError):  # a key for ingestion cannot read schemas
        return EXAMPLE
    return example if isinstance(example, dict) else EXAMPLE
