"""The active version of an event type, as the hot path knows it."""

from msgspec import Struct


class ActiveSchema(Struct, frozen=True, gc=False):
    """What the hot path needs of a type's active version."""

    id: str
    environment: int
    event_type: str
    weight: int
    document: bytes  # the JSON Schema
