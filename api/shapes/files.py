"""The shapes of files in answers."""

from typing import Annotated

from typing_extensions import TypedDict

from api.shapes import JsonObject
from engine.core.vocabulary import Environment
from engine.drafts import Uuid, told
from engine.model.file_records import FilePurpose, FileState, SourceKind
from engine.model.instants import Timestamp
from engine.model.words import Word


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
