"""Event schemas and their versions."""

from typing import Any, TypedDict

from angarium.shapes.events import RefusedDetail
from angarium.shapes.vocabulary import Environment, JsonObject, SchemaStatus


class SchemaVersion(TypedDict):
    """One version of an event type's schema. `schema` is the JSON Schema itself."""

    id: str
    environment: Environment
    eventType: str
    version: int
    status: SchemaStatus
    schema: JsonObject | bool
    description: str | None
    example: Any
    createdAt: str
    activatedAt: str | None


class InferredSchema(TypedDict):
    """A schema that recent events of a type conform to; `created` is its draft, where one was made.

    `conflicts` are the places where the events disagree, so that little could be said of them.
    """

    eventType: str
    sampled: int
    schema: JsonObject | bool
    conflicts: list[RefusedDetail]
    created: SchemaVersion | None
