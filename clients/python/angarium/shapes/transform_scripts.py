# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.transform_scripts`."""

from typing import Any, Literal, NotRequired, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import Environment, ErrorCategory


class TransformDraft(TypedDict):
    """A transform script as a caller writes it."""

    destinationId: str
    name: str
    # JavaScript with `function transform(event) { return ...; }`: at most 64 KiB.
    source: str


class TransformPreviewDraft(TypedDict):
    """A script to run without storing it, and its input."""

    # The destination for which the script is meant.
    destinationId: str
    # JavaScript with `function transform(event) { return ...; }`: at most 64 KiB.
    source: str
    event: NotRequired[JsonObject | None]
    eventId: NotRequired[str | None]


class TransformRun(TypedDict):
    """The result of a script's run. Nothing was sent or recorded."""

    success: bool
    # The outbound body given to the script.
    input: Any
    # The body that would be sent; null if nothing would be sent.
    output: Any
    # True if the script returned null: nothing would be sent.
    skipped: bool
    # The type set by the script.
    type: str | None
    # The headers set by the script.
    headers: dict[str, str]
    # The output of the script, at most 4 KiB.
    logs: str | None
    durationMs: float
    errorCategory: ErrorCategory | None
    errorMessage: str | None


class TransformScript(TypedDict):
    """One version of a destination's transform script."""

    id: str
    destinationId: str
    environment: Environment
    name: str
    # The destination's versions count from 1. Attempts record the version.
    version: int
    source: str
    # PUBLISHED: every new attempt uses this version. SUPERSEDED: it was PUBLISHED earlier.
    status: Literal["DRAFT", "PUBLISHED", "SUPERSEDED"]
    # The time when it was last published. Null for a draft.
    publishedAt: str | None
    createdAt: str


class TrialDraft(TypedDict, total=False):
    """The input of a trial run: an outbound body, or the id of an event."""

    event: JsonObject | None
    eventId: str | None
