"""Checks of JSON text that a decoder does not make: depth, quotation marks, repeated names, lone
surrogates.

Most of the functions run no Python code for each token. They pass over the text a fixed number of times
in C. Even 256 KiB of brackets take them 5 ms at most.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

MAX_DEPTH = 64  # nested containers, the outermost counted
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b'"[]{}'))
_NO_COUNTED = bytes(set(range(256)) - set(b'"[{,'))
_STEPS = bytes.maketrans(b"[]", b"\x01\xff")  # of the depth: 1 and -1, as signed bytes
# The escape of a lone surrogate: a high surrogate that no low surrogate follows, or a low surrogate that
# follows no high surrogate. Before the search, `_HIDDEN` must replace each escaped backslash (`\\`):
# otherwise `\\ud800` would look like an escape.
_LONE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|[c-fC-F][0-9a-fA-F]{2}(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))"
)
_HIDDEN = b"\xff\xff"  # replaces an escaped backslash: UTF-8 never has these bytes
_SPACE = b" \t\r\n"
_SPACES = re.compile(rb"[ \t\r\n]*")


def deepest(body: bytes) -> int:
    """Return the depth of the deepest nested container. Malformed text takes no longer, but gives an
    arbitrary number."""
    found = _outside_strings(body, _NO_BRACKETS).translate(_BRACKETS)
    if not found:
        return 0
    # `found` has only the brackets of the text. A container without inner containers is therefore `[]`.
    # The code removes each `[]`, which lowers the depth by one and leaves fewer brackets to count.
    outer = found.replace(b"[]", b"").translate(_STEPS)
    return 1 + max(accumulate(memoryview(outer).cast("b")), default=0)


def containers_and_commas(body: bytes) -> tuple[int, int]:
    """Return the number of containers, and the number of commas outside of strings. A well-formed text
    has at most containers + commas + 1 values."""
    found = _outside_strings(body, _NO_COUNTED)
    commas = found.count(b",")
    return len(found) - commas, commas


def _outside_strings(body: bytes, dropped: bytes) -> bytes:
    """Return the text without its strings, and without the bytes that `dropped` lists. `dropped` must not
    contain the quotation mark."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    found = body.translate(None, dropped)
    # In `found`, two adjacent quotation marks are the two ends of one string, or the end of one string
    # and the beginning of the next string. Without the two marks, the one string is gone, or the two
    # strings are one string. In both cases, `found` has the same bytes outside of strings as before.
    if b'"' in found and b'"' in (found := found.replace(b'""', b"")):
        found = b"".join(found.split(b'"')[::2])
    return found


def quotes(body: bytes) -> int:
    """Return the number of quotation marks that begin or end a string, without escaped quotation marks.
    The JSON must be well-formed."""
    if b"\\" not in body:
        return body.count(b'"')
    body = body.replace(b"\\\\", b"")
    return body.count(b'"') - body.count(b'\\"')


def names(body: bytes) -> Iterator[str]:
    """Yield the member names of a well-formed object in order. A name that occurs twice is yielded
    twice."""
    pairs = json.loads(
        body, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str
    )
    return (name for name, _ in pairs)


def without_surrogates(body: bytes, instead: bytes = b"\\u0041") -> bytes:
    """Return the body with `instead` in place of each escape of a lone surrogate. `instead` must have six
    bytes, like the escape, so that all values keep their positions."""
    instead = instead.replace(b"\\", b"\\\\")  # escaped for a template of `re`
    if b"\\\\" not in body:
        return _LONE.sub(instead, body)
    return _LONE.sub(instead, body.replace(b"\\\\", _HIDDEN)).replace(_HIDDEN, b"\\\\")


def portions(body: bytes, size: int, most: int) -> Iterator[bytes]:
    """Yield JSON in portions of about `size` bytes. Each portion ends before a quotation mark, so that no
    pair of surrogates is split.

    If a portion is longer than `size + most` bytes, it has a stretch of more than `most` bytes without a
    quotation mark: a string so long that its event is refused later. To keep the search for lone
    surrogates quick, each `\\u` in such a portion is replaced by `\\n`, which has the same length.
    """
    at = 0
    while at < len(body):
        end = body.find(b'"', at + size)
        end = len(body) if end < 0 else end
        portion = body[at:end]
        yield portion if end - at <= size + most else portion.replace(b"\\u", b"\\n")
        at = end


def storable(body: bytes) -> bool:
    """Return True if PostgreSQL can store this JSON: none of its strings has NUL or a lone surrogate. The
    JSON must be well-formed."""
    if b"\\u" not in body:
        return True
    hidden = body.replace(b"\\\\", _HIDDEN)
    return b"\\u0000" not in hidden and _LONE.search(hidden) is None


def differences(one: bytes, other: bytes) -> tuple[int, int]:
    """Compare two texts of equal length. Return the index of the first byte that differs, and the number
    of all bits that differ."""
    both = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return len(one) - (both.bit_length() + 7) // 8, both.bit_count()


def tile(body: bytes, at: int, parts: Sequence[bytes]) -> list[tuple[int, int]] | None:
    """Return where each item of an array begins and ends in `body`. `at`: the position after the array's
    opening bracket. `parts`: the bytes of each item, in order.

    Return None if the items of this array are not exactly `parts`, or if the array is not the last member
    of the body's object.
    """
    spans: list[tuple[int, int]] = []
    for index, part in enumerate(parts):
        at = _skip(body, at)
        if index:
            if body[at : at + 1] != b",":
                return None
            at = _skip(body, at + 1)
        if not body.startswith(part, at):
            return None
        spans.append((at, at + len(part)))
        at += len(part)
    tail = body[at : at + 4096].translate(None, _SPACE)
    return spans if tail == b"]}" and not body[at + 4096 :].strip(_SPACE) else None


def _skip(body: bytes, at: int) -> int:
    spaces = _SPACES.match(body, at)
    return at if spaces is None else spaces.end()
