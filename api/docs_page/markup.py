"""The pieces of HTML that make the documentation page, and their style. Each piece escapes its input."""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any


def prose(text: str) -> str:
    """Return a description as HTML; paragraphs, lists and code are the only Markdown supported."""
    parts = []
    for block in text.strip().split("\n\n"):
        if block.startswith("- "):
            items = block.removeprefix("- ").split("\n- ")
            parts.append(f"<ul>{''.join(f'<li>{inline(item)}</li>' for item in items)}</ul>")
        elif block:
            parts.append(f"<p>{inline(block)}</p>")
    return "".join(parts)


def inline(text: str) -> str:
    """Return a line of text, with words between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def code(text: str) -> str:
    """Return a name as code."""
    return f"<code>{escape(text)}</code>"


def block(text: str) -> str:
    """Return an example as a block."""
    return f"<pre>{escape(text)}</pre>"


def pretty(value: Any) -> str:
    """Return JSON with indentation."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table of rows, empty without rows."""
    if not rows:
        return ""
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{cells}</table>"


def anchor(text: str) -> str:
    """Return the id of a headline."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --line: #d9d9e0; --wash: #f4f4f7;
  --page: #fff; --link: #0b5cad; --get: #18794e; --post: #0b5cad; --patch: #8f5f00; --delete: #c62a2f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a3a9b1; --line: #34383e;
  --wash: #1c1f23; --page: #111315; --link: #7cb8ff; --get: #56c491; --post: #7cb8ff; --patch: #f0b84d;
  --delete: #ff8b8d; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--page); font: 15px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--wash); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
  overflow: auto; max-height: 32rem; margin: .6rem 0; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.2rem 1rem 3rem;
  border-right: 1px solid var(--line); background: var(--wash); font-size: 13.5px; }
nav h2 { margin: 1.1rem 0 .2rem; font-size: 11.5px; letter-spacing: .05em; text-transform: uppercase;
  color: var(--soft); border: 0; padding: 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: .5rem; padding: .1rem 0; color: var(--ink); }
nav .method { flex: none; width: 3.3rem; font-size: 10.5px; line-height: 1.9; }
main { padding: 1.5rem 2.2rem 6rem; min-width: 0; max-width: 78rem; }
.frame { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
h1 { margin: 0 0 .5rem; font-size: 1.7rem; }
h1 small { color: var(--soft); font-weight: 400; font-size: 1rem; }
h2 { margin: 3rem 0 .6rem; padding-bottom: .3rem; font-size: 1.35rem;
  border-bottom: 1px solid var(--line); }
h3 { margin: 0; font-size: 1.05rem; }
h4 { margin: 1.1rem 0 .3rem; font-size: .85rem; color: var(--soft); }
article { padding: 1.4rem 0; border-bottom: 1px solid var(--line); }
article > .line { margin: .15rem 0 .6rem; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: minmax(0, 11fr) minmax(0, 9fr); gap: 2rem; }
.method { font: 600 12px/1.5 ui-monospace, monospace; color: var(--soft); }
.method.get, .method.head { color: var(--get); } .method.post { color: var(--post); }
.method.patch { color: var(--patch); } .method.delete { color: var(--delete); }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .35rem .7rem .35rem 0; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
tr:first-child > td { border-top: 0; }
td:first-child { width: 34%; }
td p { margin: 0; }
.type, .note { color: var(--soft); font-size: 13px; }
.needed { color: var(--delete); font-size: 12px; }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--soft); }
p, li { overflow-wrap: anywhere; }
@media (max-width: 62rem) {
  .frame { grid-template-columns: minmax(0, 1fr); }
  nav { position: static; height: auto; max-height: 45vh; border-right: 0;
    border-bottom: 1px solid var(--line); }
  main { padding: 1rem 1rem 4rem; }
  .sides { grid-template-columns: minmax(0, 1fr); gap: 0; }
}
@media print { nav { display: none; } .frame { display: block; } }
"""
