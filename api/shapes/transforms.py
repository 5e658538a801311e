"""The shapes of transform scripts in answers."""

from typing import Any

from pydantic import Field

from api.shapes import Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import CategoryName, EnvironmentName, TransformStatusName


class TransformScript(Document):
    """One version of a destination's transform script."""

    id: Uuid
    destination_id: Uuid
    environment: EnvironmentName
    name: str
    version: int = Field(ge=1, description="Counts from 1 at its destination; attempts record it.")
    source: str
    status: TransformStatusName = Field(
        description="PUBLISHED: every attempt that begins uses it. SUPERSEDED: it was that once."
    )
    published_at: Timestamp | None = Field(description="The last time; null for a draft.")
    created_at: Timestamp


class TransformRun(Document):
    """What a script made of a body. Nothing was sent or recorded."""

    success: bool
    input: Any = Field(description="The outbound body that it was given.")
    output: Any = Field(description="The body that would be sent; null where none would be.")
    skipped: bool = Field(description="It returned null: nothing would be sent.")
    type: str | None = Field(description="The type that it set.")
    headers: dict[str, str] = Field(description="The headers that it set.")
    logs: str | None = Field(description="What it printed, at most 4 KiB.")
    duration_ms: float
    error_category: CategoryName | None
    error_message: str | None
