"""The watch over the embedded server: a server that ended by itself (killed, out of memory) is
restarted."""

import structlog
import trio

from storage.embedded.server import EmbeddedError, EmbeddedServer

log = structlog.get_logger("angarium.storage")

LOOK_S = 0.5  # a look costs one read of /proc
REST_S = 5.0  # after a start that failed


async def keep_running(server: EmbeddedServer) -> None:
    """Check the server again and again until cancelled. A start that fails is logged and tried again."""
    while True:
        try:
            # Not abandoned when cancelled: `stop` must not come while a start is under way.
            await trio.to_thread.run_sync(server.revive)
        except EmbeddedError as error:
            log.exception("embedded.not_revived", error=str(error))
            await trio.sleep(REST_S)
        await trio.sleep(LOOK_S)
