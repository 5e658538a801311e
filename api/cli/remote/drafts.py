"""The flags for a destination or a rule, and the request body made from them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from api.cli.remote.made.words import HTTP_METHOD, ORDERING, PRIORITY
from api.cli.remote.output import note
from api.cli.remote.parameters import CONCURRENCY, JSON, JSON_HELP, PAIR

Command = TypeVar("Command", bound=Callable[..., Any])
PRIVATE = 0o600

DELIVERY = {  # flag's name -> the API's field of `delivery`
    "concurrency": "concurrency",
    "ordering": "ordering",
    "timeout_ms": "timeoutMs",
    "rate_limit": "rateLimitPerSecond",
    "retry_schedule": "retrySchedule",
    "dry_run": "dryRun",
}
REMOVED = {"no_authentication": "authentication", "no_disable_after": "disableAfterSeconds"}
data_option = click.option(
    "--data", type=JSON, metavar="JSON",
    help=f"The API's body ({JSON_HELP}); other flags override its fields.",
)  # fmt: skip
secret_option = click.option(
    "--secret-file", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the signing secret to this file, which only its owner can read, instead of "
        "printing it.",
)  # fmt: skip


def destination_options(command: Command) -> Command:
    """Add the flags of a destination."""
    for option in reversed(
        (
            click.option("--description", metavar="TEXT", help="The purpose of the destination."),
            click.option(
                "--header", "headers", type=PAIR, multiple=True, metavar="NAME=VALUE",
                help="A header of every request; can be repeated.",
            ),
            click.option(
                "--method", type=click.Choice(HTTP_METHOD, case_sensitive=False),
                help="The HTTP method of requests. [POST]",
            ),
            click.option(
                "--authentication", type=JSON, metavar="JSON",
                help=f"The API's `authentication` of requests ({JSON_HELP}).",
            ),
            click.option(
                "--disable-after", type=click.IntRange(min=1), metavar="SECONDS",
                help="Disable the destination after it has failed for this long.",
            ),
            click.option(
                "--concurrency", type=CONCURRENCY, metavar="NUMBER|auto",
                help="Requests in flight at once; auto: adapt to the receiver.",
            ),
            click.option(
                "--ordering", type=click.Choice(ORDERING, case_sensitive=False),
                help="The scope of first-in first-out order: none, a key of the event, or the"
                    " destination.",
            ),
            click.option(
                "--timeout-ms", type=click.IntRange(100, 60_000), help="The most time for an attempt."
            ),
            click.option(
                "--rate-limit", type=click.FloatRange(0, min_open=True), metavar="NUMBER",
                help="The most attempts a second.",
            ),
            click.option(
                "--retry-schedule", callback=_seconds, metavar="SECONDS,...",
                help='The waits after failed attempts, such as 5,300,1800. "" means no retries.',
            ),
            click.option(
                "--dry-run/--no-dry-run", default=None, help="Route and record events, but send nothing."
            ),
            data_option,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def destination_body(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's body; fields without a flag are absent."""
    body = dict(given.get("data") or {})
    put(body, name=given.get("name"), url=given.get("address"))
    put(body, description=given.get("description"), customerExternalId=given.get("customer"))
    put(body, method=given.get("method"), authentication=given.get("authentication"))
    put(body, disableAfterSeconds=given.get("disable_after"))
    for flag, field in REMOVED.items():
        if given.get(flag):
            body[field] = None
    headers = dict(given["headers"]) | dict.fromkeys(given.get("removed_headers", ()))
    if headers:
        body["headers"] = {**(body.get("headers") or {}), **headers}
    delivery = {field: given[flag] for flag, field in DELIVERY.items() if given[flag] is not None}
    if given.get("no_rate_limit"):
        delivery["rateLimitPerSecond"] = None
    if delivery:
        body["delivery"] = {**(body.get("delivery") or {}), **delivery}
    if given.get("algorithm") is not None:
        body["signing"] = {"algorithm": given["algorithm"]}
    return body


def rule_options(command: Command) -> Command:
    """Add the flags of a rule."""
    for option in reversed(
        (
            click.option(
                "--filter", "expression", metavar="CEL",
                help="Only events for which this is true, such as event.payload.total > 100.",
            ),
            click.option("--priority", type=click.Choice(PRIORITY, case_sensitive=False)),
            data_option,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def rule_body(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's body; fields without a flag are absent."""
    body = dict(given.get("data") or {})
    put(
        body,
        name=given.get("name"),
        destinationId=given.get("destination"),
        eventTypes=list(given["types"]) if given.get("types") else None,
        filter=given.get("expression"),
        priority=given.get("priority"),
        enabled=given.get("enabled"),
    )
    if given.get("no_filter"):
        body["filter"] = None
    return body


def put(body: dict[str, Any], **fields: Any) -> None:
    """Set the given fields."""
    body.update((name, value) for name, value in fields.items() if value is not None)


def keep_secret(made: Any, file: Path | None) -> Any:
    """If a file is given, write the secret to it, and return the answer without the secret. Otherwise
    return the answer unchanged."""
    if file is None or not made.get("secret"):
        return made
    file.touch(PRIVATE)
    file.chmod(PRIVATE)
    file.write_text(made["secret"] + "\n", "utf-8")
    note(f"the signing secret is in {file}")
    return {name: value for name, value in made.items() if name != "secret"}


def _seconds(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[int] | None:
    if value is None:
        return None
    try:
        return [int(part) for part in value.split(",")] if value.strip() else []
    except ValueError:
        raise click.BadParameter("must be seconds separated by commas, such as 5,300") from None
