"""The shapes of answers about files, event schemas, destination templates and transform scripts."""

from typing import Annotated, Any, Literal

from orjson import Fragment
from typing_extensions import TypedDict

from api.shapes import ErrorDetail, JsonObject
from engine.core.vocabulary import Environment, ErrorCategory
from engine.drafts import DocumentedAs, Uuid, doc
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
    version: Annotated[
        int, doc("The destination's versions count from 1. Attempts record the version.", ge=1)
    ]
    source: str
    status: Annotated[
        Word[TransformStatus],
        doc(
            "PUBLISHED: every new attempt uses this version. SUPERSEDED: it was PUBLISHED earlier."
        ),
    ]
    publishedAt: Annotated[
        Timestamp | None, doc("The time when it was last published. Null for a draft.")
    ]
    createdAt: Timestamp


class TransformRun(TypedDict):
    """The result of a script's run. Nothing was sent or recorded."""

    success: bool
    input: Annotated[Any, doc("The outbound body given to the script.")]
    output: Annotated[Any, doc("The body that would be sent; null if nothing would be sent.")]
    skipped: Annotated[bool, doc("True if the script returned null: nothing would be sent.")]
    type: Annotated[str | None, doc("The type set by the script.")]
    headers: Annotated[dict[str, str], doc("The headers set by the script.")]
    logs: Annotated[str | None, doc("The output of the script, at most 4 KiB.")]
    durationMs: float
    errorCategory: Word[ErrorCategory] | None
    errorMessage: str | None


class SchemaVersion(TypedDict):
    """One version of an event type's schema."""

    id: Uuid
    environment: Word[Environment]
    eventType: str
    version: Annotated[int, doc("The event type's versions count from 1.", ge=1)]
    status: Word[SchemaStatus]
    schema: Annotated[Fragment, DocumentedAs(dict[str, Any] | bool), doc("JSON Schema 2020-12.")]
    description: str | None
    example: Any
    createdAt: Timestamp
    activatedAt: Annotated[
        Timestamp | None, doc("The time when it was last activated. Null for a draft.")
    ]


class Conflict(TypedDict):
    """A path at which the schema allows many values, because the sampled events differ there."""

    path: str
    message: str


class InferredSchema(TypedDict):
    """A schema inferred from recent events of a type."""

    eventType: str
    sampled: Annotated[int, doc("The number of sampled events.")]
    schema: Annotated[dict[str, Any] | bool, doc("A schema to which all sampled events conform.")]
    conflicts: list[Conflict]
    created: Annotated[
        SchemaVersion | None,
        doc("The draft that was created from the schema. Null without `create`."),
    ]


class TemplateExample(TypedDict):
    """An example: an outbound event, a configuration, and the request body that the template makes of
    both."""

    event: dict[str, Any]
    config: dict[str, Any]
    body: Annotated[Any, doc("The body: JSON, or a string if the service has another format.")]


class DestinationTemplate(TypedDict):
    """A template for destinations of one service."""

    id: Annotated[str, doc("The `templateId` of destinations.")]
    name: str
    description: str
    category: Annotated[str, doc("The category in the catalog, such as `chat`.")]
    icon: Annotated[str, doc("The name of an icon that clients have.")]
    documentationUrls: Annotated[list[str], doc("Addresses of the service's own documentation.")]
    configSchema: Annotated[
        dict[str, Any],
        doc(
            "The JSON Schema 2020-12 of `config`, with the fields in the order of a form."
            " `title` and `description` are for people. Answers show fields with `secret` as ***."
        ),
    ]
    defaults: Annotated[dict[str, Any], doc("Defaults for a destination's `delivery`.")]
    example: TemplateExample


class SketchedRequest(TypedDict):
    """The request of a preview, with masks for secrets. Headers that differ from attempt to attempt,
    such as the signature, are left out."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplatePreview(TypedDict):
    """The request of a template."""

    request: Annotated[SketchedRequest | None, doc("Null if `errors` has any.")]
    errors: Annotated[list[ErrorDetail], doc("The problems of `config` or the event.")]


class FileReceipt(TypedDict):
    """A file that is durable, with its event."""

    id: Uuid
    eventId: Uuid
    sizeBytes: Annotated[int | None, doc("Null until the file was fetched from its URL.")]
    sha256: Annotated[
        str | None, doc("In hexadecimal. Null until the file was fetched from its URL.")
    ]
    duplicate: Annotated[
        bool, doc("True if the `idempotencyKey` was used before: this is its first file.")
    ]
    deliveries: int


class FileItem(TypedDict):
    """A file. Its type and name are the sender's claims: the service does not check the content."""

    id: Uuid
    environment: Word[Environment]
    state: Annotated[
        Word[FileState],
        doc("PENDING: not fetched from its URL yet. FAILED: it could not be fetched."),
    ]
    purpose: Word[FilePurpose]
    fileName: str | None
    contentType: str | None
    fileType: str | None
    sizeBytes: int | None
    sha256: Annotated[str | None, doc("In hexadecimal.")]
    metadata: JsonObject | None
    source: Annotated[
        Word[SourceKind],
        doc("The kind of source. A source URL is not shown, because it can be secret."),
    ]
    customerExternalId: str | None
    eventId: Uuid
    error: Annotated[str | None, doc("The reason why it is FAILED.")]
    createdAt: Timestamp
    expiresAt: Annotated[Timestamp, doc("The time when retention removes it, by the present plan.")]
