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
    # The kind of source. A source URL is not shown, because it can be secret.
    source: Literal["CONTENT", "INLINE", "URL", "FILE"]
    customerExternalId: str | None
    eventId: str
    # The reason why it is FAILED.
    error: str | None
    createdAt: str
    # The time when retention removes it, by the present plan.
    expiresAt: str


class FileReceipt(TypedDict):
    """A file that is durable, with its event."""

    id: str
    eventId: str
    # Null until the file was fetched from its URL.
    sizeBytes: int | None
    # In hexadecimal. Null until the file was fetched from its URL.
    sha256: str | None
    # True if the `idempotencyKey` was used before: this is its first file.
    duplicate: bool
    deliveries: int


class FileSource(TypedDict):
    """The source of a file: a URL that the service fetches, or a `data:` URI."""

    kind: Literal["URL", "INLINE"]
    uri: str


class FileInput(TypedDict, total=False):
    """A file as JSON, with either a `source` or `content`. `content` is base64 or a `data:` URI,
    and has at most 1 MiB when decoded.
    """

    fileName: str | None
    contentType: str | None
    # Your own name for this kind of file, such as `invoice`.
    fileType: str | None
    # At most 16 KiB as JSON.
    metadata: JsonObject | None
    eventType: str
    customerExternalId: str | None
    # A key that is unique in the environment for 24 hours.
    idempotencyKey: str | None
    content: str | None
    source: FileSource | None
