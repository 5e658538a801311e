"""Runs a server in this process, from its settings to its exit code."""

import signal
from collections.abc import AsyncIterator

import structlog
import trio

from api.cli.failures import known_failure
from api.composition import Server
from api.composition.core_dumps import forbid_core_dumps
from engine.settings import Settings
from storage.bridge import open_bridge
from storage.embedded import HOLD, EmbeddedError, EmbeddedServer
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
    embedded = None if settings.database_url is not None else EmbeddedServer(settings.data_dir)
    try:
        # From here on: a signal while PostgreSQL starts must not leave it behind, running.
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            url = settings.database_url if embedded is None else await _started(embedded, signals)
            if url is None:
                log.info("server stopped", before="the database had started")
                return
            async with open_bridge(url) as bridge:
                server = Server(settings, bridge, box, embedded)
                if hold:
                    server.directory.hold()
                    log.warning("deliveries are held", until="the file is removed", file=HOLD)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(server.stop_at_signal, signals, nursery.cancel_scope)
                    await server.prepare()
                    await server.run()
                    nursery.cancel_scope.cancel()
                log.info("server stopped")
    finally:
        if embedded is not None:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(embedded.stop)


async def _started(embedded: EmbeddedServer, signals: AsyncIterator[int]) -> str | None:
    """Start the embedded database and return its URL; None where a signal said that it is to end."""

    async def give_up() -> None:
        await anext(signals)
        embedded.given_up = True

    url: str | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(give_up)
        try:
            url = await trio.to_thread.run_sync(embedded.start)
        except EmbeddedError:
            if not embedded.given_up:
                raise
        nursery.cancel_scope.cancel()
    return None if embedded.given_up else url
