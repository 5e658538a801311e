"""Text of strangers, made harmless for a terminal: nothing that moves its cursor or turns its writing.

What commands say goes out by `say`. Only what lays out tables and shows progress writes by itself.
"""

import json
import re
import sys
from typing import Any

import click

# C1 controls, DEL, marks of direction, and halves of surrogate pairs. JSON itself escapes C0.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return text with what is not for printing escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def printable_lines(text: str) -> str:
    """Return text of several lines with what is not for printing escaped."""
    return "\n".join(map(printable, text.split("\n")))


def say(text: str, *, err: bool = False, mark: str = "") -> None:
    """Print lines on standard output, or on standard error; `mark`, which stands before, is ours."""
    click.echo(mark + printable_lines(text), err=err)


def say_whole(text: str) -> None:
    """Print a document of a stranger's: byte for byte where a program reads it."""
    if sys.stdout.isatty():
        text = printable_lines(text.replace("\t", "    "))
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def json_text(document: Any, *, indent: bool = False) -> str:
    """Return JSON, in one line or laid out; what is not for printing is escaped, as JSON may."""
    text = json.dumps(document, ensure_ascii=False, indent=2 if indent else None)
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
