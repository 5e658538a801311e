"""Event schemas and their versions."""

from typing import Any, NotRequired, TypedDict

from angarium.shapes.vocabulary import Environment, JsonObject, SchemaStatus


class Schema(TypedDict):
    """One version of an event type's schema. `schema` is the JSON Schema itself."""

    id: str
    eventType: str
    version: int
    status: SchemaStatus
    environment: Environment
    schema: Any
    description: str | None
    example: Any
    createdAt: str
    updatedAt: NotRequired[str]
    activatedAt: NotRequired[str | None]


class InferredSchema(TypedDict):
    """A schema that recent events of a type conform to; `created` is its draft, where one was made."""

    eventType: str
    sampled: int
    schema: JsonObject
    created: NotRequired[Schema | None]
