# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.schemas`."""

from typing import Any, NotRequired, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import Environment, SchemaStatus


class Conflict(TypedDict):
    """A place where the sampled events differ so much that the schema hardly restricts it."""

    path: str
    message: str


# The events that a schema is to be inferred from.
InferenceDraft = TypedDict(
    "InferenceDraft",
    {
        "eventType": str,
        "sample": NotRequired[int],
        "from": NotRequired[str | None],
        "create": NotRequired[bool],
    },
)


class SchemaDraft(TypedDict):
    """An event schema as a caller writes it: at most 64 KiB in all."""

    eventType: str
    # JSON Schema 2020-12. `$ref` within the document only; patterns without look-around and
    # backreferences; formats are held to.
    schema: JsonObject | bool
    description: NotRequired[str | None]
    # A payload, which must conform; null for none.
    example: NotRequired[Any]


class SchemaVersion(TypedDict):
    """One version of an event type's schema."""

    id: str
    environment: Environment
    eventType: str
    # Counts from 1 within the event type.
    version: int
    status: SchemaStatus
    # JSON Schema 2020-12.
    schema: JsonObject | bool
    description: str | None
    example: Any
    createdAt: str
    # When it was last activated; null for a draft.
    activatedAt: str | None


class InferredSchema(TypedDict):
    """A schema inferred from recent events of a type."""

    eventType: str
    # The number of sampled events.
    sampled: int
    # A schema to which all sampled events conform.
    schema: JsonObject | bool
    conflicts: list[Conflict]
    # The draft made from it, if asked for.
    created: SchemaVersion | None
