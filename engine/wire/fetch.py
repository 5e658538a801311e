"""The fetcher of tenants' URLs. It connects as deliveries do: the egress guard checks every redirect."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from time import time
from urllib.parse import urljoin

import trio
from msgspec import Struct

from engine.core.destination import Target
from engine.core.vocabulary import ErrorCategory
from engine.model.errors import Refusal
from engine.wire.failure import RETRY_AFTER_STATUSES, WireError, retry_after_s
from engine.wire.fetch_stream import Download, FetchStream
from engine.wire.target import parse_target
from engine.wire.wiring import Wiring

AT_ONCE = 32  # fetches, each with a connection, a task and 64 KiB; more would not be faster
AT_ONCE_WORKSPACE = 4  # a workspace whose sources hang holds at most an eighth of all
WAIT_S = 60.0  # for a turn: as long as a destination's timeout; then the attempt fails
REDIRECTS = 5  # a shortener, a canonical host and a signed store need three
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WHOLE = frozenset({200, 203})  # 206 answers a range request; other 2xx have no content


class FetchLimits(Struct, frozen=True):
    """The time limits of a fetch. The caller limits the size of the content."""

    progress_s: float = 30.0  # the longest pause between bytes, as in a client's upload
    total_s: float = 120.0  # enough for 25 MiB at 220 KB/s


class SourceError(Exception):
    """A source did not give its content. `retry_after_s` is the wait that the source asks for."""

    def __init__(
        self, category: ErrorCategory, message: str, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.category = category
        self.message = message
        self.retry_after_s = retry_after_s


class FetchedSource:
    """A response with a body to read. `content_type` and `length` are what the source states, or None if
    the source does not state them."""

    def __init__(self, stream: FetchStream) -> None:
        self._stream = stream
        answer = stream.answer
        declared = answer.header(b"content-type") or b""
        self.content_type = declared.decode("latin-1").strip() or None
        self.length = answer.length

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body at the reader's pace. Raises WireError."""
        while piece := await self._stream.read():
            yield piece


class Fetcher:
    """Owner of the fetches' turns."""

    def __init__(self, wiring: Wiring, limits: FetchLimits | None = None) -> None:
        self._wiring = wiring
        self._limits = limits or FetchLimits()
        self._turns = trio.Semaphore(AT_ONCE)
        self._of: dict[str, _Share] = {}

    @asynccontextmanager
    async def get(self, url: str, workspace: str) -> AsyncIterator[FetchedSource]:
        """Request a URL, follow redirects, and yield the source for reading in an `async with` block. The
        time limits include the time that the `async with` block takes.

        Raises SourceError for every fault of the source or of its connection, even if the fault happens
        while the `async with` block reads.
        """
        async with self._turn(workspace):
            try:
                with trio.fail_after(self._limits.total_s):
                    async with self._found(url, workspace) as source:
                        yield source
            except WireError as error:
                raise SourceError(error.category, f"the file's source: {error.message}") from None
            except trio.TooSlowError:
                words = f"the file's source took longer than {self._limits.total_s:g} s"
                raise SourceError(ErrorCategory.TIMEOUT, words) from None

    @asynccontextmanager
    async def _found(self, url: str, workspace: str) -> AsyncIterator[FetchedSource]:
        target = _target(url)
        for _ in range(REDIRECTS + 1):
            stream = FetchStream(self._wiring, target, workspace, self._limits.progress_s)
            async with stream:
                answer = await stream.ask()
                if answer.status not in _REDIRECTS:
                    _judge(answer)
                    yield FetchedSource(stream)
                    return
                location = answer.header(b"location")
            url, target = _onwards(url, target, location)
        words = f"the file's source redirects more than {REDIRECTS} times"
        raise SourceError(ErrorCategory.REDIRECT, words)

    @asynccontextmanager
    async def _turn(self, workspace: str) -> AsyncIterator[None]:
        share = self._of.setdefault(workspace, _Share())
        share.users += 1
        try:
            async with AsyncExitStack() as held:
                try:
                    with trio.fail_after(WAIT_S):
                        for turns in (share.turns, self._turns):
                            await held.enter_async_context(turns)
                except trio.TooSlowError:
                    words = (
                        "the file's source was not asked: too many other files are being fetched"
                    )
                    raise SourceError(ErrorCategory.TIMEOUT, words) from None
                yield
        finally:
            share.users -= 1
            if not share.users:
                del self._of[workspace]


class _Share:
    def __init__(self) -> None:
        self.turns = trio.Semaphore(AT_ONCE_WORKSPACE)
        self.users = 0


def _target(url: str) -> Target:
    try:
        return parse_target(url)
    except Refusal as refusal:
        words = f"the file's source is not fetched: {refusal.message}"
        raise SourceError(ErrorCategory.PROTOCOL, words) from None


def _onwards(url: str, target: Target, location: bytes | None) -> tuple[str, Target]:
    if location is None:
        raise SourceError(ErrorCategory.REDIRECT, "the file's source redirects without a location")
    try:
        onwards = urljoin(url, location.decode("utf-8", "replace"))
    except ValueError:
        onwards = ""
    try:
        found = parse_target(onwards)
    except Refusal:
        words = "the file's source redirects to a URL that cannot be fetched"
        raise SourceError(ErrorCategory.REDIRECT, words) from None
    if target.tls and not found.tls:
        words = "the file's source redirects from https to http"
        raise SourceError(ErrorCategory.REDIRECT, words)
    return onwards, found


def _judge(answer: Download) -> None:
    """Raises SourceError unless the body is the whole file."""
    status = answer.status
    words = f"the file's source answered {status}"
    wait = None
    if status in RETRY_AFTER_STATUSES:
        wait = retry_after_s(answer.fields, time())
    if status == 429:
        raise SourceError(ErrorCategory.RATE_LIMITED, words, wait)
    if 400 <= status < 500:
        raise SourceError(ErrorCategory.HTTP_4XX, words)
    if 500 <= status < 600:
        raise SourceError(ErrorCategory.HTTP_5XX, words, wait)
    if status not in _WHOLE:
        raise SourceError(ErrorCategory.PROTOCOL, f"{words} instead of a whole file")
    coding = (answer.header(b"content-encoding") or b"identity").strip().lower()
    if coding != b"identity":
        words = "the file's source sends an encoding that was not requested"
        raise SourceError(ErrorCategory.PROTOCOL, words)
