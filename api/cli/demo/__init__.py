"""`angarium demo`: a demonstration on the running server."""

import secrets
import sys
from typing import Any

import click
import trio

from angarium import AngariumError, AsyncClient, AuthenticationError, RetryPolicy
from api.cli.database import open_keys
from api.cli.demo.screen import Screen
from api.cli.demo.story import Story
from api.cli.errors import FAILED, UnreachableTrouble
from api.cli.options import DATABASE, settings_flags, settings_from
from api.welcome import server_url
from engine.control.keys import NewKey
from engine.core.vocabulary import Environment, Scope
from engine.settings import Settings

WORKSPACE = "demo"
KEY_VALID_S = 5.0  # a running server knows a new key within a second
CLEAN_UP_S = 10.0

HELP = """Show the service with the server that runs on the same data.

The demo creates a workspace, a key, a receiver on this machine, a destination and rules. It sends
events one by one and in batches, and verifies every signature. Then a receiver fails for a while, and a
STRICT destination delivers everything in order with retries. At the end the demo removes its objects.

\b
Exit codes: 0 every check passed; 1 a check failed; 3 no server.
"""

NEXT = """
[bold]What to try next[/bold]
   angarium listen 9000                    a receiver that prints and verifies webhooks
   angarium keys create --environment DEVELOPMENT --scope manage
   {url}/docs         every call of the API
   docs/start.md                           the same steps with curl
   Kill the server (kill -9) during deliveries, and start it again: all events arrive."""


@click.command("demo", help=HELP, short_help="Show a demonstration (needs a running server).")
@click.option("--url", metavar="URL", help="Address of the server. [from the setting bind]")
@click.option(
    "--events", type=click.IntRange(2, 100_000), default=2_000, help="The number of events. [2000]"
)
@settings_flags("bind", *DATABASE)
def command(url: str | None, events: int, **flags: Any) -> None:
    settings = settings_from(flags)
    sys.exit(trio.run(_demo, settings, url or server_url(settings), events))


async def _demo(settings: Settings, url: str, events: int) -> int:
    screen = Screen()
    async with AsyncClient(url, "none", trust_env=False, retry=RetryPolicy(retries=0)) as nobody:
        await _find_server(nobody, url)
    made = await _make_key(settings)
    screen.say(f"A server at {url}; workspace [bold]{WORKSPACE}[/bold], with its own key")
    try:
        async with AsyncClient(url, made.secret, trust_env=False) as client:
            await _wait_valid(client, url)
            story = Story(client, screen, secrets.token_hex(3), events)
            try:
                await story.play()
            finally:
                with trio.CancelScope(shield=True), trio.move_on_after(CLEAN_UP_S):
                    await story.clean_up()
    finally:
        with trio.CancelScope(shield=True), trio.move_on_after(CLEAN_UP_S):
            await _revoke(settings, made)
    screen.say("\nCleaned up: rules deleted, destinations archived, key revoked.")
    if story.problems:
        screen.say("[red]Some checks failed:[/red] " + "; ".join(story.problems))
        return FAILED
    screen.say("[green]Every check passed.[/green]")
    screen.say(NEXT.format(url=url))
    return 0


async def _find_server(client: AsyncClient, url: str) -> None:
    try:
        await client.auth_context()
    except AuthenticationError:
        return  # it is Angarium, which refuses the key
    except AngariumError as error:
        raise UnreachableTrouble(
            f"no server at {url} ({error}).\nStart one in another terminal: make run"
        ) from None


async def _make_key(settings: Settings) -> NewKey:
    async with open_keys(settings) as keys:
        tenant = await keys.ensure_workspace(WORKSPACE)
        return await keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "demo")


async def _revoke(settings: Settings, made: NewKey) -> None:
    async with open_keys(settings) as keys:
        await keys.revoke(made.key.id)


async def _wait_valid(client: AsyncClient, url: str) -> None:
    with trio.move_on_after(KEY_VALID_S):
        while True:
            try:
                await client.auth_context()
            except AuthenticationError:
                await trio.sleep(0.1)
            else:
                return
    raise UnreachableTrouble(
        f"the server at {url} does not know a key that was just created: it uses other data.\n"
        "Give the server's --data-dir or --database-url."
    )
