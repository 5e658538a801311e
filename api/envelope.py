"""The error envelope, the request ids, and refusals that the front door and the application share."""

import itertools
import os
import re
import secrets
from collections.abc import Sequence

import orjson

from engine.model.errors import Detail, Refusal

CHALLENGE = "Bearer"  # the WWW-Authenticate of every 401, which RFC 9110 requires
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
# A request id is the random prefix of its process, and a count. A wholly random id would cost ten times
# as much. All ids have the same length, so that equal requests get answers of equal length.
_PREFIX = secrets.token_hex(5)
_COUNT = itertools.count(1)


def _begin_anew() -> None:
    global _PREFIX
    _PREFIX = secrets.token_hex(5)


os.register_at_fork(after_in_child=_begin_anew)


def request_id_of(given: bytes | None) -> str:
    """Return the client's X-Request-Id if it is acceptable, otherwise a new one."""
    if given is not None:
        text = given.decode("latin-1")
        if _SANE_ID.fullmatch(text):
            return text
    return f"{_PREFIX}-{next(_COUNT):08x}"


def envelope(code: str, message: str, request_id: str, details: Sequence[Detail] = ()) -> bytes:
    """Return the JSON of `{"code", "message", "details"?, "requestId"}`."""
    document: dict[str, object] = {"code": code, "message": message}
    if details:
        document["details"] = [{"path": d.path, "message": d.message} for d in details]
    document["requestId"] = request_id
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError:  # a lone surrogate, quoted from the client's input
        return orjson.dumps(_without_surrogates(document))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    return value


OVERLOADED_RETRY_S = 1  # requests are answered within about a second, which makes room


def encoded() -> Refusal:
    """Return the refusal of a body with a Content-Encoding."""
    return Refusal("unsupported_media_type", "the body must not have a Content-Encoding")


def wrong_type(*types: str) -> Refusal:
    """Return the refusal of a body with none of these media types."""
    return Refusal("unsupported_media_type", f"the body must be {' or '.join(types)}")


def too_large(limit: int) -> Refusal:
    """Return the refusal of a body of more than `limit` bytes."""
    return Refusal("payload_too_large", f"the body is larger than {limit} bytes")


def no_room() -> Refusal:
    """Return the refusal of a body that exceeds a budget."""
    return Refusal(
        "overloaded", "too many request bodies at once: try again", retry_after_s=OVERLOADED_RETRY_S
    )


def body_late() -> Refusal:
    """Return the refusal of a body that did not arrive in time."""
    return Refusal("request_timeout", "the request's body did not arrive in time")


def internal_error() -> Refusal:
    """Return the Refusal (HTTP 500) for a request that failed because of an error in this program."""
    return Refusal("internal", "an internal error ended the request: try again")
