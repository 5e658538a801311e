"""The ASGI scope of a request passed to the application, and the application's lifespan."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from api.door.channel import Address
from api.door.exchange import Message
from api.door.framing import Head
from api.escapes import unescaped

App = Callable[[Any, Any, Any], Awaitable[None]]
LIFESPAN_S = 10.0  # for each of the application's start and end


def scope_of(
    head: Head, request_id: str, client: Address, server: Address, secure: bool
) -> Message:
    """Return the scope of an HTTP/1.1 request; `state` has the door's request id."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": f"1.{head.minor}",
        "method": head.method.decode("ascii"),
        "scheme": "https" if secure else "http",
        "path": unescaped(head.path).decode("utf-8", "replace"),
        "raw_path": head.path,
        "query_string": head.query,
        "root_path": "",
        "headers": head.fields,
        "client": client,
        "server": server,
        "state": {"request_id": request_id},
        "extensions": {},
    }


class Lifespan:
    """The lifespan of an application, if it has one."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._inbox_send, self._inbox = trio.open_memory_channel[Message](2)
        self._started = trio.Event()
        self._stopped = trio.Event()
        self._failure: str | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the application, and wait for its end. Raises RuntimeError if the application
        reports a failed start.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve)
            self._inbox_send.send_nowait({"type": "lifespan.startup"})
            with trio.fail_after(LIFESPAN_S):
                await self._started.wait()
            if self._failure is not None:
                raise RuntimeError(f"the application did not start: {self._failure}")
            task_status.started()

    async def stop(self) -> None:
        """Tell the application to end, and wait for it."""
        if not self._stopped.is_set():
            self._inbox_send.send_nowait({"type": "lifespan.shutdown"})
            with trio.move_on_after(LIFESPAN_S):
                await self._stopped.wait()

    async def _serve(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        try:
            await self._app(scope, self._inbox.receive, self._send)
        except Exception:
            if self._started.is_set():
                raise
            # By the ASGI specification, an application that does not support lifespans raises an error
            # here. It then runs without a lifespan.
        finally:
            self._started.set()
            self._stopped.set()

    async def _send(self, message: Message) -> None:
        kind = message["type"]
        if kind == "lifespan.startup.complete":
            self._started.set()
        elif kind == "lifespan.startup.failed":
            self._failure = str(message.get("message", ""))
            self._started.set()
        elif kind in ("lifespan.shutdown.complete", "lifespan.shutdown.failed"):
            self._stopped.set()
        await trio.lowlevel.checkpoint()
