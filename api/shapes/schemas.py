"""The shapes of event schemas in answers."""

from typing import Any

from pydantic import Field

from api.shapes import Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import EnvironmentName, SchemaStatusName


class SchemaVersion(Document):
    """One version of an event type's schema."""

    id: Uuid
    environment: EnvironmentName
    event_type: str
    version: int = Field(ge=1, description="Counts from 1 within the event type.")
    status: SchemaStatusName
    schema_: dict[str, Any] | bool = Field(alias="schema", description="JSON Schema 2020-12.")
    description: str | None
    example: Any
    created_at: Timestamp
    activated_at: Timestamp | None = Field(description="The last time; null for a draft.")


class Conflict(Document):
    """A place where the sampled events disagree, so that little could be said of it."""

    path: str
    message: str


class InferredSchema(Document):
    """What recent events of a type have in common."""

    event_type: str
    sampled: int = Field(description="Events that it was made of.")
    schema_: dict[str, Any] | bool = Field(alias="schema", description="All of them conform to it.")
    conflicts: list[Conflict]
    created: SchemaVersion | None = Field(
        description="The draft that was made of it, if asked for."
    )
