"""The filters of the template language: look-ups, limits, and escapes for services' markup languages.

Each filter accepts any JSON value, and takes time linear in the value's size. No text is cut within a
character or an escape.
"""

import hashlib
import html as _html
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from jinja2 import Undefined

from engine.templates.values import Numeral, as_text, encoded, indented

LONGEST_LINE = 4_096  # no service shows a longer line
MOST_FACTS = 50  # no service shows more fields
_BREAK = "\u200b"  # a zero-width space between characters that a service would interpret
_CONTROL = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9._:@-]")
_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKDOWN = str.maketrans({mark: "\\" + mark for mark in "\\`*_{}[]()<>#+-!|~"})
# Telegram's MarkdownV2
_MARKDOWN_V2 = str.maketrans({mark: "\\" + mark for mark in "\\_*[]()~`>#+-=|{}.!"})
ELLIPSIS = "…"
PIECE_CHARACTERS = (
    512  # characters escaped in one call: few calls for a long text, and a short last search
)


def _is_absent(value: object) -> bool:
    return value is None or isinstance(value, Undefined)


def default(value: Any, instead: Any) -> Any:
    """Return `instead` for a value that is absent or null."""
    return instead if _is_absent(value) else value


def path(value: Any, steps: str, instead: Any = None) -> Any:
    """Return the value at a path of names and positions, such as `a.0.b`. Return `instead` if the path
    leads to no value, or to null."""
    for step in steps.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return instead
    return instead if _is_absent(value) else value


def first_text(value: Any, *names: str) -> str | None:
    """Return the value if it is a text. Otherwise, look up its members `names` in turn. Return the first
    that is a text or a number, as a text. Return None if there is no such member."""
    if isinstance(value, str) and value.strip():
        return value
    for name in names:
        found = path(value, name)
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, int | Numeral) and not isinstance(found, bool):
            return as_text(found)
    return None


def among(value: Any, words: dict[str, Any], instead: Any = None) -> Any:
    """Look the value up in `words`, as text in lower case."""
    return words.get(as_text(value).strip().lower(), instead) if not _is_absent(value) else instead


def facts(value: Any, limit: int) -> list[dict[str, str]]:
    """Return the first `limit` members of an object."""
    if not isinstance(value, dict):
        return []
    pairs = list(value.items())[: min(limit, MOST_FACTS)]
    return [{"name": name, "value": as_text(member)} for name, member in pairs]


def within(value: Any, limit: int) -> Any:
    """Return a value if its JSON has at most `limit` bytes, else an object with the size and the
    beginning of the JSON."""
    text = encoded(value)
    if len(text) <= limit:
        return value
    # JSON needs six bytes for a character such as \u001f
    room = limit // 6 - len('{"truncated":true,"bytes":0000000,"text":""}')
    return {"truncated": True, "bytes": len(text), "text": truncate(text.decode(), room, "bytes")}


def truncate(value: Any, limit: int, unit: str = "characters") -> str:
    """Return a value as text of at most `limit` units."""
    return fitted(as_text(value), limit, unit, str)


def _escaping(escape: Callable[[str], str]) -> Callable[..., str]:
    def escaped(value: Any, limit: int | None = None, unit: str = "characters") -> str:
        text = as_text(value)
        return escape(text) if limit is None else fitted(text, limit, unit, escape)

    return escaped


def _quiet(text: str) -> str:
    return text.replace("@", "@" + _BREAK)


def _unfenced(text: str) -> str:
    return text.replace("`", "`" + _BREAK)


def _slack_code(text: str) -> str:
    return _unfenced(text).translate(_SLACK)


def _quiet_markdown(text: str) -> str:
    return _quiet(text.translate(_MARKDOWN))


def _quiet_code(text: str) -> str:
    return _quiet(_unfenced(text))


def _unlinked(text: str) -> str:
    return text.replace("<", "<" + _BREAK)


def join(value: Any, between: str) -> str:
    """Return the items of a list as one text."""
    return between.join(as_text(item) for item in value) if isinstance(value, list) else ""


def line(value: Any) -> str:
    """Return a text on one line, of at most `LONGEST_LINE` characters."""
    return _CONTROL.sub(" ", as_text(value)[:LONGEST_LINE]).strip()


def identifier(value: Any, limit: int) -> str:
    """Return a text that is valid in headers and identifiers."""
    return _UNSAFE.sub("_", as_text(value)[:limit])


def digest(value: Any) -> str:
    """Return 32 hexadecimal digits that stand for a value."""
    return hashlib.sha256(encoded(value)).hexdigest()[:32]


FILTERS: dict[str, Callable[..., Any]] = {
    "default": default,
    "path": path,
    "first_text": first_text,
    "among": among,
    "facts": facts,
    "within": within,
    "truncate": truncate,
    "join": join,
    "line": line,
    "identifier": identifier,
    "digest": digest,
    "json": lambda value: encoded(value).decode(),
    "pretty": indented,
    "slack": _escaping(lambda text: text.translate(_SLACK)),
    "slack_code": _escaping(_slack_code),
    "html": _escaping(partial(_html.escape, quote=True)),
    "markdown": _escaping(lambda text: text.translate(_MARKDOWN)),
    "markdown_v2": _escaping(lambda text: text.translate(_MARKDOWN_V2)),
    "quiet": _escaping(_quiet),
    "quiet_markdown": _escaping(_quiet_markdown),
    "quiet_code": _escaping(_quiet_code),
    "unfenced": _escaping(_unfenced),
    "unlinked": _escaping(_unlinked),
}


def _utf16(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _octets(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _in_json(text: str) -> int:
    return len(msgspec.json.encode(text)) - 2


MEASURES: dict[str, Callable[[str], int]] = {
    "characters": len,
    "utf16": _utf16,
    "bytes": _octets,
    "json": _in_json,  # bytes in a JSON body, for services that bound the whole body
}


def fitted(text: str, limit: int, unit: str, escape: Callable[[str], str]) -> str:
    """Return the escaped text if it fits into `limit`, else as much of it as fits, and an ellipsis.

    `escape` must replace single characters and never shorten a text. The cost grows with the length of
    the result, not of `text`.
    """
    measure = MEASURES[unit]
    if len(text) <= limit:
        whole = escape(text)
        if measure(whole) <= limit:
            return whole
    room = limit - measure(ELLIPSIS)
    if room < 0:
        return ""
    pieces: list[str] = []
    for start in range(0, min(len(text), room), PIECE_CHARACTERS):
        piece = text[start : start + PIECE_CHARACTERS]
        escaped = escape(piece)
        size = measure(escaped)
        if size > room:
            pieces.append(_beginning(piece, room, measure, escape))
            break
        pieces.append(escaped)
        room -= size
    return "".join(pieces) + ELLIPSIS


def _beginning(
    text: str, room: int, measure: Callable[[str], int], escape: Callable[[str], str]
) -> str:
    least, most = 0, min(len(text), room)
    while least < most:
        middle = (least + most + 1) // 2
        if measure(escape(text[:middle])) <= room:
            least = middle
        else:
            most = middle - 1
    return escape(text[:least])
