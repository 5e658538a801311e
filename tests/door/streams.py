"""A streaming application of the framework, which records what it received and sent."""

import hashlib
import random
from collections.abc import AsyncGenerator
from typing import Any, cast

import trio
from quart import Response, request
from werkzeug.exceptions import Forbidden

from api.budget import BodyBudget
from api.streaming import STREAM, Application, Outflow, Request

FILE = random.Random(0).randbytes(25 << 20)  # 25 MiB
LARGEST = 64 * 1024


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


class Warehouse:
    """The application. It reads uploads at `/upload`, does not read them at `/refuse`, and sends `FILE`
    at `/file`."""

    def __init__(self, bodies: BodyBudget) -> None:
        self.bodies = bodies
        self.parts: list[int] = []
        self.news = trio.Event()
        self.go_on = trio.Event()  # uploads wait for this event after their first part
        self.go_on.set()
        self.given = 0  # bytes of a download that were read
        self.fails_at: int | None = None
        self.ended = trio.Event()  # set when an upload's handler or a download's source has ended
        self.drawn = 0  # the maximum of the body budget that was in use
        self.app = Application("warehouse")
        self.app.post("/upload")(self.upload)
        self.app.post("/refuse")(self.refuse)
        self.app.get("/file")(self.file)
        self.app.get("/other")(self.other)

    async def upload(self) -> bytes:
        extensions: dict[str, Any] = request.scope["extensions"]
        hashed = hashlib.sha256()
        with self.bodies.streams.place("one"):
            extensions[STREAM]()
            try:
                async for part in request.body:
                    self.parts.append(len(part))
                    self.drawn = max(self.drawn, self.bodies.drawn)
                    hashed.update(part)
                    self.news.set()
                    self.news = trio.Event()
                    await self.go_on.wait()
            finally:
                self.ended.set()
        return hashed.hexdigest().encode()

    async def refuse(self) -> bytes:
        raise Forbidden

    async def other(self) -> bytes:
        return b"other"

    async def file(self) -> Response:
        chunks = self._file()
        endings = cast("Request", request).endings
        endings.push_async_callback(chunks.aclose)
        endings.callback(self.ended.set)
        response = Response(b"", 206, {"Content-Range": f"bytes 0-{len(FILE) - 1}/*"})
        response.headers["Content-Length"] = str(len(FILE))
        if request.method != "HEAD":
            response.response = Outflow(chunks)
        return response

    async def _file(self) -> AsyncGenerator[bytes, None]:
        for at in range(0, len(FILE), LARGEST):
            if self.fails_at is not None and at >= self.fails_at:
                raise ZeroDivisionError
            await trio.lowlevel.checkpoint()
            self.given = at + LARGEST
            yield FILE[at : at + LARGEST]

    async def wait_part(self, count: int) -> None:
        while len(self.parts) < count:
            await self.news.wait()
