"""The errors that this package raises. It never raises an error of the HTTP library."""

import re
from dataclasses import dataclass
from typing import Any


class AngariumError(Exception):
    """The base of this package's errors."""


class ArgumentError(AngariumError, ValueError):
    """An argument that cannot be sent. Nothing was sent."""


class VerificationError(AngariumError, ValueError):
    """A webhook that must not be trusted: answer it with 400 and do nothing else."""


class ConnectionFailedError(AngariumError):
    """The service was not reached, or the connection broke.

    Even without an answer, the service can have accepted an event: send it again with the same
    idempotency key.
    """


PLACES_TOLD = 20  # in an error's text; `details` has all places


@dataclass(frozen=True, slots=True)
class Detail:
    """What is wrong with one field of a request. `path` begins with the name of the method's
    argument, such as `customer_external_id`, followed by the API's names inside that argument, such
    as `delivery.timeoutMs`."""

    path: str
    message: str


class ApiError(AngariumError):
    """The service refused the request. `code` is stable, for programs; `str(error)` is for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: tuple[Detail, ...] = (),
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        # Places that the message names are not repeated.
        told = [f"{detail.path}: {detail.message}" for detail in details]
        unnamed = [place for place in told if place not in message]
        places = "".join(f"; {place}" for place in unnamed[:PLACES_TOLD])
        if len(unnamed) > PLACES_TOLD:
            places += f"; and {len(unnamed) - PLACES_TOLD} more"
        super().__init__(f"{message}{places} ({status} {code})")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.request_id = request_id
        self.retry_after_s = retry_after_s


class InvalidRequestError(ApiError):
    """400, 405, 413 or 415: the request is wrong, and would be refused again."""


class SchemaViolationError(InvalidRequestError):
    """400 `schema_violation`: the event does not match its type's active schema; see `details`."""


class IdempotencyMismatchError(InvalidRequestError):
    """400 `idempotency_mismatch`: the key was used for an event with other content."""


class LoopDetectedError(InvalidRequestError):
    """400 `loop_detected`: too many deliveries in a row have each caused another event."""


class PayloadTooLargeError(InvalidRequestError):
    """413: too many bytes, or too many events."""


class AuthenticationError(ApiError):
    """401: the key is missing, unknown, revoked or expired."""


class PlanLimitError(ApiError):
    """402: a limit of the workspace's plan is reached."""


class PermissionDeniedError(ApiError):
    """403: the key is valid, but its scope or environment does not allow the request."""


class NotFoundError(ApiError):
    """404: the object does not exist, or belongs to another workspace."""


class ConflictError(ApiError):
    """409: the object's state does not allow the request, such as a change of an archived destination."""


class RateLimitedError(ApiError):
    """429 after all retries. `retry_after_s` says when the service allows requests again."""


class ServerError(ApiError):
    """5xx or 408 after all retries. The request can have had an effect."""


class OverloadedError(ServerError):
    """503 `overloaded` after all retries. The service accepted nothing."""


class EventsFailedError(AngariumError):
    """`failed` events of a producer were not accepted. `errors` are those of the first 20."""

    def __init__(self, failed: int, errors: tuple[AngariumError, ...]) -> None:
        told = "; ".join(dict.fromkeys(map(str, errors)))
        more = "" if failed <= len(errors) else f"; and {failed - len(errors)} more"
        super().__init__(f"{failed} events were not accepted: {told}{more}")
        self.failed = failed
        self.errors = errors


class UnexpectedAnswerError(AngariumError):
    """The answer does not come from Angarium: a proxy wrote it, or `base_url` is wrong."""


_ARGUMENT = re.compile(r"([a-z][A-Za-z]*)(?=[.\[]|$)")
_BY_CODE: dict[str, type[ApiError]] = {
    "schema_violation": SchemaViolationError,
    "idempotency_mismatch": IdempotencyMismatchError,
    "loop_detected": LoopDetectedError,
    "overloaded": OverloadedError,
}
_BY_STATUS: dict[int, type[ApiError]] = {
    401: AuthenticationError,
    402: PlanLimitError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: ServerError,
    409: ConflictError,
    413: PayloadTooLargeError,
    429: RateLimitedError,
}


def error_from(
    status: int, body: Any, retry_after_s: float | None, request_id: str | None = None
) -> AngariumError:
    """Return the error for an answer. `body` is the answer's JSON, or None. `request_id` is from the
    headers, and is used if the body has none."""
    if not isinstance(body, dict) or not isinstance(body.get("code"), str):
        return UnexpectedAnswerError(
            f"status {status} without an error envelope: is this address Angarium's?"
        )
    code = body["code"]
    kind = _BY_CODE.get(code) or _BY_STATUS.get(
        status, ServerError if status >= 500 else InvalidRequestError
    )
    told = body.get("requestId")
    return kind(
        status,
        code,
        str(body.get("message", "")),
        _details(body.get("details")),
        told if isinstance(told, str) else request_id,
        retry_after_s,
    )


def rejected(entry: Any) -> ApiError:
    """Return the error of one event of a batch; `entry` is its `error`."""
    code = str(entry["code"])
    kind = _BY_CODE.get(code, InvalidRequestError)
    return kind(400, code, str(entry["message"]), _details(entry.get("details")))


def _details(listed: Any) -> tuple[Detail, ...]:
    return tuple(
        Detail(own_name(str(entry.get("path", ""))), str(entry.get("message", "")))
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict)
    )


def own_name(path: str) -> str:
    """Return a path with the argument's name in place of the API's: `customer_external_id` for
    `customerExternalId`. The rest of the path is unchanged."""
    name = _ARGUMENT.match(path)
    if name is None:
        return path
    first = re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name[1])
    return first + path[name.end(1) :]
