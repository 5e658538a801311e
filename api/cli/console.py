"""`angarium console`: print a link that signs you in to the console. Run it on the server's machine."""

from typing import Any
from uuid import UUID

import click
import trio

from api.cli.database import open_keys
from api.cli.errors import Trouble
from api.cli.options import DATABASE, settings_flags, settings_from
from api.cli.printing import say
from api.welcome import login_link, server_url
from engine.settings import Settings


@click.command("console")
@click.option(
    "--key", "key_id", type=click.UUID, metavar="ID",
    help="The key that gives the session its rights. [the strongest key of the oldest workspace]",
)  # fmt: skip
@settings_flags("bind", *DATABASE)
def command(key_id: UUID | None, **flags: Any) -> None:
    """Print a link that signs you in to the console. The link works once, and only for ten minutes."""
    settings = settings_from(flags)
    code = trio.run(_code, settings, None if key_id is None else str(key_id))
    say(login_link(server_url(settings), code))


async def _code(settings: Settings, key_id: str | None) -> str:
    import time

    from api.composition.serving import secret_box
    from engine.control.console import PURPOSE, ConsoleTokens
    from engine.model.read_models import Models

    if key_id is None:
        async with open_keys(settings) as keys:
            key = await keys.strongest()
        if key is None:
            raise Trouble(
                "there is no key yet: create one with `angarium keys create --scope manage`"
            )
        key_id = key.id
    return ConsoleTokens(secret_box(settings).derived(PURPOSE), Models()).code(key_id, time.time())
