"""Cuts texts to what services take, in the unit that each counts in. A cut never falls within a
character or an escape.
"""

from collections.abc import Callable

import msgspec

ELLIPSIS = "…"
STRETCH = (
    512  # characters escaped at a time: few calls for a long text, little to search for its end
)


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
    "json": _in_json,  # bytes that it takes within a JSON body, for services that bound the whole
}


def fitted(text: str, limit: int, unit: str, escape: Callable[[str], str]) -> str:
    """Return a text escaped, or as much of its beginning as leaves room for an ellipsis.

    `escape` goes by single characters and never shortens. The cost is that of what is returned, however
    long the text is.
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
    for start in range(0, min(len(text), room), STRETCH):
        piece = text[start : start + STRETCH]
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
