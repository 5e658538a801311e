"""What part of a file a reader asks for, and whether it needs it at all (RFC 9110). Pure functions."""

import re

from msgspec import Struct

_RANGE = re.compile(
    r"bytes=[ \t]*(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})[ \t]*",
    re.IGNORECASE | re.ASCII,
)
_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class UnsatisfiableError(Exception):
    """The range lies beyond the end."""


class Part(Struct, frozen=True):
    """The bytes from `start` up to `end`. `whole`: the answer is a 200, not a part of something."""

    start: int
    end: int
    whole: bool


def part_of(size: int, wanted: str | None, condition: str | None, tag: str) -> Part:
    """Return what a Range header asks for, of a file of `size` bytes whose entity tag is `tag`.

    `condition` is If-Range: with another file's tag, or a date, which no file has, the whole is sent.
    So it is for several ranges, and for what is malformed. Raises UnsatisfiableError.
    """
    whole = Part(0, size, whole=True)
    if wanted is None or (condition is not None and condition.strip() != tag):
        return whole
    match = _RANGE.fullmatch(wanted.strip())
    if match is None or not (match["first"] or match["last"]):
        return whole
    if not match["first"]:
        count = int(match["last"])
        if count == 0:
            raise UnsatisfiableError
        return Part(max(0, size - count), size, whole=False) if size else whole
    first = int(match["first"])
    if match["last"] and int(match["last"]) < first:
        return whole  # malformed, says the RFC
    if first >= size:
        raise UnsatisfiableError
    end = min(size, int(match["last"]) + 1) if match["last"] else size
    return Part(first, end, whole=False)


def is_known(if_none_match: str | None, tag: str) -> bool:
    """Whether a reader has the file already, as its If-None-Match says."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
