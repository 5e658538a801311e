"""Angarium's client: send events, manage destinations, and verify the webhooks that you receive."""

from angarium.async_producer import AsyncOutcome, AsyncProducer
from angarium.buffer import Report, Sent
from angarium.client import AsyncClient, Client
from angarium.downloads import download, file_urls
from angarium.errors import (
    AngariumError,
    ApiError,
    ArgumentError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    Detail,
    EventsFailedError,
    IdempotencyMismatchError,
    InvalidRequestError,
    LoopDetectedError,
    NotFoundError,
    OverloadedError,
    PayloadTooLargeError,
    PermissionDeniedError,
    PlanLimitError,
    RateLimitedError,
    SchemaViolationError,
    ServerError,
    UnexpectedAnswerError,
    VerificationError,
)
from angarium.producer import Outcome, Producer
from angarium.receiver import sign, verify
from angarium.retry import RetryPolicy

__version__ = "0.1.0"

__all__ = [
    "AngariumError",
    "ApiError",
    "ArgumentError",
    "AsyncClient",
    "AsyncOutcome",
    "AsyncProducer",
    "AuthenticationError",
    "Client",
    "ConflictError",
    "ConnectionFailedError",
    "Detail",
    "EventsFailedError",
    "IdempotencyMismatchError",
    "InvalidRequestError",
    "LoopDetectedError",
    "NotFoundError",
    "Outcome",
    "OverloadedError",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "PlanLimitError",
    "Producer",
    "RateLimitedError",
    "Report",
    "RetryPolicy",
    "SchemaViolationError",
    "Sent",
    "ServerError",
    "UnexpectedAnswerError",
    "VerificationError",
    "download",
    "file_urls",
    "sign",
    "verify",
]
