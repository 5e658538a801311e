"""`angarium workspace`: the customer portal's look, the allowed origins, and customers' permissions."""

from collections.abc import Iterable
from typing import Any

import click

from api.cli.remote.drafts import data_option, put
from api.cli.remote.parameters import PAIR
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http


@click.group(
    "workspace",
    help="The key's workspace: customers' portals and permissions.",
    cls=PlainGroup,
)
def command() -> None:
    """Group the commands on the workspace."""


@command.command("set")
@click.option("--brand", metavar="NAME", help="The name at the top of portals.")
@click.option("--logo-url", metavar="URL", help="The address of the logo; https only.")
@click.option(
    "--color", "colors", type=PAIR, multiple=True, metavar="NAME=#RRGGBB",
    help="One of primary, accent, background, text; can be repeated.",
)  # fmt: skip
@click.option("--locale", metavar="TAG", help="Such as en, de-CH, zh-Hant-TW.")
@click.option("--support-url", metavar="URL", help="A page where customers find help; https only.")
@click.option(
    "--return-url",
    metavar="URL",
    help="The page that the portal links to as the way back; https only.",
)
@click.option(
    "--origin", "origins", multiple=True, metavar="ORIGIN",
    help="An origin whose pages can call the API, such as https://portal.example.com; can be "
        "repeated. They replace the listed origins.",
)  # fmt: skip
@click.option("--no-origins", is_flag=True, help="Remove all origins.")
@click.option(
    "--allow", "allowed", multiple=True, metavar="ABILITY",
    help="Allow this ability to customers: a name in `customerMay`, which `show` prints; can be "
    "repeated.",
)  # fmt: skip
@click.option(
    "--deny",
    "denied",
    multiple=True,
    metavar="ABILITY",
    help="Forbid this ability to customers; can be repeated.",
)
@data_option
@over_http
def set_(session: Session, **given: Any) -> None:
    """Change the given settings, in all environments, at once."""
    change = change_of(given)
    if not change:
        raise click.UsageError("nothing to change: give at least one flag")
    with session.client() as client:
        session.output.one(client.workspace.update(change))


def permissions_of(allowed: Iterable[str], denied: Iterable[str]) -> dict[str, bool]:
    """Return abilities by name, from `--allow` and `--deny`."""
    both = set(allowed) & set(denied)
    if both:
        raise click.UsageError(
            f"--allow and --deny contradict each other: {', '.join(sorted(both))}"
        )
    return dict.fromkeys(allowed, True) | dict.fromkeys(denied, False)


def change_of(given: dict[str, Any]) -> Any:
    """Return the API's body. Fields without a flag are absent."""
    body = dict(given["data"] or {})
    branding: dict[str, Any] = {}
    put(branding, name=given["brand"], logoUrl=given["logo_url"], locale=given["locale"])
    put(branding, supportUrl=given["support_url"], colors=dict(given["colors"]) or None)
    if branding:
        body["branding"] = {**(body.get("branding") or {}), **branding}
    put(body, returnUrl=given["return_url"])
    if given["origins"] and given["no_origins"]:
        raise click.UsageError("--origin and --no-origins contradict each other")
    if given["origins"] or given["no_origins"]:
        body["allowedOrigins"] = list(given["origins"])
    may = permissions_of(given["allowed"], given["denied"])
    if may:
        body["customerMay"] = {**(body.get("customerMay") or {}), **may}
    return body
