"""A destination's own headers: allowed names, secret values, and merge patches.

Headers are pairs of a name and its decrypted value, in the order of each name's first appearance. Names
are case-insensitive.
"""

import re
from collections.abc import Iterable, Mapping

from engine.model.documents import invalid, refused
from engine.model.errors import Detail

MASK = "***"
MAX_HEADERS = 50
MAX_BYTES = 8 * 1024  # names and values of all headers
RESERVED = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
     "upgrade", "expect")
)  # fmt: skip
RESERVED_PREFIXES = ("proxy-", "webhook-", "angarium-")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECRET = re.compile(r"authorization|cookie|key|token|secret|password|credential")

Headers = tuple[tuple[str, str], ...]


def is_secret(name: str) -> bool:
    """Return True if a header's value is secret: encrypted at rest, and shown to callers as `MASK`."""
    return _SECRET.search(name.lower()) is not None


def shown(headers: Headers) -> dict[str, str]:
    """Return headers as callers see them."""
    return {name: MASK if is_secret(name) else value for name, value in headers}


def checked(given: Iterable[tuple[str, str]], path: str = "headers") -> Headers:
    """Return the headers. If a name occurs twice, its last value counts. Raises Refusal `invalid_request`
    for the first invalid header, or if all headers together are too many or too long."""
    merged: dict[str, tuple[str, str]] = {}
    for name, value in given:
        if complaint := _complaint(name, value):
            raise invalid(f"{path}.{name}" if name else path, complaint)
        merged[name.lower()] = (name, value)
    if len(merged) > MAX_HEADERS:
        raise invalid(path, f"must have at most {MAX_HEADERS} headers")
    if sum(len(name) + len(value.encode()) for name, value in merged.values()) > MAX_BYTES:
        raise invalid(path, f"must have at most {MAX_BYTES} bytes in all")
    return tuple(merged.values())


def _complaint(name: str, value: str) -> str | None:
    lower = name.lower()
    if _TOKEN.fullmatch(name) is None:
        return "is not a header name"
    if lower in RESERVED or lower.startswith(RESERVED_PREFIXES):
        return "is reserved"
    if _CONTROL.search(value):
        return "must have no control characters in its value"
    if value != value.strip(" \t"):
        return "must not begin or end with a space in its value"
    return None


def created(given: Mapping[str, str]) -> Headers:
    """Return the headers of a new destination. Raises Refusal if a header is invalid, or if a secret
    value is `MASK`."""
    headers = checked(given.items())
    for name, value in headers:
        if value == MASK and is_secret(name):
            raise invalid(f"headers.{name}", "is the mask, but no value is stored: give the secret")
    return headers


def patched(stored: Headers, patch: Mapping[str, str | None] | None, *, moved: bool) -> Headers:
    """Return the headers after a merge patch. A null value removes a header; a null patch removes all.

    `moved`: the URL's origin changes, so the patch must give each secret value again or remove it.
    """
    if patch is None:
        return ()
    if moved:
        _require_anew(stored, patch)
    result = {name.lower(): (name, value) for name, value in stored}
    for name, value in patch.items():
        if value is None:
            result.pop(name.lower(), None)
        elif value == MASK and is_secret(name) and name.lower() not in result:
            raise invalid(f"headers.{name}", "is the mask, but no value is stored: give the secret")
        elif value != MASK or not is_secret(name):
            result[name.lower()] = (name, value)
    return checked(result.values())


def _require_anew(stored: Headers, patch: Mapping[str, str | None]) -> None:
    named = {name.lower(): value for name, value in patch.items()}
    kept = [
        name
        for name, _ in stored
        if is_secret(name) and (name.lower() not in named or named[name.lower()] == MASK)
    ]
    if kept:
        message = "the URL changes: give this header's value again or remove the header"
        raise refused([Detail(f"headers.{name}", message) for name in kept])
