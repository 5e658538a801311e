"""The rewriting of schemas for client generators, which cannot read all of pydantic's output."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

REFERENCE = re.compile(r"#/components/schemas/(\w+)")
_KINDS = ("object", "array", "string", "number", "boolean", "null")
# A field that holds a JSON Schema is an object or a boolean. The usual ways to state this break client
# generators. From an `anyOf` of the two types, openapi-generator makes Java that does not compile, and
# oapi-codegen refuses a list of the two types. So the field's schema has a `not` with all other types.
_JSON_SCHEMA = [kind for kind in _KINDS if kind not in ("object", "boolean")]


def choices(schema: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return a schema's alternatives, none if it is not a choice."""
    excluded = schema.get("not", {}).get("type", ())
    if excluded:
        return [{"type": kind} for kind in _KINDS if kind not in excluded]
    given: Sequence[dict[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or ()
    return given


def readable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in a form that all generators accept."""
    kinds = [choice.get("type") for choice in schema.get("anyOf", ())]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if sorted(map(str, kinds)) == ["boolean", "object"]:
        return {
            **rest,
            "not": {"type": _JSON_SCHEMA, "items": {}},
        }  # Spectral requires `items` for arrays
    if "default" in schema and len([kind for kind in kinds if kind != "null"]) > 1:
        # If a schema with alternatives had the keyword `default`, openapi-generator would make Go code
        # that does not compile. So the description states the default.
        default = rest.pop("default")
        return {
            **rest,
            "anyOf": schema["anyOf"],
            "description": f"{schema.get('description', '')} By default {default}.".strip(),
        }
    return schema


def used(schemas: dict[str, Any], *roots: Any) -> dict[str, Any]:
    """Return the schemas that `roots` refer to, directly or through others."""
    wanted: set[str] = set()
    left = list(_referred(roots))
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += _referred(schemas[name])
    return {name: schema for name, schema in schemas.items() if name in wanted}


def _referred(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        found = REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
        if found:
            yield found[1]
        for key, inner in node.items():
            # The `oneOf` beside a discriminator's `mapping` names the same schemas.
            if key != "mapping":
                yield from _referred(inner)
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from _referred(inner)
