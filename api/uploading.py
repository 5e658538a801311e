"""The three forms of a file upload: JSON, multipart/form-data, or the file's bytes as the body.

Each form yields the file's description, and its stored content or its URL. Only a JSON body, which is
small, is held whole.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from werkzeug.http import parse_options_header

from api.bodies import check_strings, read_object
from api.call import Call
from api.multipart import MultipartForm
from api.queries import Query
from engine.core.vocabulary import Environment
from engine.ingest.file_draft import INLINE_BYTES, FileFields, FileInput
from engine.ingest.uploads import Content
from engine.model.documents import invalid, read
from engine.model.errors import Refusal
from engine.model.file_records import FILE_BYTES, SourceKind
from engine.model.words import Word

JSON = "application/json"
MULTIPART = "multipart/form-data"
UNSAID = "application/x-www-form-urlencoded"  # the type that many clients state by default
JSON_BYTES = INLINE_BYTES * 3 // 2  # base64 is 4/3 of its content, and the rest is small
OVERHEAD_BYTES = 128 * 1024  # of a form, besides its file
RETRY_S = 2  # files take seconds, not minutes


class UploadQuery(Query):
    """The description of a file in the query, for an upload whose body is the file's bytes. In the other
    two forms of an upload, the body has the description."""

    environment: Word[Environment] | None = None
    file_name: str | None = None
    content_type: str | None = None  # a JSON file's header Content-Type would mean the JSON form
    file_type: str | None = None
    metadata: str | None = None
    event_type: str | None = None
    customer_external_id: str | None = None
    idempotency_key: str | None = None

    def said(self) -> dict[str, str]:
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"environment"})


@asynccontextmanager
async def received(call: Call) -> AsyncIterator[tuple[FileFields, Content]]:
    """Receive a file and hold its content while the block runs. Raises Refusal."""
    said = call.query_as(UploadQuery).said()
    content_type = call.headers.get("content-type", "")
    essence = content_type.partition(";")[0].strip(" \t").lower()
    if essence in (JSON, MULTIPART) and said:
        raise invalid(next(iter(said)), "must be in the body of this form, not in the query")
    # The garbage collector must not get a half-read iterator.
    async with aclosing(cast("AsyncGenerator[bytes]", call.chunks)):
        if essence == JSON:
            form = _as_json(call)
        elif essence == MULTIPART:
            form = _as_form(call, content_type)
        else:
            form = _as_it_is(call, None if essence == UNSAID else content_type or None, said)
        async with form as found:
            yield found


@asynccontextmanager
async def _as_form(call: Call, content_type: str) -> AsyncIterator[tuple[FileFields, Content]]:
    form = MultipartForm(content_type, call.chunks)
    async with _kept(call, form.file(), FILE_BYTES) as content:
        await form.rest()
        stated = {"fileName": form.file_name, "contentType": form.content_type}
        yield _fields({**_present(stated), **form.fields}), content


@asynccontextmanager
async def _as_it_is(
    call: Call, content_type: str | None, said: dict[str, str]
) -> AsyncIterator[tuple[FileFields, Content]]:
    stated = {
        "fileName": _named(call.headers.get("content-disposition", "")),
        "contentType": content_type,
    }
    fields = _fields({**_present(stated), **said})  # before the body is read
    async with _kept(call, _some(call.chunks), FILE_BYTES) as content:
        yield fields, content


@asynccontextmanager
async def _as_json(call: Call) -> AsyncIterator[tuple[FileFields, Content]]:
    bodies, workspace = call.services.bodies, call.environment.workspace
    body = bytearray()
    drawn = 0
    try:
        async for chunk in call.chunks:
            if len(body) + len(chunk) > JSON_BYTES:
                raise Refusal("payload_too_large", f"as JSON a file has at most {JSON_BYTES} bytes")
            if not bodies.draw(workspace, len(chunk)):
                raise _no_room("too many request bodies at once: try again")
            drawn += len(chunk)
            body += chunk
        fields = read(FileInput, read_object(bytes(body)))
        body = bytearray()
        inline = fields.inline()
        if inline is None:
            yield fields, Content(SourceKind.URL, url=fields.url())
            return
        data, content_type = inline
        kind = SourceKind.CONTENT if fields.content is not None else SourceKind.INLINE
        if content_type is not None and fields.content_type is None:
            fields = fields.model_copy(update={"content_type": content_type})
        async with _kept(call, _once(data), INLINE_BYTES, kind) as content:
            yield fields, content
    finally:
        if drawn:
            bodies.give_back(workspace, drawn)


@asynccontextmanager
async def _kept(
    call: Call,
    chunks: AsyncGenerator[bytes],
    at_most: int,
    kind: SourceKind = SourceKind.CONTENT,
) -> AsyncIterator[Content]:
    """Store a stream, within the budget of disk space for uploads."""
    spooled, workspace = call.services.files.spooled, call.environment.workspace
    drawn = 0

    async def drawing() -> AsyncGenerator[bytes]:
        nonlocal drawn
        async for chunk in chunks:
            if not spooled.draw(workspace, len(chunk)):
                raise _no_room("too many files are being received: try again")
            drawn += len(chunk)
            yield chunk

    try:
        async with (
            aclosing(chunks),
            aclosing(drawing()) as stream,
            call.services.files.depot.keep(call.number, stream, at_most) as kept,
        ):
            yield Content(kind, kept)
    finally:
        if drawn:
            spooled.give_back(workspace, drawn)


def _fields(said: dict[str, str]) -> FileFields:
    """Raises Refusal."""
    document: dict[str, Any] = dict(said)
    metadata = said.get("metadata")
    if metadata is not None:
        try:
            document["metadata"] = read_object(metadata.encode())
        except Refusal as refusal:
            raise invalid("metadata", refusal.message.replace("the body", "it")) from None
    check_strings(document)  # a file's name can come from a header, which can encode any character
    return read(FileFields, document)


def _present(stated: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in stated.items() if value is not None}


def _named(disposition: str) -> str | None:
    """The name can be other than ASCII (RFC 8187)."""
    return parse_options_header(disposition)[1].get("filename") or None


def _no_room(message: str) -> Refusal:
    return Refusal("overloaded", message, retry_after_s=RETRY_S)


async def _once(data: bytes) -> AsyncGenerator[bytes]:
    yield data


async def _some(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Raises Refusal for an empty body."""
    empty = True
    async for chunk in chunks:
        empty = empty and not chunk
        yield chunk
    if empty:
        raise Refusal("invalid_request", "the body is empty: send the file's content as the body")
