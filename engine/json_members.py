"""Walks well-formed JSON token by token: members, depth and surrogates, without building any value.

For the rare body that a decoder's answer does not settle. Linear in the body, nothing recursive.
"""

import json
import re
from collections.abc import Sequence

MAX_DEPTH = 64  # nested containers, the outermost counted
# A string's plain stretches are taken whole: one of a megabyte costs a millisecond, not a hundred. One
# that is not closed ends with the body: to give it up would be to look again from each quote within it.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],:]', re.DOTALL)
# A surrogate's escape, behind escaped backslashes; group 2 is there where it is a pair.
_SURROGATES = re.compile(
    rb"(?<!\\)((?:\\\\)*)\\u(?:([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_SPACE = b" \t\r\n"
_SPACES = re.compile(rb"[ \t\r\n]*")


def deepest(body: bytes) -> int:
    """Return how many containers are nested at the deepest place. Of what is not well-formed any number,
    in no more steps."""
    depth = most = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"{[":
            depth += 1
            most = max(most, depth)
        elif first in b"}]":
            depth -= 1
    return most


def members(body: bytes) -> list[tuple[str, int, int]]:
    """Return (key, start, end) of each member of the outermost object; the span is its value's."""
    found: list[tuple[str, int, int]] = []
    depth, key, start = 0, "", -1
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0 and start >= 0:
                found.append(_trimmed(body, key, start, token.start()))
        elif depth != 1:
            continue
        elif first == 0x2C:  # a comma
            found.append(_trimmed(body, key, start, token.start()))
            start = -1
        elif first == 0x3A:  # a colon
            start = token.end()
        elif start < 0:
            key = json.loads(token[0])
    return found


def _trimmed(body: bytes, key: str, start: int, end: int) -> tuple[str, int, int]:
    while body[start] in _SPACE:
        start += 1
    while body[end - 1] in _SPACE:
        end -= 1
    return key, start, end


def without_surrogates(body: bytes, instead: bytes = b"\\u0041") -> bytes:
    """Return the body with each lone surrogate escape replaced by another of the same length."""

    def mend(escape: re.Match[bytes]) -> bytes:
        return escape[0] if escape[2] else escape[1] + instead

    return _SURROGATES.sub(mend, body)


def tile(body: bytes, at: int, parts: Sequence[bytes]) -> list[tuple[int, int]] | None:
    """Return the spans of `parts` when they are all of the array that begins at `at`.

    None when they are not, or when anything but the end of the enclosing object follows.
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
    tail = bytes(byte for byte in body[at : at + 4096] if byte not in _SPACE)
    return spans if tail == b"]}" and not body[at + 4096 :].strip(_SPACE) else None


def _skip(body: bytes, at: int) -> int:
    spaces = _SPACES.match(body, at)  # any number, none too
    return at if spaces is None else spaces.end()
