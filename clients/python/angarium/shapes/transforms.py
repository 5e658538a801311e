"""Transform scripts and their trial runs."""

from typing import Any, TypedDict

from angarium.shapes.vocabulary import Environment, ErrorCategory, TransformStatus


class TransformScript(TypedDict):
    """One version of a destination's transform script."""

    id: str
    destinationId: str
    environment: Environment
    name: str
    version: int
    source: str
    status: TransformStatus
    publishedAt: str | None
    createdAt: str


class TransformRun(TypedDict):
    """What a script made of a body. `output` is null where nothing would be sent."""

    success: bool
    input: Any
    output: Any
    skipped: bool
    type: str | None
    headers: dict[str, str]
    logs: str | None
    durationMs: float
    errorCategory: ErrorCategory | None
    errorMessage: str | None
