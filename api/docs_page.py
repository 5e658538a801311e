"""The OpenAPI document as one page of HTML: no scripts, nothing from elsewhere, everything escaped."""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; border-radius: 4px; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
summary { cursor: pointer; padding: .35rem 0; }
summary b { display: inline-block; min-width: 4.5rem; }
details { border-bottom: 1px solid var(--line); }
details > div { padding: 0 0 1rem 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; }
td, summary, p, li { overflow-wrap: anywhere; }
"""


def page_of(document: dict[str, Any]) -> str:
    """Return the page of a document."""
    info = document["info"]
    sections = [_section(document, tag["name"]) for tag in document["tags"]]
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(info['title'])} API <small>{escape(info['version'])}</small></h1>"
        f"{_prose(info['description'])}"
        '<p>The same for programs: <a href="/openapi.json">openapi.json</a></p>'
        f"{''.join(sections)}{_shapes(document)}</body></html>\n"
    )


def _prose(text: str) -> str:
    """Return a description, of which paragraphs, lists and code are all the Markdown there is."""
    parts = []
    for block in text.strip().split("\n\n"):
        if block.startswith("- "):
            items = block.removeprefix("- ").split("\n- ")
            parts.append(f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</ul>")
        else:
            parts.append(f"<p>{_inline(block)}</p>")
    return "".join(parts)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _section(document: dict[str, Any], tag: str) -> str:
    operations = [
        _operation(document, method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    ]
    return f"<h2>{escape(tag)}</h2>{''.join(operations)}"


def _operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    text = operation.get("description")
    return (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code> "
        f"{escape(operation['summary'])}</summary><div>"
        f"{_prose(text) if text else ''}"
        f"{_parameters(operation)}{_body(operation)}{_responses(document, operation)}</div></details>"
    )


def _parameters(operation: dict[str, Any]) -> str:
    rows = [
        (
            f"<code>{escape(parameter['name'])}</code>",
            escape(parameter["in"]),
            f"<code>{escape(_kind(parameter['schema']))}</code>",
            _inline(parameter.get("description", "")),
        )
        for parameter in operation.get("parameters", [])
    ]
    return _table(rows)


def _body(operation: dict[str, Any]) -> str:
    media = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if media is None:
        return ""
    example = media.get("example")
    shown = "" if example is None else f"<pre>{escape(json.dumps(example, indent=2))}</pre>"
    return f"<p>Body: {_link(media['schema'])}</p>{shown}"


def _responses(document: dict[str, Any], operation: dict[str, Any]) -> str:
    rows = []
    for status, given in operation["responses"].items():
        response = given
        if "$ref" in given:
            response = document["components"]["responses"][given["$ref"].rpartition("/")[2]]
        schemas = [media["schema"] for media in response["content"].values()]
        rows.append((status, _inline(response["description"]), " ".join(map(_link, schemas))))
    return _table(rows)


def _shapes(document: dict[str, Any]) -> str:
    parts = []
    for name, schema in sorted(document["components"]["schemas"].items()):
        required = schema.get("required", ())
        rows = [
            (
                f"<code>{escape(field)}</code>{'' if field in required else ' (optional)'}",
                _link(property_),
                _inline(property_.get("description", "")),
            )
            for field, property_ in schema.get("properties", {}).items()
        ]
        parts.append(
            f'<h3 id="{escape(name)}">{escape(name)}</h3>'
            f"{_prose(schema.get('description', ''))}{_table(rows)}"
        )
    return f"<h2>Shapes</h2>{''.join(parts)}"


def _link(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if schema.get("type") == "array":
        return f"array of {_link(schema.get('items', {}))}"
    if "anyOf" in schema:
        return " or ".join(_link(choice) for choice in schema["anyOf"])
    return f"<code>{escape(_kind(schema))}</code>"


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    return str(schema.get("format") or schema.get("type") or "any")


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{cells}</table>"
