"""Signed URLs of files, and requests for ranges of bytes. Only our own tokens give access to a file, and
an accepted range lies within the file."""

import re

from engine.files.downloads import (
    Part,
    UnsatisfiableError,
    disposition,
    inert_type,
    is_known,
    part_of,
)
from engine.files.urls import PATH, FileGrant, FileUrls
from tests.fuzz.door import Door

FILE = "01890000-0000-7000-8000-000000000000"
NOW = 1_700_000_000.0
URLS = FileUrls({b"keyidone": b"k" * 32, b"keyidtwo": b"l" * 32}, lambda: "", 60, lambda: NOW)
LATER = FileUrls({b"keyidone": b"k" * 32}, lambda: "", 60, lambda: NOW + 61)
OTHERS = FileUrls({b"keyidone": b"o" * 32}, lambda: "", 60, lambda: NOW)
TOKEN = URLS.url(7, FILE).removeprefix(PATH)
TAG = '"abc"'
_ONE = re.compile(r"bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*", re.IGNORECASE | re.ASCII)


def check(data: bytes) -> None:
    text = data.decode("latin-1")
    for token in (text, data.decode("utf-8", "replace"), TOKEN[: len(data) % 80] + text):
        found = URLS.reading(token)
        assert found == (FileGrant(7, FILE) if token == TOKEN else None)
        assert LATER.reading(token) is None
        assert OTHERS.reading(token) is None
    for size in (0, 1, 10, 10**15):
        _check_part(size, text)
    is_known(text, TAG)
    for value in (disposition(text), inert_type(text)):
        assert value.isascii()
        assert value.isprintable()


def _check_part(size: int, text: str) -> None:
    assert part_of(size, text, "no", TAG) == Part(0, size, whole=True)
    asked = _ONE.fullmatch(text.strip())
    try:
        part = part_of(size, text, None, TAG)
    except UnsatisfiableError:
        assert asked is not None
        first, last = asked.groups()
        assert int(first) >= size if first else int(last) == 0
        return
    assert 0 <= part.start <= part.end <= size
    if part.whole:
        assert (part.start, part.end) == (0, size)
    else:
        assert asked is not None
        first, last = asked.groups()
        assert part.start == (int(first) if first else max(0, size - int(last)))
        assert part.end == (min(size, int(last) + 1) if first and last else size)


DOOR = Door(
    "file_url",
    check,
    ("engine.files",),
    (
        TOKEN.encode(), b"bytes=0-9", b"bytes=-5", b"bytes=3-", b"Bytes= 1-2 ", b'W/"abc", "d"', b"*",
        b"bytes=0-1,3-4", b"Bericht \xe2\x82\xac.pdf", b'text/plain; charset="utf-8"', b"con.txt",
    ),
    (b"bytes=", b"-", b"999999999999999999", b"+1", b"1_0", b"\xb2", b'"abc"', b"W/", b";charset=", b"%"),
)  # fmt: skip
