# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.schemas`."""

from typing import Any, NotRequired, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import Environment, SchemaStatus


class Conflict(TypedDict):
    """A path at which the schema allows many values, because the sampled events differ there."""

    path: str
    message: str


# The selection of events from which a schema is inferred.
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
    """An event schema as a caller writes it. The schema, its example and its description
    together have at most 64 KiB.
    """

    eventType: str
    # JSON Schema 2020-12. `$ref` must stay within the document. Patterns have no look-around and no
    # backreferences. Formats are checked.
    schema: JsonObject | bool
    description: NotRequired[str | None]
    # An example payload, which must conform. Null: no example.
    example: NotRequired[Any]


class SchemaVersion(TypedDict):
    """One version of an event type's schema."""

    id: str
    environment: Environment
    eventType: str
    # The event type's versions count from 1.
    version: int
    status: SchemaStatus
    # JSON Schema 2020-12.
    schema: JsonObject | bool
    description: str | None
    example: Any
    createdAt: str
    # The time when it was last activated. Null for a draft.
    activatedAt: str | None


class InferredSchema(TypedDict):
    """A schema inferred from recent events of a type."""

    eventType: str
    # The number of sampled events.
    sampled: int
    # A schema to which all sampled events conform.
    schema: JsonObject | bool
    conflicts: list[Conflict]
    # The draft that was created from the schema. Null without `create`.
    created: SchemaVersion | None
