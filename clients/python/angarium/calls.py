"""A call of the API as a value: method, path, query and body in the API's form. No network."""

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeGuard, TypeVar
from urllib.parse import quote

from angarium.errors import ArgumentError
from angarium.uploads import Upload

Answer = TypeVar("Answer")
Instant = datetime | str
PAGE = 100  # the service's limit for a page

# Arguments whose names differ from the API's: `from` is a keyword of Python, and `until` and
# `json_schema` are clearer.
_RENAMED = {"since": "from", "until": "to", "json_schema": "schema"}


@dataclass(frozen=True)  # without slots: `Call[Event](...)` sets an attribute on the instance
class Call(Generic[Answer]):
    """One request, and the type of its answer.

    `body` is JSON, or bytes that are sent unchanged. `repeatable`: two calls have the same effect as
    one. `gone_is_done`: a 404 to a retry means that an earlier attempt succeeded. `takes_s`: the
    longest time that the service can take; the client's timeout is raised to it.
    """

    method: str
    path: str
    query: Mapping[str, str | list[str]] = field(default_factory=dict)
    body: Any = None
    repeatable: bool = True
    gone_is_done: bool = False
    takes_s: float = 0.0
    upload: Upload | None = (
        None  # instead of a body: bytes of `content_type`, read as they are sent
    )
    content_type: str = "application/json"

    def content(self) -> bytes | None:
        """Return the bytes of the body. Raises ValueError and TypeError like `dumped`."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return dumped(self.body)


def dumped(value: Any) -> bytes:
    """Return JSON. Raises ValueError for numbers such as NaN, and TypeError for types without JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which needs an escape
        return json.dumps(value, allow_nan=False).encode()


def at(*segments: str) -> str:
    """Return a path of quoted segments. Raises ArgumentError for a segment that changes the path."""
    for segment in segments:
        if segment in ("", ".", ".."):
            raise ArgumentError(f"{segment!r} is no id")
    return "/" + "/".join(quote(segment, safe="", errors="replace") for segment in segments)


def query_of(given: Mapping[str, object]) -> dict[str, str | list[str]]:
    """Return the query parameters of all arguments that are not None, in the API's form. An argument
    with several values becomes several parameters. Raises ArgumentError for an empty list, which
    would filter nothing."""
    return {
        camel(name): _texts(name, value) if _is_several(value) else _text(value)
        for name, value in given.items()
        if value is not None
    }


def body_of(given: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that are not None, with the API's names and values."""
    return {camel(name): _field(value) for name, value in given.items() if value is not None}


@functools.cache
def camel(name: str) -> str:
    """Return the API's name for an argument: `eventType` for `event_type`, `from` for `since`."""
    return _RENAMED.get(name) or re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def instant(value: Instant) -> str:
    """Return an instant in the API's form. Raises ArgumentError for a datetime without a zone."""
    if isinstance(value, str):
        return value
    if value.tzinfo is None:
        raise ArgumentError("a datetime needs a time zone: datetime.now(UTC)")
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_several(value: object) -> TypeGuard[Iterable[object]]:
    return isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes))


def _texts(name: str, values: Iterable[object]) -> list[str]:
    texts = [_text(each) for each in values]
    if not texts:
        raise ArgumentError(f"{name} has no value: leave it out, or give at least one")
    return texts


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return instant(value) if isinstance(value, datetime) else str(value)


def _field(value: object) -> object:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Mapping):
        return dict(value)
    if _is_several(value):
        return list(value)
    return value
