"""What a worker's answer means: the result of a run, or why there is none.

An answer comes from a process that a tenant's script ran in: whatever does not look as it should is
a ValueError, and the end of that process.
"""

import json
from typing import Any

from engine.core.vocabulary import ErrorCategory
from engine.ingest.event_json import check_type
from engine.model.errors import Refusal
from engine.model.headers import checked
from engine.outbound.ports import Failure, Headers, Transformed
from engine.transforms import worker

LOG_BYTES = 4096
MESSAGE_CHARACTERS = 500
# An answer, at its largest: a result, headers, logs, each character of which JSON may write as six.
ANSWER_BYTES = worker.OUTPUT + 256 * 1024
_CUT = "\N{HORIZONTAL ELLIPSIS}".encode()  # at the end of logs that were longer


def failure(message: str, logs: bytes | None = None) -> Failure:
    """Return a failed run."""
    return Failure(ErrorCategory.TRANSFORM, message[:MESSAGE_CHARACTERS], logs)


def result_of(kind: bytes, content: bytes, cpu_ms: float) -> Transformed | Failure:
    """Return what a run came to. Raises ValueError for what is no answer."""
    if kind == worker.REFUSED:
        return failure(content.decode())
    if kind == worker.SOUND:
        return Transformed(b"")  # there was nothing to run it on
    first, meta, *written = content.split(b"\n")
    logs = _logs(written[0]) if written else None
    if kind == worker.SKIP:
        return Transformed(b"", skipped=True, logs=logs, duration_ms=cpu_ms)
    if kind == worker.FAILED:
        return failure(_string(first).replace("\n", " "), logs)
    if kind != worker.BODY:
        raise ValueError("no such answer")
    if not meta:
        return Transformed(first, logs=logs, duration_ms=cpu_ms)
    try:
        event_type, headers = _beside(meta)
    except Refusal as refusal:
        return failure(refusal.message, logs)
    return Transformed(first, False, event_type, headers, logs, cpu_ms)


def _beside(meta: bytes) -> tuple[str | None, Headers]:
    """Return what a script set besides the body. Raises Refusal for what may not be sent."""
    event_type, pairs = json.loads(meta)
    if event_type is not None:
        _require_type(_clean(event_type))
    given = checked([(_clean(name), _clean(value)) for name, value in pairs], "$headers")
    return event_type, tuple((name.encode(), value.encode()) for name, value in given)


def _require_type(event_type: str) -> None:
    try:
        check_type(event_type)
    except Refusal as refusal:
        message = f"$type: {refusal.details[0].message}"
        raise Refusal("invalid_request", message) from None


def _logs(text: bytes) -> bytes:
    written = _string(text).encode()
    if len(written) <= LOG_BYTES:
        return written
    return written[: LOG_BYTES - len(_CUT)].decode(errors="ignore").encode() + _CUT


def _string(text: bytes) -> str:
    return _clean(json.loads(text))


def _clean(value: Any) -> str:
    """Return a string that can be stored: JavaScript's may hold halves of characters, and NUL."""
    if not isinstance(value, str):
        raise ValueError("not a string")  # noqa: TRY004 (as above)
    return value.encode("utf-8", "replace").decode().replace("\0", "?")
