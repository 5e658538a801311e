"""Angarium's client: send events, manage destinations, and verify the webhooks that you receive."""

from angarium.client import Client
from angarium.client_async import AsyncClient
from angarium.errors import (
    AngariumError,
    ApiError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    PlanLimitError,
    RateLimitedError,
    ServerError,
    UnexpectedAnswerError,
    VerificationError,
)
from angarium.receiver import sign, verify
from angarium.retry import RetryPolicy

__version__ = "0.1.0"

__all__ = [
    "AngariumError",
    "ApiError",
    "AsyncClient",
    "AuthenticationError",
    "Client",
    "ConflictError",
    "ConnectionFailedError",
    "InvalidRequestError",
    "NotFoundError",
    "PermissionDeniedError",
    "PlanLimitError",
    "RateLimitedError",
    "RetryPolicy",
    "ServerError",
    "UnexpectedAnswerError",
    "VerificationError",
    "sign",
    "verify",
]
