"""Bodies of requests to the control plane: JSON, or streams whose bytes are counted. JSON is read
strictly: duplicate names, NaN and numbers too large for a float are refused.
"""

import json
import math
from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn

from api.envelope import too_large
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.json_members import MAX_DEPTH, containers_and_commas, deepest, storable

# `check_strings` searches at most this many values of a body, which takes about 2 ms.
LOOKED_AT = 5_000
BODY_BYTES = 256 * 1024  # a rule or destination at its limits has a tenth of that
# The limit on the number of objects and lists in one body. A body with 10,000 objects blocks the event
# loop for 5 ms, and a body with 87,000 objects for 100 ms. Most of this time is spent on walking through
# the decoded objects and on garbage collection, not on parsing.
MAX_CONTAINERS = 10_000
MAX_VALUES = 20_000


async def counted(parts: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """Yield the parts. Raises Refusal 413 beyond `most` bytes."""
    count = 0
    async for part in parts:
        count += len(part)
        if count > most:
            raise too_large(most)
        yield part


async def nothing() -> AsyncIterator[bytes]:
    """Yield no parts."""
    none: tuple[bytes, ...] = ()
    for part in none:
        yield part


def read_object(body: bytes) -> dict[str, Any]:
    """Return a body as an object. Raises Refusal 400."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(
            "invalid_request", f"the body is not valid UTF-8 at byte {error.start}"
        ) from None
    if deepest(body) > MAX_DEPTH:
        raise Refusal("invalid_request", f"more than {MAX_DEPTH} nested containers")
    containers, commas = containers_and_commas(body)
    if containers > MAX_CONTAINERS:
        message = f"the body has more than {MAX_CONTAINERS} objects and lists"
        raise Refusal("invalid_request", message)
    if commas >= MAX_VALUES:
        raise Refusal("invalid_request", f"the body has more than {MAX_VALUES} values")
    try:
        document = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_not_json, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise Refusal("invalid_request", f"the body is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise Refusal("invalid_request", "the body must be a JSON object")
    if not storable(body):
        check_strings(document)
        raise Refusal("invalid_request", "the body contains NUL or a lone surrogate")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # One expression, for speed: it runs for every object of a body.
    return found if len(found := dict(pairs)) == len(pairs) else _given_twice(pairs)


def _given_twice(pairs: list[tuple[str, Any]]) -> NoReturn:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    raise invalid(name, "is given twice")


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    """Return the number as a float. Raises ValueError if the number is too large for a float, because
    Python would write such a number as Infinity, which is not JSON."""
    return found if math.isfinite(found := float(digits)) else _infinite()


def _infinite() -> NoReturn:
    raise ValueError("a number is too large")


def check_strings(document: dict[str, Any]) -> None:
    """Search the first `LOOKED_AT` values of a body for NUL and lone surrogates. If a value contains one
    of these characters, raise a Refusal with the path of the value."""
    waiting = [_members(document, "")]
    looked_at = 0
    while waiting and looked_at < LOOKED_AT:
        for path, value in waiting[-1]:
            looked_at += 1
            if isinstance(value, str):
                _check_string(value, path)
            elif isinstance(value, dict | list):
                waiting.append(_members(value, path))
                break
        else:
            waiting.pop()


def _members(value: dict[str, Any] | list[Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in a list or an object, each with its path. The names of an object's members are
    values too."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", item
    else:
        for name, member in value.items():
            inner = f"{path}.{name}" if path else name
            yield inner, name
            yield inner, member


def _check_string(text: str, path: str) -> None:
    if "\0" in text:
        raise invalid(path, "must not contain NUL")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise invalid(path, "contains a lone surrogate") from None
