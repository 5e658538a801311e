"""A reader of multipart/form-data (RFC 7578) as it arrives."""

import re
from collections.abc import AsyncGenerator, AsyncIterator

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import (
    NEED_DATA,
    Data,
    Epilogue,
    Event,
    Field,
    File,
    MultipartDecoder,
    Preamble,
    State,
)

from engine.model.documents import invalid
from engine.model.errors import Refusal

FILE = "file"  # the name of the part
PARTS = 16  # twice the number of known fields
TEXT_BYTES = 64 * 1024  # of all text fields together; metadata, the largest, has 16 KiB
SLICE_BYTES = 8 * 1024  # bytes given to the parser at a time
# The most bytes that the parser buffers while it searches for a boundary or the end of a part's head. A
# larger head is refused: each KiB of a head blocks the event loop for up to half a millisecond.
BUFFER_BYTES = 2 * SLICE_BYTES
_BOUNDARY = re.compile(r"[A-Za-z0-9'()+_,\-./:=? ]{1,70}")
# Matches the text after a boundary if the rest of its line has not arrived yet. The text is white space,
# and perhaps a dash: the first of the two dashes that follow the last boundary of a form.
_PADDING = re.compile(rb"[ \t\x0b\x0c]*-?")


class _Decoder(MultipartDecoder):
    """Werkzeug's decoder, with fixes for three bugs.

    If the received bytes end within a boundary's line, Werkzeug adds the first byte of the line end to
    the content. If a part has no content, Werkzeug treats the next part as the content of the empty part.
    If the received bytes end between the two bytes of a line end, Werkzeug counts two line ends.
    """

    def next_event(self) -> Event:
        halved = not self.complete and self.buffer.endswith(b"\r")
        if halved:  # a line feed can follow
            del self.buffer[-1:]
        begins = self.state is State.DATA_START and not self.complete
        waits = begins and self._last_partial_boundary_index(self.buffer) == 0
        event = NEED_DATA if waits else super().next_event()
        if halved:
            self.buffer.extend(b"\r")
        return event

    def _last_partial_boundary_index(self, data: bytes | bytearray) -> int:
        at = max(data.rfind(b"\n"), data.rfind(b"\r"))
        if at == -1:
            return len(data)
        line = data[at + 1 :]
        if data[at : at + 1] == b"\n" and data[at - 1 : at] == b"\r":
            at -= 1
        boundary = b"--" + self.boundary
        if boundary.startswith(line):
            return at
        if line.startswith(boundary) and _PADDING.fullmatch(line, len(boundary)):
            return at
        return len(data)


class MultipartForm:
    """One form. Read `file` to its end first, then read `rest`. After that, `fields` is complete."""

    def __init__(self, content_type: str, chunks: AsyncIterator[bytes]) -> None:
        """Raises Refusal if `content_type` has no usable boundary."""
        boundary = parse_options_header(content_type)[1].get("boundary", "")
        if _BOUNDARY.fullmatch(boundary) is None or boundary.endswith(" "):
            raise Refusal("invalid_request", "Content-Type has no boundary")
        self.fields: dict[str, str] = {}
        self.file_name: str | None = None
        self.content_type: str | None = None
        self._decoder = _Decoder(boundary.encode(), BUFFER_BYTES, max_parts=PARTS)
        self._chunks = chunks
        self._received = memoryview(b"")  # the bytes of a chunk that the parser has not got yet
        self._text_bytes = 0
        self._ended = False

    async def file(self) -> AsyncGenerator[bytes]:
        """Yield the file's content. Raises Refusal without a file, or for a malformed form."""
        while True:
            event = await self._next()
            if isinstance(event, Field):
                await self._field(event)
            elif isinstance(event, File):
                break
            elif isinstance(event, Epilogue):
                raise invalid(FILE, "is required: add a part of this name with a filename")
        if event.name != FILE:
            raise invalid(
                event.name or "a part", "must not be a file: only the part named file can be one"
            )
        self.file_name = event.filename or None
        self.content_type = event.headers.get("content-type")
        more = True
        while more:
            data = await self._data()
            more = data.more_data
            if data.data:
                yield data.data

    async def rest(self) -> None:
        """Read the parts after the file. Raises Refusal."""
        while not self._ended:
            event = await self._next()
            if isinstance(event, Field):
                await self._field(event)
            elif isinstance(event, File):
                raise invalid(event.name or "a part", "is a second file: a form can have only one")

    async def _field(self, field: Field) -> None:
        name = field.name
        if not name or len(name) > TEXT_BYTES:
            raise Refusal("invalid_request", "a part of the form has no name")
        if name in self.fields:
            raise invalid(name, "is given twice")
        parts: list[bytes] = []
        more = True
        while more:
            data = await self._data()
            more = data.more_data
            parts.append(data.data)
            self._text_bytes += len(data.data)
            if self._text_bytes > TEXT_BYTES:
                raise Refusal("payload_too_large", f"text fields have at most {TEXT_BYTES} bytes")
        try:
            text = b"".join(parts).decode()
        except UnicodeDecodeError:
            raise invalid(name, "is not UTF-8") from None
        if "\0" in text:
            raise invalid(name, "must not contain NUL")
        if text:  # a browser sends an empty field as an empty text
            self.fields[name] = text

    async def _data(self) -> Data:
        event = await self._next()
        assert isinstance(event, Data)  # the decoder is between a part's head and its end
        return event

    async def _next(self) -> Event:
        try:
            while True:
                event = self._decoder.next_event()
                if event is NEED_DATA:
                    await self._feed()
                elif not isinstance(event, Preamble):
                    self._ended = isinstance(event, Epilogue)
                    return event
        except RequestEntityTooLarge:
            raise Refusal("payload_too_large", "the form has too many or too large parts") from None
        except ValueError:  # from the parser, also for text that is not UTF-8
            raise Refusal("invalid_request", "the form is malformed") from None

    async def _feed(self) -> None:
        while not self._received:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                self._decoder.receive_data(None)
                return
            self._received = memoryview(chunk)
        self._decoder.receive_data(bytes(self._received[:SLICE_BYTES]))
        self._received = self._received[SLICE_BYTES:]
