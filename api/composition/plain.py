"""The Quart application with the engine in its lifespan, for another ASGI server (`api.asgi`)."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
import trio

from api import logs
from api.composition import Server
from api.composition.failures import known_failure
from api.composition.serving import read_declared, secret_box
from api.core_dumps import forbid_core_dumps
from engine.settings import Settings
from storage.database.bridge import open_bridge
from storage.embedded.server import EmbeddedServer

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

log = structlog.get_logger("angarium")


class PlainServer:
    """The owner of the engine, which runs from the start to the end of the application's lifespan."""

    def __init__(self) -> None:
        self._server: Server | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._server is None:
            raise RuntimeError(
                "the lifespan has not begun: use an ASGI server that runs the lifespan"
            )
        else:
            await self._server.door.app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._serve(receive, send)
        except Exception as error:
            known = known_failure(error)
            if known is None:
                raise
            message = str(known[0])
            log.critical("server.failed", error=message)
            await send({"type": "lifespan.startup.failed", "message": message})

    async def _serve(self, receive: Receive, send: Send) -> None:
        settings = Settings.from_environment(os.environ)
        logs.configure(settings.log_format, settings.log_level)
        forbid_core_dumps()
        read_declared(settings)
        box = secret_box(settings)
        url = settings.database_url
        embedded = EmbeddedServer(settings.data_dir) if url is None else None
        try:
            if embedded is not None:
                url = await trio.to_thread.run_sync(embedded.start)
            assert url is not None
            async with open_bridge(url) as bridge:
                server = Server(settings, bridge, box, embedded, listens=False)
                await server.prepare()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(server.run)
                    await server.watch.served.wait()
                    self._server = server
                    await send({"type": "lifespan.startup.complete"})
                    await receive()
                    self._server = None
                    await server.stop()
        finally:
            if embedded is not None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(embedded.stop)
        await send({"type": "lifespan.shutdown.complete"})
