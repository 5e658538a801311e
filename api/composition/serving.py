"""Runs a server in this process, from its settings to its exit code."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
import trio

from api.cli.failures import known_failure
from api.composition import Server
from api.composition.core_dumps import forbid_core_dumps
from engine.settings import Settings
from storage.bridge import open_bridge
from storage.embedded import HOLD, EmbeddedServer
from storage.key_file import open_secret_box
from storage.secretbox import SecretBox

log = structlog.get_logger("angarium")


def serve(settings: Settings) -> int:
    """Run a server until SIGTERM or SIGINT; return the exit code."""
    forbid_core_dumps()
    try:
        box = open_secret_box(
            settings.master_key,
            settings.data_dir,
            own_database=settings.database_url is not None,
            key_file=settings.master_key_file,
        )
        trio.run(_serve, settings, box, (settings.data_dir / HOLD).exists())
    except Exception as error:
        known = known_failure(error)
        if known is None:
            raise
        cause, code = known
        log.critical("server failed", error=str(cause))
        return code
    return 0


async def _serve(settings: Settings, box: SecretBox, hold: bool) -> None:
    async with _database(settings) as (url, embedded), open_bridge(url) as bridge:
        server = Server(settings, bridge, box, embedded)
        if hold:
            server.directory.hold()
            log.warning("deliveries are held", until="the file is removed", file=HOLD)
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.stop_at_signal, signals, nursery.cancel_scope)
                await server.prepare()
                await server.run()
                nursery.cancel_scope.cancel()
        log.info("server stopped")


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[tuple[str, EmbeddedServer | None]]:
    """Give the URL of the operator's database, or of the embedded one while the block runs."""
    if settings.database_url is not None:
        yield settings.database_url, None
        return
    embedded = EmbeddedServer(settings.data_dir)
    try:
        yield await trio.to_thread.run_sync(embedded.start), embedded
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(embedded.stop)
