"""A request's body over HTTP/2 on its way to the application: at most a window of it, and nobody waits.

Hypercorn's own queue lets one request that is not read hold up all of its connection.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import trio
from hypercorn.config import Config
from hypercorn.trio.task_group import TaskGroup, _handle
from hypercorn.typing import AppWrapper, ASGISendEvent, Scope

from api.door.exchange import Message

TAKEN = "angarium.taken"  # in a scope's extensions: tells a stream's client that it may send on

Taken = Callable[[int], Awaitable[None]]


class Inbox:
    """What has come for one request and was not taken. The window that its client was given bounds it:
    it is opened again by what was taken, when more is asked for."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._held = bytearray()
        self._untold = 0  # bytes taken that the client does not know of
        self._ended = False
        self._end_told = False
        self._gone = False
        self._news = trio.Event()

    async def put(self, message: Any) -> None:
        """Take one of Hypercorn's messages. Never waits."""
        if message["type"] == "http.disconnect":
            self._gone = True
        else:
            self._held += message["body"]
            self._ended = self._ended or not message["more_body"]
        self._news.set()

    async def receive(self) -> Message:
        """See ASGI: the next part of the body, or the client's leaving."""
        while True:
            if self._gone:
                await trio.lowlevel.checkpoint()
                return {"type": "http.disconnect"}
            if self._held or (self._ended and not self._end_told):
                data = bytes(self._held)
                self._held.clear()
                self._untold += len(data)
                self._end_told = self._ended
                await trio.lowlevel.checkpoint()
                return {"type": "http.request", "body": data, "more_body": not self._ended}
            if self._untold and not self._ended:
                untold, self._untold = self._untold, 0
                await self._taken(untold)
                continue
            self._news = trio.Event()
            await self._news.wait()


class Tasks(TaskGroup):
    """A connection's tasks, with such an inbox for each request."""

    async def spawn_app(
        self,
        app: AppWrapper,
        config: Config,
        scope: Scope,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
    ) -> Callable[[Any], Awaitable[None]]:
        """Run the application; return what takes the messages for it."""
        inbox = Inbox(scope["state"].pop(TAKEN))
        threads = (trio.to_thread.run_sync, trio.from_thread.run)  # for what is not ours: not used
        run: Callable[..., Awaitable[None]] = _handle
        self.spawn(run, app, config, scope, inbox.receive, send, *threads)
        return inbox.put
