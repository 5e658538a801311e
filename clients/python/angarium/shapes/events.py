# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.events`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.shared import ErrorDetail, EventInput
from angarium.shapes.words import Environment, ErrorCode


class BatchInput(TypedDict):
    """Up to 1,000 events, at most 5 MiB."""

    events: list[EventInput]


class EventItem(TypedDict):
    """An event, as lists show it."""

    id: str
    environment: Environment
    eventType: str
    occurredAt: str
    receivedAt: str
    source: str | None
    customerExternalId: str | None
    correlationId: str | None
    requestId: str | None
    idempotencyKey: str | None
    deliveries: int
    origin: Literal["API", "FILE", "OWN", "TEST"]


class IngestResult(TypedDict):
    """An event that is durable."""

    id: str
    eventType: str
    receivedAt: str
    duplicate: bool
    deliveries: int


class Rejection(TypedDict):
    """Why an event of a batch was rejected."""

    code: ErrorCode
    message: str
    details: NotRequired[list[ErrorDetail]]


class BatchEntry(TypedDict):
    """What became of one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: str | None
    deliveries: int | None
    error: Rejection | None


class BatchResult(TypedDict):
    """What became of a batch."""

    accepted: int
    duplicates: int
    rejected: int
    results: list[BatchEntry]
