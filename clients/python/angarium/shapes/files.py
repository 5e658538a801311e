"""Files, as they are uploaded and read."""

from typing import Literal, TypedDict

from angarium.shapes.vocabulary import Environment, JsonObject

FileState = Literal["PENDING", "STORED", "FAILED"]
FilePurpose = Literal["UPLOAD", "ATTACHMENT"]


class FileReceipt(TypedDict):
    """A durable file with its event; size and hash are None until a URL was fetched."""

    id: str
    eventId: str
    sizeBytes: int | None
    sha256: str | None
    duplicate: bool
    deliveries: int


class File(TypedDict):
    """What is known of a file."""

    id: str
    environment: Environment
    state: FileState
    purpose: FilePurpose
    fileName: str | None
    contentType: str | None
    fileType: str | None
    sizeBytes: int | None
    sha256: str | None
    metadata: JsonObject | None
    source: Literal["CONTENT", "INLINE", "URL", "FILE"]
    customerExternalId: str | None
    eventId: str
    error: str | None
    createdAt: str
    expiresAt: str
