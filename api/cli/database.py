"""The CLI commands' direct access to the database, without a server.

If the embedded database is not running, the command starts it.
"""

import time
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

import trio

from api.cli.errors import Trouble
from engine.control.keys import KeyCommands
from engine.control.writer import writer_without_models
from engine.model.identity import Identity
from engine.plans.file import plans_of
from engine.settings import Settings
from storage.configuration.keys import Keys as KeyTable
from storage.configuration.workspaces import Workspaces
from storage.database.bridge import Bridge, open_bridge
from storage.embedded.server import attached, has_database
from storage.migrations.migrate import known_migrations

MIGRATING_S = 30.0  # the wait for a starting server that applies migrations


@asynccontextmanager
async def open_keys(settings: Settings) -> AsyncIterator[KeyCommands]:
    """Connect to the database, and yield the object that creates, rotates and revokes keys.

    Raises StoreError, EmbeddedError, PlansFileError or Trouble.
    """
    async with database(settings) as url, open_bridge(url) as bridge:
        await bring_up_to_date(bridge)
        plans = tuple(plans_of(settings))
        yield KeyCommands(
            Workspaces(bridge.pool),
            KeyTable(bridge.pool),
            writer_without_models(Identity(), time.time),
            plans=plans,
        )


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[str]:
    """Yield the database's URL. If the embedded database is not running, start it, and stop it at the end
    of the `async with` block."""
    place: AbstractContextManager[str]
    if settings.database_url is not None:
        place = nullcontext(settings.database_url)
    else:
        if not has_database(settings.data_dir):
            raise Trouble(
                f"there is no database in {settings.data_dir}: start the server once"
                " (`angarium serve`), or name its folder with --data-dir"
            )
        place = attached(settings.data_dir)
    url = await trio.to_thread.run_sync(place.__enter__)
    try:
        yield url
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(place.__exit__, None, None, None)


async def bring_up_to_date(bridge: Bridge) -> None:
    """Wait until the database has this program's version, but at most `MIGRATING_S`.

    Raises Trouble in three cases. The database has a newer version than the program. It still has an
    older version after the wait: only a server upgrades the database, because a running older server
    would not know the new tables. It has no tables: only the first start of a server creates the tables.
    """
    ledger = await bridge.pool.fetch_value("SELECT to_regclass('schema_migrations') IS NOT NULL")
    if not ledger:
        raise Trouble(
            "this database has no tables of Angarium: start the server once (`angarium serve`),"
            " or correct ANGARIUM_DATABASE_URL"
        )
    wanted = len(known_migrations())
    deadline = time.monotonic() + MIGRATING_S
    while True:
        applied = await bridge.pool.fetch_value("SELECT count(*) FROM schema_migrations")
        if applied == wanted:
            return
        if applied > wanted:
            raise Trouble(
                "the database is newer than this program: use the server's version of the program"
            )
        if time.monotonic() > deadline:
            raise Trouble(
                "the database has an older version: start the server once, which upgrades the "
                "database"
            )
        await trio.sleep(0.1)
