"""The shapes of transform scripts in answers."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from engine.core.vocabulary import Environment, ErrorCategory
from engine.drafts import Uuid, told
from engine.model.configuration import TransformStatus
from engine.model.instants import Timestamp
from engine.model.words import Word


class TransformScript(TypedDict):
    """One version of a destination's transform script."""

    id: Uuid
    destinationId: Uuid
    environment: Word[Environment]
    name: str
    version: Annotated[int, told("Counts from 1 at its destination; attempts record it.", ge=1)]
    source: str
    status: Annotated[
        Word[TransformStatus],
        told("PUBLISHED: every attempt that begins uses it. SUPERSEDED: it was that once."),
    ]
    publishedAt: Annotated[Timestamp | None, told("The last time; null for a draft.")]
    createdAt: Timestamp


class TransformRun(TypedDict):
    """What a script made of a body. Nothing was sent or recorded."""

    success: bool
    input: Annotated[Any, told("The outbound body that it was given.")]
    output: Annotated[Any, told("The body that would be sent; null where none would be.")]
    skipped: Annotated[bool, told("It returned null: nothing would be sent.")]
    type: Annotated[str | None, told("The type that it set.")]
    headers: Annotated[dict[str, str], told("The headers that it set.")]
    logs: Annotated[str | None, told("What it printed, at most 4 KiB.")]
    durationMs: float
    errorCategory: Word[ErrorCategory] | None
    errorMessage: str | None
