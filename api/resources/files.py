"""The routes for files."""

import orjson
from msgspec import structs
from pydantic import Field

from api import shapes
from api.call import Answer, Call
from api.pages import page, position, searched_page
from api.queries import AnyOf, PageQuery, Text, all_of, any_of
from api.resources.content import (
    CONTENT_HEADERS,
    CONTENT_RESPONSES,
    CONTENT_TYPE,
    DESCRIPTION,
    UNSATISFIABLE,
    content_answer,
)
from api.resources.events import seen_customers
from api.routes import ANY_TYPE, INGEST, JSON, READ, Command, Embed, Method, Route
from api.shapes.content import FileItem, FileReceipt
from api.shares import Share
from api.uploading import MULTIPART, OVERHEAD_BYTES, UploadQuery, received
from engine.core.vocabulary import Environment
from engine.ingest.file_draft import FileInput
from engine.model.errors import Refusal
from engine.model.file_records import FILE_BYTES, FileFilter, FilePurpose, FileRecord, FileState
from engine.model.hops import HEADER as HOPS
from engine.model.idempotency import HEADER as IDEMPOTENCY
from engine.model.idempotency import one_key, read_key
from engine.model.identity import created_at_ms
from engine.model.instants import Instant, iso
from engine.model.quotas import Ability
from engine.model.trace import TRACEPARENT, TRACESTATE, read_trace
from engine.model.words import Word, word
from engine.tracing.opening import request_span

TAG = "Files"
COLUMNS = (
    ("ID", "id"),
    ("STATE", "state"),
    ("CREATED", "createdAt"),
    ("SIZE", "sizeBytes"),
    ("TYPE", "contentType"),
    ("NAME", "fileName"),
)
LISTING = "/files"
_ABSENT = {
    FileState.PENDING: "the file has not been fetched from its source yet",
    FileState.FAILED: "the file could not be fetched from its source",
}
FORM = {
    "title": "FileForm",
    "description": "A file as a form. The fields are those that the other forms have in JSON or in "
    "the query.",
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": "The file's bytes, with a filename.",
        },
        **{
            name: {"type": "string"}
            for name in (
                "fileName",
                "contentType",
                "fileType",
                "eventType",
                "customerExternalId",
                "idempotencyKey",
            )
        },
        "metadata": {"type": "string", "description": "A JSON object."},
    },
}

CONTENT = {
    "type": "string",
    "minLength": 1,
    "description": "The file's bytes.",
    "example": "...",
}


class FileQuery(PageQuery):
    """Filters of files."""

    environment: Word[Environment] | None = None
    state: AnyOf[Word[FileState]] | None = Field(
        None, description="A PENDING file has not been fetched from its URL yet."
    )
    purpose: AnyOf[Word[FilePurpose]] | None = Field(
        None, description="UPLOAD: sent to `POST /files`. ATTACHMENT: came with an event."
    )
    customer_external_id: AnyOf[Text] | None = Field(None, description="Files of this customer.")
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")

    def which(self) -> FileFilter:
        return FileFilter(
            from_ms=self.from_,
            to_ms=self.to,
            states=any_of(FileState, self.state),
            purposes=any_of(FilePurpose, self.purpose),
            customers=all_of(self.customer_external_id),
        )


def view(call: Call, file: FileRecord) -> FileItem:
    """Return the view of a file."""
    return {
        "id": file.id,
        "environment": word(call.environment_name),
        "state": word(file.state),
        "purpose": word(file.purpose),
        "fileName": file.file_name,
        "contentType": file.content_type,
        "fileType": file.file_type,
        "sizeBytes": file.size,
        "sha256": _hex(file),
        "metadata": None if file.metadata is None else orjson.Fragment(file.metadata),
        "source": word(file.source),
        "customerExternalId": file.customer,
        "eventId": file.event,
        "error": file.error,
        "createdAt": iso(created_at_ms(file.id)),
        "expiresAt": iso(call.services.files.library.expires_at_ms(file)),
    }


def _trace(call: Call) -> str | None:
    stated = {
        name: given.encode("latin-1")
        for name in (TRACEPARENT, TRACESTATE)
        if (given := call.headers.get(name.decode())) is not None
    }
    return read_trace(stated)


