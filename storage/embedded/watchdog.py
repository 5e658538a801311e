"""The watch over the embedded server, which restarts it after an unexpected end."""

import structlog
import trio

from storage.embedded.server import EmbeddedError, EmbeddedServer

log = structlog.get_logger("angarium.storage")

LOOK_S = 0.5  # a check costs a few reads of /proc
REST_S = 5.0  # after a start that failed


async def keep_running(server: EmbeddedServer) -> None:
    """Check the server regularly until cancelled."""
    while True:
        try:
            # A cancellation waits for this thread: `stop` must not run while a start is under way.
            await trio.to_thread.run_sync(server.revive)
        except EmbeddedError as error:
            log.exception("embedded.not_revived", error=str(error))
            await trio.sleep(REST_S)
        await trio.sleep(LOOK_S)
