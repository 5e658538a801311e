"""The carrier of files: it fetches an event's files before an attempt is sent, and signs their URLs.

The carrier remembers a failure for a moment: a thousand deliveries of one event must not send a thousand
requests to a source that is down.
"""

from collections.abc import Awaitable, Callable

import structlog
import trio
from msgspec import Struct, structs

from engine.core.records import Event
from engine.core.vocabulary import ErrorCategory
from engine.files.attachments import files_named, measured, payload_of
from engine.files.fetching import Sources
from engine.files.ports import FileStore
from engine.files.urls import FileUrls
from engine.model.file_records import FileRecord, FileState
from engine.model.trace import log_fields
from engine.outbound.ports import Carried, Failure
from engine.ports.outage import Outage
from engine.wire.body import outbound_body
from engine.wire.fetch import SourceError

HEADER = b"angarium-file-url"
KNOWN_S = 60.0  # files are removed only days after their event
KNOWN_EVENTS = 4_096  # with the ids of at most twenty files each: some KB
# The limit on the bytes of payloads and attachments that the carrier remembers, for all events together.
# The payload and attachments of one event mostly have less than 1 KiB.
KNOWN_BYTES = 16 * 1024 * 1024
# A failure of an event's files is remembered for at least this time. Meanwhile, all attempts of the event
# get this failure without a request to the source. A delivery's own retry begins later: after 0.8 s or
# more.
FAILED_S = 0.5
RETRY_AFTER_MOST_S = 60.0  # the longest Retry-After
GONE = "the file is gone: it was removed with its event's retention"

log = structlog.get_logger("angarium.files")
Key = tuple[int, str]
Done = Callable[[Carried | Failure], None]


class ReadyFiles(Struct, frozen=True):
    """An event's files, all stored.

    `payload` is the payload of a FILE event, None for other events. `attachments` are the event's
    attachments with measured sizes and hashes.
    """

    ids: tuple[str, ...]
    payload: bytes | None = None
    attachments: bytes | None = None


class KnownFiles(Struct, frozen=True):
    """The result that the carrier remembers for an event's files, until trio's clock reaches `until`."""

    result: ReadyFiles | Failure
    until: float

    @property
    def size(self) -> int:
        found = self.result
        if not isinstance(found, ReadyFiles):
            return 0
        return len(found.payload or b"") + len(found.attachments or b"")


class FileCarrier:
    """The implementation of `engine.outbound.ports.FileStage`. Owner of the remembered results
    (`KnownFiles`), and of the attempts that wait for files."""

    def __init__(
        self,
        files: FileStore,
        sources: Sources,
        urls: FileUrls,
        spawn: Callable[[Callable[..., Awaitable[object]], Event], None],
    ) -> None:
        self._files = files
        self._sources = sources
        self._urls = urls
        self._spawn = spawn
        self._outage = Outage("files of attempts")
        self._known: dict[Key, KnownFiles] = {}
        self._known_bytes = 0
        self._waiting: dict[Key, list[tuple[Event, Done]]] = {}

    def carry(self, event: Event, done: Done) -> None:
        """Fetch the event's files; see the port."""
        if event.file is None and not files_named(event.attachments or b"[]"):
            done(Carried(outbound_body(event), ()))
            return
        key = (event.environment, event.id)
        known = self._known.get(key)
        if known is not None and known.until > trio.current_time():
            done(self._answer(event, known.result))
            return
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append((event, done))
            return
        self._waiting[key] = [(event, done)]
        self._spawn(self._prepare, event)

    # --- once for all attempts that wait

    async def _prepare(self, event: Event) -> None:
        key = (event.environment, event.id)
        result: ReadyFiles | Failure
        keep_s = KNOWN_S
        try:
            files = [await self._ready(file) for file in await self._rows(event)]
            payload = None if event.file is None else payload_of(files[0])
            attachments = await self._measured(event, files)
            result = ReadyFiles(tuple([file.id for file in files]), payload, attachments)
        except SourceError as error:
            result = Failure(error.category, error.message)
            keep_s = max(FAILED_S, min(error.retry_after_s or 0.0, RETRY_AFTER_MOST_S))
        except Exception:  # a barrier: only the attempts of this event fail
            log.exception("files.prepare_failed", event_id=event.id, **log_fields(event.trace))
            result = Failure(ErrorCategory.INTERNAL, "the file could not be prepared")
            keep_s = FAILED_S
        except BaseException:  # attempts in flight are sent again after the next start
            del self._waiting[key]
            raise
        self._remember(key, KnownFiles(result, trio.current_time() + keep_s))
        for each, done in self._waiting.pop(key):
            try:
                done(self._answer(each, result))
            except Exception:  # a barrier: only this attempt fails
                log.exception("attempt.files_failed", event_id=event.id, **log_fields(event.trace))

    async def _rows(self, event: Event) -> list[FileRecord]:
        """Raises SourceError if a file is gone."""
        found = await self._outage.outlast(
            lambda _: self._files.of_event(event.environment, event.id)
        )
        by_id = {file.id: file for file in found}
        named = [event.file] if event.file is not None else []
        named += files_named(event.attachments or b"[]")
        files = [by_id.get(identifier) for identifier in named]
        there = [file for file in files if file is not None]
        if len(there) < len(files):
            raise SourceError(ErrorCategory.INTERNAL, GONE)
        return there

    async def _ready(self, file: FileRecord) -> FileRecord:
        if file.state is FileState.STORED:
            return file
        if file.state is FileState.FAILED:
            words = file.error or "the file's source never gave it"
            raise SourceError(ErrorCategory.INTERNAL, words)
        return await self._outage.outlast(lambda _: self._sources.fetch(file))

    async def _measured(self, event: Event, files: list[FileRecord]) -> bytes | None:
        """Return the event's attachments with measured sizes and hashes. If the event's row has other
        sizes or hashes, write these attachments to the row."""
        if event.attachments is None:
            return None
        found = measured(event.attachments, files if event.file is None else files[1:])
        if found != event.attachments:
            place = (event.environment, event.id, found)
            await self._outage.outlast(lambda _: self._files.measured(*place))
        return found

    def _remember(self, key: Key, known: KnownFiles) -> None:
        self._forget(key)
        while self._known and (
            len(self._known) >= KNOWN_EVENTS
            or self._known_bytes + known.size > KNOWN_BYTES
            or self._known[next(iter(self._known))].until <= trio.current_time()
        ):
            self._forget(next(iter(self._known)))
        self._known[key] = known
        self._known_bytes += known.size

    def _forget(self, key: Key) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._known_bytes -= known.size

    # --- for each attempt

    def _answer(self, event: Event, result: ReadyFiles | Failure) -> Carried | Failure:
        if isinstance(result, Failure):
            return result
        if result.payload is not None and result.payload != event.payload:
            # Change a copy, because deliveries in memory share the original event. Their memory was
            # counted with the length of the original event's payload, so the original event must keep
            # this payload.
            event = structs.replace(event, payload=result.payload, body=None)
        if result.attachments is not None and result.attachments != event.attachments:
            event = structs.replace(event, attachments=result.attachments, body=None)
        urls = [self._urls.url(event.environment, file).encode() for file in result.ids]
        return Carried(outbound_body(event), ((HEADER, b", ".join(urls)),))