async def upload(call: Call) -> FileReceipt:
    """Accept a file."""
    hops = call.services.hops_of({HOPS: call.headers.get(HOPS.decode(), "").encode("latin-1")})
    stated = call.headers.get(IDEMPOTENCY.decode())
    key = None if stated is None else read_key(stated.encode())
    async with received(call) as (fields, content):
        if key is not None:
            one = one_key(fields.idempotency_key, key)
            fields = fields.model_copy(update={"idempotency_key": one})
        with request_span(call.services.tracing, _trace(call), call.environment, "/files") as trace:
            receipt = await call.services.files.uploads.accept(
                call.number, fields, content, hops=hops, trace=trace
            )
    return {
        "id": receipt.file.id,
        "eventId": receipt.file.event,
        "sizeBytes": receipt.file.size,
        "sha256": _hex(receipt.file),
        "duplicate": receipt.duplicate,
        "deliveries": receipt.deliveries,
    }


async def listing(call: Call) -> shapes.Page[FileItem]:
    """List files, newest first."""
    query = call.query_as(FileQuery)
    below = position(LISTING, call.number, query.cursor)
    which = query.which()
    if call.customer is not None:
        if seen_customers(call, query.customer_external_id) == ():
            return page([], LISTING, call.number, None)
        which = structs.replace(which, customers=(call.customer.external_id,))
    found = await call.services.files.library.page(call.number, which, below, query.limit)
    items = [view(call, file) for file in found.items]
    return searched_page(items, LISTING, call.number, found.below, query.limit)


async def get(call: Call) -> FileItem:
    """Show one file."""
    return view(call, await _found(call))


async def content(call: Call) -> Answer:
    """Answer with a file's bytes."""
    file = await _found(call)
    if file.state is not FileState.STORED:
        raise Refusal("conflict", _ABSENT[file.state])
    return await content_answer(call, file)


async def _found(call: Call) -> FileRecord:
    file = await call.services.files.library.get(call.number, call.identifier())
    if file is None or not call.sees_customer(file.customer):
        raise Refusal("not_found", "no such file")
    return file


def _hex(file: FileRecord) -> str | None:
    return None if file.sha256 is None else file.sha256.hex()


ROUTES = (
    Route(
        method="POST",
        path="/files",
        name="uploadFile",
        client=Method("files.create", by_hand=True),
        summary="Upload a file",
        description="The file becomes an event whose payload is the file's record. The event's "
        "deliveries have the kind FILE and a signed URL of the file. There are three forms: JSON, "
        "with at most 1 MiB of content or with the file's URL; multipart/form-data with one part "
        "`file`; and any other Content-Type, where the body is the file and the query has its "
        "description. A file has at most 25 MiB. 202 once file, event and deliveries are durable. "
        "A repeated `idempotencyKey` gets the first file as the answer; with another file, name, "
        "type or customer it gets 400.",
        tag=TAG,
        scopes=INGEST,
        embed=Embed.REFUSED,
        handler=upload,
        query=UploadQuery,
        body=FileInput,
        streams=True,
        ingestion=True,
        content_types=(JSON, MULTIPART, ANY_TYPE),
        body_schemas={MULTIPART: FORM, ANY_TYPE: CONTENT},
        body_bytes=FILE_BYTES + OVERHEAD_BYTES,
        status=202,
        keyed=True,
        codes=("schema_violation", "idempotency_mismatch", "loop_detected"),
        example={
            "fileName": "invoice-1042.txt",
            "contentType": "text/plain",
            "content": "VG90YWw6IDk5LjUwCg==",
            "customerExternalId": "acme",
        },
    ),
    Route(
        method="GET",
        path="/files",
        name="listFiles",
        command=Command("files list", COLUMNS),
        client=Method("files.list"),
        summary="List files",
        description="Uploaded files, and files that came with events. An embed session sees its"
        " customer's files.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("items.metadata",),
        handler=listing,
        query=FileQuery,
    ),
    Route(
        method="GET",
        path="/files/{id}",
        name="getFile",
        command=Command("files get"),
        client=Method("files.get"),
        summary="Show a file",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("metadata",),
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/files/{id}/content",
        name="getFileContent",
        client=Method("files.content", by_hand=True),
        summary="Read a file",
        description=DESCRIPTION,
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        ability=Ability.VIEW_PAYLOADS,
        handler=content,
        share=Share.OUTWARD,  # a store that hangs must not use up the places of reads
        responses=CONTENT_RESPONSES,
        content_type=CONTENT_TYPE,
        answer_headers=CONTENT_HEADERS,
        refusals=(404, 409),
        codes=(UNSATISFIABLE,),
    ),
)
