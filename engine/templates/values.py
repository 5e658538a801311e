"""JSON values as templates see them: a number keeps all its digits and its notation.

Nothing here is recursive. The libraries' decoders raise an error for deeply nested values.
"""

import json
import re
from typing import Any

import msgspec

from engine.model.json_members import without_surrogates

EXACT_DIGITS = 15  # every JSON reader keeps an integer of up to 15 digits exact
_LONG = re.compile(rb"[0-9]{%d}" % (EXACT_DIGITS + 1))


class ValueFault(Exception):  # noqa: N818 - what a tenant's script returned, no fault of ours
    """A text or value cannot be read or written as JSON."""


# A number as it was written, such as 19.90. The encoder, which is written in C, copies the number's text
# without a call of Python code.
Numeral = msgspec.Raw


def _integer(digits: str) -> int | Numeral:
    return int(digits) if len(digits) <= EXACT_DIGITS else Numeral(digits)


def _refused(name: str) -> None:
    raise ValueFault(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_float=Numeral, parse_constant=_refused)
_exact = json.JSONDecoder(parse_float=Numeral, parse_int=_integer, parse_constant=_refused)


def decoded(text: bytes) -> Any:
    """Return the values of a JSON text. Raises ValueFault. A lone surrogate becomes U+FFFD."""
    try:
        if b"\\ud" in text or b"\\uD" in text:  # the escape of a surrogate
            text = without_surrogates(text, b"\\ufffd")
        decoder = _exact if _LONG.search(text) else _decoder
        return decoder.decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueFault("the body is not JSON, or is nested too deeply") from error


_encoder = msgspec.json.Encoder()


def encoded(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8. Raises ValueFault."""
    try:
        return _encoder.encode(value)
    except (RecursionError, UnicodeEncodeError) as error:
        raise ValueFault("the value is nested too deeply") from error


# The last value that `indented` was given, and the text that it returned. A template can show the same
# data twice, as text and as HTML. Values never change, so the same object always has the same text.
_latest: tuple[object, str] = (None, "null")


def indented(value: Any) -> str:
    """Return a value as JSON on several lines. Raises ValueFault."""
    global _latest
    if value is not _latest[0] or not isinstance(value, dict | list):
        _latest = value, _indented(value)
    return _latest[1]


def _indented(value: Any) -> str:
    try:
        return msgspec.json.format(encoded(value), indent=2).decode()
    except RecursionError as error:
        raise ValueFault("the value is nested too deeply") from error


def as_text(value: Any) -> str:
    """Return a value as text: a string unchanged, the empty text for null, and JSON for other values."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return encoded(value).decode()
