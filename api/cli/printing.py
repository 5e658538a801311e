"""The safe output of untrusted text to a terminal.

Commands print through `say`. Only tables and progress displays write directly.
"""

import json
import re
import sys
from typing import Any

import click

from api.printable import printable_lines

# The characters that `json_text` escapes: DEL, C1 controls, line separators, marks of the direction of
# writing, and surrogates. C0 controls are missing here, because Python's `json` escapes them.
_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def say(text: str, *, err: bool = False, mark: str = "") -> None:
    """Print lines with their unprintable characters escaped. `mark` is printed first, unescaped."""
    click.echo(mark + printable_lines(text), err=err)


def say_whole(text: str) -> None:
    """Print an untrusted document. On a terminal its unprintable characters are escaped. Elsewhere the
    document is printed unchanged."""
    if sys.stdout.isatty():
        text = printable_lines(text.replace("\t", "    "))
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def json_text(document: Any, *, indent: bool = False) -> str:
    """Return JSON with its unprintable characters escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=2 if indent else None)
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
