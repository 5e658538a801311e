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
    """A script that is only run, and the input of the run."""

    # The destination that the script would be for.
    destinationId: str
    # JavaScript with `function transform(event) { return ...; }`: at most 64 KiB.
    source: str
    event: NotRequired[JsonObject | None]
    eventId: NotRequired[str | None]


class TransformRun(TypedDict):
    """The result of a script for a body. Nothing was sent or recorded."""

    success: bool
    # The outbound body given to the script.
    input: Any
    # The body that would be sent; null if nothing would be sent.
    output: Any
    # The script returned null: nothing would be sent.
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
    # Counts from 1 at its destination; attempts record it.
    version: int
    source: str
    # PUBLISHED: every attempt that begins uses it. SUPERSEDED: an earlier PUBLISHED version.
    status: Literal["DRAFT", "PUBLISHED", "SUPERSEDED"]
    # When it was last published; null for a draft.
    publishedAt: str | None
    createdAt: str


class TrialDraft(TypedDict, total=False):
    """The input of a trial run: an outbound body, or the id of an event."""

    event: JsonObject | None
    eventId: str | None
