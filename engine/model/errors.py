"""Refusals: the answers to requests that are invalid or exceed a limit, with the API's error codes."""

from dataclasses import dataclass

STATUS_OF_CODE = {
    "invalid_request": 400,
    "schema_violation": 400,
    "idempotency_mismatch": 400,
    "loop_detected": 400,
    "unauthorized": 401,
    "plan_limit": 402,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "conflict": 409,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "range_not_satisfiable": 416,
    "rate_limited": 429,
    "internal": 500,
    "overloaded": 503,
}


@dataclass(frozen=True, slots=True)
class Detail:
    """One offending field of a request: its path, such as `delivery.timeoutMs`, and what is wrong."""

    path: str
    message: str


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault of the server
    """The answer to a refused request: the error envelope's content."""

    def __init__(
        self,
        code: str,
        message: str,
        details: tuple[Detail, ...] = (),
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> int:
        """The HTTP status that belongs to the code."""
        return STATUS_OF_CODE[self.code]
