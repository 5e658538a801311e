"""What can go wrong, by whose fault it is; nothing of the HTTP library leaks through."""

import re
from dataclasses import dataclass
from typing import Any


class AngariumError(Exception):
    """Anything that this package raises."""


class ArgumentError(AngariumError, ValueError):
    """An argument that cannot be sent: nothing was."""


class VerificationError(AngariumError, ValueError):
    """A webhook that must not be trusted: answer it with 400 and do nothing else."""


class ConnectionFailedError(AngariumError):
    """The service was not reached, or the connection broke.

    An event without an answer may have been accepted: send it again with the same idempotency key.
    """


PLACES_TOLD = 20  # in an error's text; `details` has them all


@dataclass(frozen=True, slots=True)
class Detail:
    """One offending place of a request and what is wrong there. The path has the names of the methods'
    arguments, such as `customer_external_id`; what is inside an argument keeps the API's names, such as
    `delivery.timeoutMs`."""

    path: str
    message: str


class ApiError(AngariumError):
    """The service refused. `code` is stable and for programs, `str(error)` is for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: tuple[Detail, ...] = (),
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        # a message that names its only place already is not given it twice
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
    """400, 405, 413 or 415: the request itself is wrong and will be refused again."""


class SchemaViolationError(InvalidRequestError):
    """400 `schema_violation`: the event is not as its type's active schema says; see `details`."""


class IdempotencyMismatchError(InvalidRequestError):
    """400 `idempotency_mismatch`: the key was used for an event with other content."""


class LoopDetectedError(InvalidRequestError):
    """400 `loop_detected`: the event comes from a delivery of the service, too many times over."""


class PayloadTooLargeError(InvalidRequestError):
    """413: too many bytes, or too many events."""


class AuthenticationError(ApiError):
    """401: the key is missing, unknown, revoked or expired."""


class PlanLimitError(ApiError):
    """402: a limit of the workspace's plan is reached."""


class PermissionDeniedError(ApiError):
    """403: the key is valid, its scope or environment is another."""


class NotFoundError(ApiError):
    """404: unknown here (what belongs to another workspace is unknown as well)."""


class ConflictError(ApiError):
    """409: not in this state, such as a change of an archived destination."""


class RateLimitedError(ApiError):
    """429 after all retries; `retry_after_s` says when there is room again."""


class ServerError(ApiError):
    """5xx or 408 after all retries. Something may have been done."""


class OverloadedError(ServerError):
    """503 `overloaded` after all retries: surely nothing was accepted."""


class EventsFailedError(AngariumError):
    """Events of a producer were not accepted: `failed` of them; `errors` are those of the first 20."""

    def __init__(self, failed: int, errors: tuple[AngariumError, ...]) -> None:
        told = "; ".join(dict.fromkeys(map(str, errors)))
        more = "" if failed <= len(errors) else f"; and {failed - len(errors)} more"
        super().__init__(f"{failed} events were not accepted: {told}{more}")
        self.failed = failed
        self.errors = errors


class UnexpectedAnswerError(AngariumError):
    """An answer that is not this service's: a proxy's page, or a wrong address."""


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
    """Return the error that an answer stands for; `body` is its JSON, or None where it is none.

    `request_id` is the answer's header, for an envelope without one.
    """
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
    """Return a place of a request with the name of the argument: `customerExternalId` is
    `customer_external_id`. Indexes and all that is inside an argument stay as they are."""
    name = _ARGUMENT.match(path)
    if name is None:
        return path
    first = re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name[1])
    return first + path[name.end(1) :]
