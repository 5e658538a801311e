"""An HTTP/2 request that the application answers."""

from typing import Any, Protocol

import trio

from api.door.exchange import Exchange, Message, Side
from api.door.framing import Head
from api.door.limits import SLICE_BYTES
from api.door.places import UntakenAnswers
from api.door.response import date
from api.entry import Entry

Headers = list[tuple[bytes, bytes]]


class Stream(Side, Protocol):
    """The methods of a stream that a `StreamExchange` calls. They include the methods of `Side`, which
    every `Exchange` calls."""

    def head_answer(self, status: int, headers: Headers) -> None:
        """Begin the answer."""

    def write_body(self, data: bytes, last: bool) -> bool:
        """Continue the answer. Return False if the caller must wait until the stream calls the exchange's
        `flushed`."""

    def keep(self, untaken: UntakenAnswers, account: str) -> None:
        """Count the unsent part of the answer in `untaken` until the client has taken it."""


class StreamExchange(Exchange):
    def __init__(
        self, stream: Stream, head: Head, request_id: str, entry: Entry | None = None
    ) -> None:
        super().__init__(stream, head, request_id, entry)
        self._stream = stream

    async def run(self, app: Any, scope: Message) -> Exception | None:
        scope["http_version"] = "2"
        return await super().run(app, scope)

    async def _send_body(self, body: bytes, more: bool) -> None:
        if not self.started:
            headers, dated = self._headers(len(body), more)
            if not dated:
                headers.append((b"date", date()))
            self._stream.head_answer(self.status, headers)
        body = self._counted(body, more)
        for at in range(0, len(body) or 1, SLICE_BYTES):
            last = not more and at + SLICE_BYTES >= len(body)
            self._complete = last
            waits = not self._stream.write_body(body[at : at + SLICE_BYTES], last)
            if last:  # the stream sends the rest; this task does not wait for that
                if waits and self.untaken is not None:
                    self._stream.keep(self.untaken, self.account)
                self._wake()
            elif waits and not self._gone:
                self._flush = trio.Event()
                await self._flush.wait()
            if self._gone:
                raise BrokenPipeError("the client is gone")
        await trio.lowlevel.checkpoint()
