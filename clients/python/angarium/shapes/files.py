# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.files`."""

from typing import Literal, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import Environment


class FileItem(TypedDict):
    """A file. Its type and name are the sender's claims: the service does not check the content."""

    id: str
    environment: Environment
    # PENDING: not fetched from its URL yet. FAILED: it could not be fetched.
    state: Literal["PENDING", "STORED", "FAILED"]
    purpose: Literal["UPLOAD", "ATTACHMENT"]
    fileName: str | None
    contentType: str | None
    fileType: str | None
    sizeBytes: int | None
    # In hexadecimal.
    sha256: str | None
    metadata: JsonObject | None
    # The kind of its source. The URL is not shown: it can be a secret.
    source: Literal["CONTENT", "INLINE", "URL", "FILE"]
    customerExternalId: str | None
    eventId: str
    # Why it is FAILED.
    error: str | None
    createdAt: str
    # When retention removes it, by the present plan.
    expiresAt: str


class FileReceipt(TypedDict):
    """A file that is durable, with its event."""

    id: str
    eventId: str
    # Null until its URL was fetched.
    sizeBytes: int | None
    # In hexadecimal; null until its URL was fetched.
    sha256: str | None
    # The `idempotencyKey` was used before: this is the file of its first use.
    duplicate: bool
    deliveries: int


class FileSource(TypedDict):
    """The source of a file: a URL that the service fetches, or a `data:` URI."""

    kind: Literal["URL", "INLINE"]
    uri: str


class FileInput(TypedDict, total=False):
    """A file as JSON: with `content`, base64 or a `data:` URI of at most 1 MiB when decoded, or
    with a `source`.
    """

    fileName: str | None
    contentType: str | None
    # Your own name for this kind of file, such as `invoice`.
    fileType: str | None
    # At most 16 KiB as JSON.
    metadata: JsonObject | None
    eventType: str
    customerExternalId: str | None
    # Unique per environment for 24 hours.
    idempotencyKey: str | None
    content: str | None
    source: FileSource | None
