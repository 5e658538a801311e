"""The shapes of event schemas in answers."""

from typing import Annotated, Any

from orjson import Fragment
from typing_extensions import TypedDict

from engine.core.vocabulary import Environment
from engine.drafts import DocumentedAs, Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import Word
from engine.schemas.records import SchemaStatus


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
