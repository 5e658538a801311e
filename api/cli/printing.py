"""Text of strangers, made harmless for a terminal: nothing that moves its cursor or turns its writing."""

import json
import re
from typing import Any

# C1 controls, DEL, marks of direction, and halves of surrogate pairs. JSON itself escapes C0.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return text with what is not for printing escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def json_text(document: Any, *, indent: bool = False) -> str:
    """Return JSON, in one line or laid out; what is not for printing is escaped, as JSON may."""
    text = json.dumps(document, ensure_ascii=False, indent=2 if indent else None)
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
