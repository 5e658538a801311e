"""The answer with a file's bytes: whole, in part, or 304.

A file's bytes, name and type come from an unknown sender. The file's URL has the same origin as the
console. If a browser ran the file, the file could use the console's sessions. Every file is therefore
sent as a download, and browsers must never show it as a page.
"""

import base64
from collections.abc import AsyncIterator

from pydantic import BaseModel
from quart import request

from api.call import Answer, Call
from api.envelope import envelope
from api.routes import ANY_TYPE
from engine.files.downloads import (
    Part,
    UnsatisfiableError,
    disposition,
    inert_type,
    is_known,
    part_of,
)
from engine.files.ports import BlobMissingError, BlobsAwayError
from engine.model.errors import Refusal
from engine.model.file_records import FileRecord

PART_BYTES = 64 * 1024  # bytes that an answer holds at a time
RETRY_S = 2  # about as long as an object store needs to recover
CONTENT_TYPE = ANY_TYPE  # for the OpenAPI document; an inert file is sent with its own type
CONTENT_HEADERS = {
    "Accept-Ranges": "`bytes`: the route supports `Range`.",
    "Content-Disposition": "`attachment`, with the file's name in a harmless form.",
    "ETag": "The content's SHA-256, for `If-None-Match` and `If-Range`.",
    "Repr-Digest": "The SHA-256 of the whole file (RFC 9530).",
}
UNSATISFIABLE = "range_not_satisfiable"
DESCRIPTION = (
    "`Range` asks for one part; with several ranges the answer is the whole file. `If-Range` asks "
    "for the part only if the content is unchanged. `If-None-Match` asks for the content only if it "
    "has changed. The answer has the file's own type if no browser executes it, otherwise "
    "`application/octet-stream`."
)
# The inert type and `attachment` tell a browser not to show the file. If a browser shows it all the same,
# these headers keep the file from running scripts, loading resources, and using this origin.
_GUARDED = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "private, no-store"),
)


class FileContent(BaseModel):
    """The file's bytes."""


class FilePart(BaseModel):
    """The part of the file that `Range` asks for, as `Content-Range` states it."""


class FileUnchanged(BaseModel):
    """The content is unchanged: `If-None-Match` shows that the caller already has this content."""


CONTENT_RESPONSES: dict[int, type[BaseModel]] = {
    200: FileContent,
    206: FilePart,
    304: FileUnchanged,
}


async def content_answer(call: Call, file: FileRecord, account: str | None = None) -> Answer:
    """Return the answer with the bytes of a file. The file's status must be STORED. The answer counts as
    a stream of the workspace `account`, or of the caller's workspace if `account` is None.

    Raises Refusal if the bytes cannot be read now.
    """
    assert file.sha256 is not None
    assert file.size is not None
    tag = f'"{file.sha256.hex()}"'
    digest = base64.b64encode(file.sha256).decode()
    headers = (("ETag", tag), ("Accept-Ranges", "bytes"), *_GUARDED)
    if is_known(call.headers.get("if-none-match"), tag):
        return Answer(304, body=b"", headers=headers)
    wanted = call.headers.get("range") if request.method == "GET" else None
    try:
        part = part_of(file.size, wanted, call.headers.get("if-range"), tag)
    except UnsatisfiableError:
        words = f"the content has {file.size} bytes"
        return Answer(
            416,
            body=envelope(UNSATISFIABLE, words, call.request_id),
            headers=(*headers, ("Content-Range", f"bytes */{file.size}")),
        )
    described: tuple[tuple[str, str], ...] = (
        *headers,
        ("Content-Disposition", disposition(file.file_name)),
        ("Repr-Digest", f"sha-256=:{digest}:"),
    )
    if not part.whole:
        described += (("Content-Range", f"bytes {part.start}-{part.end - 1}/{file.size}"),)
    return Answer(
        200 if part.whole else 206,
        content_type=inert_type(file.content_type),
        headers=described,
        chunks=await _begun(call, file, part),
        length=part.end - part.start,
        account=account,
    )


async def _begun(call: Call, file: FileRecord, part: Part) -> AsyncIterator[bytes]:
    """Return the file's bytes. Their first piece is read before the answer begins: if the file cannot be
    read, the answer can still be an error. Raises Refusal."""
    if request.method == "HEAD" or part.start == part.end:
        return BodySlices(b"", None)
    pieces = call.services.files.library.open(file, part.start, part.end)
    try:
        first = await anext(pieces)
    except StopAsyncIteration:
        raise Refusal("internal", "the file's stored content is incomplete") from None
    except BlobMissingError:
        raise Refusal("internal", "the file's stored content is missing") from None
    except BlobsAwayError:
        words = "the file cannot be read now: try again"
        raise Refusal("overloaded", words, retry_after_s=RETRY_S) from None
    return BodySlices(first, pieces)


class BodySlices:
    """A file's bytes in parts of at most `PART_BYTES`. `aclose` closes the source of the bytes, even if
    nothing was read."""

    def __init__(self, first: bytes, pieces: AsyncIterator[bytes] | None) -> None:
        self._held = memoryview(first)
        self._pieces = pieces

    def __aiter__(self) -> "BodySlices":
        return self

    async def __anext__(self) -> bytes:
        if not self._held:
            if self._pieces is None:
                raise StopAsyncIteration
            self._held = memoryview(await anext(self._pieces))
        part, self._held = self._held[:PART_BYTES], self._held[PART_BYTES:]
        return bytes(part)

    async def aclose(self) -> None:
        close = getattr(self._pieces, "aclose", None)
        if close is not None:
            await close()
