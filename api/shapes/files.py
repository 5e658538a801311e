"""The shapes of files in answers."""

from typing import Any, Literal

from pydantic import Field

from api.shapes import Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import EnvironmentName, FilePurposeName, FileStateName


class FileReceipt(Document):
    """A file that is durable, with its event."""

    id: Uuid
    event_id: Uuid
    size_bytes: int | None = Field(description="Null until a URL was fetched.")
    sha256: str | None = Field(description="In hexadecimal; null until a URL was fetched.")
    duplicate: bool = Field(description="The `idempotencyKey` was used: this is the first one's.")
    deliveries: int


class FileItem(Document):
    """A file. What its sender said of it is a claim: nobody looks into it."""

    id: Uuid
    environment: EnvironmentName
    state: FileStateName = Field(
        description="PENDING: it is to be fetched from its URL; FAILED: that never gave it."
    )
    purpose: FilePurposeName
    file_name: str | None
    content_type: str | None
    file_type: str | None
    size_bytes: int | None
    sha256: str | None = Field(description="In hexadecimal.")
    metadata: dict[str, Any] | None
    source: Literal["CONTENT", "INLINE", "URL", "FILE"] = Field(
        description="Where it came from. The URL itself is not shown: it may be a secret."
    )
    customer_external_id: str | None
    event_id: Uuid
    error: str | None = Field(description="Why it FAILED.")
    created_at: Timestamp
    expires_at: Timestamp = Field(description="As the retention of the plan is now.")
