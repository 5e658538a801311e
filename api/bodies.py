"""Bodies of requests to the control plane: JSON, read strictly, so that what a decoder would let pass in
silence is refused; or streams, counted as they come.
"""

import json
import math
from collections.abc import AsyncIterator
from typing import Any, NoReturn

from engine.control.documents import invalid
from engine.errors import Refusal
from engine.json_members import MAX_DEPTH, deepest

BODY_BYTES = 256 * 1024  # a rule or destination at its limits has a tenth of it


def too_large(most: int) -> Refusal:
    """Return the refusal of a body of more than `most` bytes."""
    return Refusal("payload_too_large", f"the body is larger than {most} bytes")


async def counted(parts: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """Yield the parts of a body. Raises Refusal 413 when they are more than `most` bytes."""
    count = 0
    async for part in parts:
        count += len(part)
        if count > most:
            raise too_large(most)
        yield part


async def nothing() -> AsyncIterator[bytes]:
    """Yield the parts of a body that was read already, or never is: none."""
    none: tuple[bytes, ...] = ()
    for part in none:
        yield part


def read_object(body: bytes) -> dict[str, Any]:
    """Return a body as an object. Raises Refusal 400 with what is wrong with it."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(
            "invalid_request", f"the body is not valid UTF-8 at byte {error.start}"
        ) from None
    if deepest(body) > MAX_DEPTH:
        raise Refusal("invalid_request", f"more than {MAX_DEPTH} nested containers")
    try:
        document = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_not_json, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise Refusal("invalid_request", f"the body is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise Refusal("invalid_request", "the body must be a JSON object")
    check_strings(document)
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise invalid(name, "is given twice")
            seen.add(name)
    return document


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    """Return a number. What is too large for one would be written as Infinity, which is no JSON."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def check_strings(value: object, path: str = "") -> None:
    """Refuse NUL and lone surrogates wherever they are. As deep as the body, which is bounded."""
    if isinstance(value, str):
        _check_string(value, path)
    elif isinstance(value, dict):
        for name, member in value.items():
            inner = f"{path}.{name}" if path else name
            _check_string(name, inner)
            check_strings(member, inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_strings(item, f"{path}[{index}]")


def _check_string(text: str, path: str) -> None:
    if "\0" in text:
        raise invalid(path, "must not contain NUL")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise invalid(path, "contains a lone surrogate") from None
