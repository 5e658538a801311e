"""Pieces of HTML: everything that comes in is escaped, and nothing but these pieces goes out."""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any


def prose(text: str) -> str:
    """Return a description, of which paragraphs, lists and code are all the Markdown there is."""
    parts = []
    for block in text.strip().split("\n\n"):
        if block.startswith("- "):
            items = block.removeprefix("- ").split("\n- ")
            parts.append(f"<ul>{''.join(f'<li>{inline(item)}</li>' for item in items)}</ul>")
        elif block:
            parts.append(f"<p>{inline(block)}</p>")
    return "".join(parts)


def inline(text: str) -> str:
    """Return a line of text, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def code(text: str) -> str:
    """Return a name."""
    return f"<code>{escape(text)}</code>"


def block(text: str) -> str:
    """Return an example."""
    return f"<pre>{escape(text)}</pre>"


def pretty(value: Any) -> str:
    """Return JSON to be read."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows of cells; nothing where there are none."""
    if not rows:
        return ""
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{cells}</table>"


def anchor(text: str) -> str:
    """Return the id of a headline."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
