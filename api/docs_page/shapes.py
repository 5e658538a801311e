"""The view of schemas."""

import json
from html import escape
from typing import Any

from api.docs_page.markup import code, inline, prose, table
from api.openapi.readable import choices

_BOUNDS = {
    "minLength": "at least {} long",
    "maxLength": "at most {} long",
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "maxProperties": "at most {}",
}
_LONGEST_PATTERN = 60  # characters; longer patterns are not shown


def kind(schema: dict[str, Any]) -> str:
    """Return a link to a shape, or a type with its bounds."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#shape-{name}">{name}</a>'
    if found := choices(schema):
        return " or ".join(kind(choice) for choice in found)
    if "enum" in schema:
        return " | ".join(code(str(value)) for value in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    if schema.get("type") == "array":
        return _bounded(f"array of {kind(schema.get('items', {}))}", schema)
    return _bounded(escape(str(schema.get("format") or schema.get("type") or "any")), schema)


def _bounded(text: str, schema: dict[str, Any]) -> str:
    said = [form.format(schema[name]) for name, form in _BOUNDS.items() if name in schema]
    pattern = schema.get("pattern")
    if pattern and "format" not in schema and len(pattern) <= _LONGEST_PATTERN:
        said.append(f"like {code(pattern)}")
    return ", ".join([text, *said])


def fields(schema: dict[str, Any], *, needed: bool) -> str:
    """Return a table of a shape's fields. If `needed` is True, the table marks the fields that a request
    must have. Otherwise it marks the fields that an answer can lack."""
    required = schema.get("required", ())
    rows = []
    for name, property_ in schema.get("properties", {}).items():
        mark = ""
        if needed and name in required:
            mark = ' <span class="needed">required</span>'
        elif not needed and name not in required:
            mark = ' <span class="note">optional</span>'
        rows.append((f"{code(name)}{mark}", about(property_)))
    return table(rows)


def about(schema: dict[str, Any]) -> str:
    """Return a field's kind, default and description."""
    default = schema.get("default")
    said = f'<div class="type">{kind(schema)}'
    if default is not None and default != {}:
        said += (
            f"; default {code(json.dumps(default) if isinstance(default, bool) else str(default))}"
        )
    return f"{said}</div>{inline(schema.get('description', ''))}"


def shapes(document: dict[str, Any]) -> str:
    """Return every shape of the document."""
    parts = [
        f'<article id="shape-{escape(name)}"><h3>{escape(name)}</h3>'
        f"{shape(schema, needed=needed)}</article>"
        for name, schema, needed in shapes_of(document)
    ]
    return f'<h2 id="shapes">Shapes</h2>{"".join(parts)}'


def shapes_of(document: dict[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Return for each shape its name, its schema, and True if the shape occurs in a request."""
    requested = _requested(document)
    found = sorted(document["components"]["schemas"].items())
    return [(name, schema, name in requested) for name, schema in found]


def shape(schema: dict[str, Any], *, needed: bool) -> str:
    """Return a shape without its name."""
    return (
        f"{prose(schema.get('description', ''))}{fields(schema, needed=needed)}"
        f"{'' if 'properties' in schema else kind(schema)}"
    )


def with_words(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the shared enumerations inlined."""
    found = document["components"]["schemas"]

    def inlined(node: Any) -> Any:
        if isinstance(node, list):
            return [inlined(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        shape = found.get(str(node.get("$ref", "")).rpartition("/")[2], {})
        if "enum" in shape:
            return {"enum": shape["enum"], **{k: v for k, v in node.items() if k != "$ref"}}
        return {key: inlined(value) for key, value in node.items()}

    shown: dict[str, Any] = inlined(document)
    schemas = shown["components"]["schemas"]
    kept = {name: schema for name, schema in schemas.items() if "enum" not in schema}
    return {**shown, "components": {**shown["components"], "schemas": kept}}


def _requested(document: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    schemas = document["components"]["schemas"]

    def visit(node: Any) -> None:
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name in schemas and name not in found:
                found.add(name)
                visit(schemas[name])
            for inner in node.values():
                visit(inner)
        elif isinstance(node, list):
            for inner in node:
                visit(inner)

    for operations in document["paths"].values():
        for operation in operations.values():
            visit(operation.get("requestBody", {}))
    return found
