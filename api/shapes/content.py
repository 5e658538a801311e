"""Shapes of answers on contents: files, event schemas, templates of destinations, transform scripts."""

from typing import Annotated, Any, Literal

from orjson import Fragment
from typing_extensions import TypedDict

from api.shapes import ErrorDetail, JsonObject
from engine.core.vocabulary import Environment, ErrorCategory
from engine.drafts import DocumentedAs, Uuid, told
from engine.model.configuration import TransformStatus
from engine.model.file_records import FilePurpose, FileState, SourceKind
from engine.model.instants import Timestamp
from engine.model.words import Word
from engine.schemas.records import SchemaStatus


class TransformScript(TypedDict):
    """One version of a destination's transform script."""

    id: Uuid
    destinationId: Uuid
    environment: Word[Environment]
    name: str
    version: Annotated[int, told("Counts from 1 at its destination; attempts record it.", ge=1)]
    source: str
    status: Annotated[
        Word[TransformStatus],
        told("PUBLISHED: every attempt that begins uses it. SUPERSEDED: it was that once."),
    ]
    publishedAt: Annotated[Timestamp | None, told("The last time; null for a draft.")]
    createdAt: Timestamp


class TransformRun(TypedDict):
    """What a script made of a body. Nothing was sent or recorded."""

    success: bool
    input: Annotated[Any, told("The outbound body that it was given.")]
    output: Annotated[Any, told("The body that would be sent; null where none would be.")]
    skipped: Annotated[bool, told("It returned null: nothing would be sent.")]
    type: Annotated[str | None, told("The type that it set.")]
    headers: Annotated[dict[str, str], told("The headers that it set.")]
    logs: Annotated[str | None, told("What it printed, at most 4 KiB.")]
    durationMs: float
    errorCategory: Word[ErrorCategory] | None
    errorMessage: str | None


class SchemaVersion(TypedDict):
    """One version of an event type's schema."""

    id: Uuid
    environment: Word[Environment]
    eventType: str
    version: Annotated[int, told("Counts from 1 within the event type.", ge=1)]
    status: Word[SchemaStatus]
    schema: Annotated[Fragment, DocumentedAs(dict[str, Any] | bool), told("JSON Schema 2020-12.")]
    description: str | None
    example: Any
    createdAt: Timestamp
    activatedAt: Annotated[Timestamp | None, told("The last time; null for a draft.")]


class Conflict(TypedDict):
    """A place where the sampled events disagree, so that little could be said of it."""

    path: str
    message: str


class InferredSchema(TypedDict):
    """What recent events of a type have in common."""

    eventType: str
    sampled: Annotated[int, told("Events that it was made of.")]
    schema: Annotated[dict[str, Any] | bool, told("All of them conform to it.")]
    conflicts: list[Conflict]
    created: Annotated[SchemaVersion | None, told("The draft that was made of it, if asked for.")]


class TemplateExample(TypedDict):
    """An event as it is sent out, a configuration, and what the service is sent for them."""

    event: dict[str, Any]
    config: dict[str, Any]
    body: Annotated[Any, told("JSON; a string where the service takes another format.")]


class DestinationTemplate(TypedDict):
    """What destinations of one service can be made from."""

    id: Annotated[str, told("The `templateId` of destinations.")]
    name: str
    description: str
    category: Annotated[str, told("What to list it under, such as `chat`.")]
    icon: Annotated[str, told("Names a picture that the reader has.")]
    documentationUrls: Annotated[list[str], told("Of the service's own documentation.")]
    configSchema: Annotated[
        dict[str, Any],
        told(
            "JSON Schema 2020-12 of `config`, its fields in the order to be asked for. `title` "
            "and `description` are for people; fields with `secret` are shown as *** once they are "
            "written."
        ),
    ]
    defaults: Annotated[
        dict[str, Any], told("What stands in a destination's `delivery` where it says nothing.")
    ]
    example: TemplateExample


class SketchedRequest(TypedDict):
    """A request as it would be sent, with masks for secrets. Headers that differ from attempt to attempt,
    such as the signature, are left out."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplatePreview(TypedDict):
    """What a template would send."""

    request: Annotated[SketchedRequest | None, told("Null where something stands against it.")]
    errors: Annotated[list[ErrorDetail], told("What is wrong with `config` or the event.")]


class FileReceipt(TypedDict):
    """A file that is durable, with its event."""

    id: Uuid
    eventId: Uuid
    sizeBytes: Annotated[int | None, told("Null until a URL was fetched.")]
    sha256: Annotated[str | None, told("In hexadecimal; null until a URL was fetched.")]
    duplicate: Annotated[bool, told("The `idempotencyKey` was used: this is the first one's.")]
    deliveries: int


class FileItem(TypedDict):
    """A file. What its sender said of it is a claim: nobody looks into it."""

    id: Uuid
    environment: Word[Environment]
    state: Annotated[
        Word[FileState],
        told("PENDING: it is to be fetched from its URL; FAILED: that never gave it."),
    ]
    purpose: Word[FilePurpose]
    fileName: str | None
    contentType: str | None
    fileType: str | None
    sizeBytes: int | None
    sha256: Annotated[str | None, told("In hexadecimal.")]
    metadata: JsonObject | None
    source: Annotated[
        Word[SourceKind],
        told("Where it came from. The URL itself is not shown: it may be a secret."),
    ]
    customerExternalId: str | None
    eventId: Uuid
    error: Annotated[str | None, told("Why it FAILED.")]
    createdAt: Timestamp
    expiresAt: Annotated[Timestamp, told("As the retention of the plan is now.")]
