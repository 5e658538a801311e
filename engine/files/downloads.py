"""Downloads of files: safe names and types, ranges, and entity tags (RFC 9110). Pure functions.

A file's name and type are not trusted. A name is for a save dialog and never a path.
"""

import re
import unicodedata
from urllib.parse import quote

from msgspec import Struct

NAME_BYTES = 180  # in UTF-8: file systems allow 255, and browsers add " (1)" and ".crdownload"
_SUFFIX_BYTES = 20
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|%]')  # forbidden on some systems; browsers can decode `%`
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_NAMELESS = "file"
_ATTR = "!#$&+-.^_`|~"  # RFC 8187 leaves these as they are, and letters and digits

OCTETS = "application/octet-stream"
# Types that no browser runs or renders as a page, whatever the bytes are. HTML, SVG and XML can be run.
_INERT = frozenset(
    {
        OCTETS,
        "application/gzip",
        "application/json",
        "application/pdf",
        "application/zip",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/heic",
        "image/jpeg",
        "image/png",
        "image/tiff",
        "image/webp",
        "text/csv",
        "text/plain",
    }
)
_MEDIA = re.compile(r"(?:audio|video)/[a-z0-9][a-z0-9.-]{0,63}")  # no +xml
_CHARSET = re.compile(r';\s*charset="?([a-z0-9_-]{1,40})"?\s*(?:;|$)')
_RANGE = re.compile(
    r"bytes=[ \t]*(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})[ \t]*",
    re.IGNORECASE | re.ASCII,
)
_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


def disposition(file_name: str | None) -> str:
    """Return a Content-Disposition that makes any content a download."""
    name = harmless_name(file_name)
    ascii_name = "".join(each if " " <= each <= "~" else "_" for each in name)
    value = f'attachment; filename="{ascii_name}"'
    return value if name == ascii_name else f"{value}; filename*=UTF-8''{quote(name, safe=_ATTR)}"


def harmless_name(file_name: str | None) -> str:
    """Return a recognisable name that has no special meaning on any system."""
    name = unicodedata.normalize("NFC", file_name or "")
    name = "".join("" if unicodedata.category(each) in _UNSEEN else each for each in name)
    name = _shortened(_NOT_IN_NAMES.sub("_", name).strip(" .\u00a0\u3000"))
    if not name:
        return _NAMELESS
    return f"_{name}" if _DEVICES.fullmatch(name) else name


def inert_type(content_type: str | None) -> str:
    """Return a file's type if no browser executes it, else `application/octet-stream`."""
    given = (content_type or "").lower()
    essence = given.partition(";")[0].strip()
    if essence not in _INERT and _MEDIA.fullmatch(essence) is None:
        return OCTETS
    charset = _CHARSET.search(given) if essence.startswith("text/") else None
    return essence if charset is None else f"{essence}; charset={charset[1]}"


def _shortened(name: str) -> str:
    if len(name.encode()) <= NAME_BYTES:
        return name
    stem, dot, suffix = name.rpartition(".")
    if not stem or len(suffix.encode()) >= _SUFFIX_BYTES:
        stem, dot, suffix = name, "", ""
    room = NAME_BYTES - len((dot + suffix).encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip(" .") + dot + suffix


class UnsatisfiableError(Exception):
    """The range lies beyond the end."""


class Part(Struct, frozen=True):
    """The bytes of a file from `start` up to `end`. `whole`: they are the whole file, and the answer has
    the status 200."""

    start: int
    end: int
    whole: bool


def part_of(size: int, wanted: str | None, condition: str | None, tag: str) -> Part:
    """Return the part that a Range header asks for, of a file of `size` bytes.

    `condition` is the If-Range header, and `tag` is the file's entity tag. Return the whole file if
    `condition` differs from `tag`, or if the Range header has several ranges or is malformed. Raise
    UnsatisfiableError if the range begins after the file's last byte, or is `bytes=-0`.
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
        return whole  # RFC 9110 calls this malformed
    if first >= size:
        raise UnsatisfiableError
    end = min(size, int(match["last"]) + 1) if match["last"] else size
    return Part(first, end, whole=False)


def is_known(if_none_match: str | None, tag: str) -> bool:
    """Return True if If-None-Match says that the client has the file."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
