"""The outline of a schema: the schema without the alternatives that make errors expensive.

Such alternatives are those of `anyOf` and `oneOf`. If a value fits none of the alternatives, the
validator reports one error, which contains all errors of every alternative.

A payload that the outline refuses is also refused by the schema. A payload that the outline accepts can
be refused by the schema.
"""

from typing import Any

_WITHIN = frozenset(
    (
        "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies",
        "properties", "patternProperties", "additionalProperties", "propertyNames",
        "prefixItems", "items", "contains", "unevaluatedItems", "unevaluatedProperties",
        "$ref", "$dynamicRef",
    )
)  # fmt: skip
_CHOICES = ("anyOf", "oneOf")
CHOICES_LISTED = 8  # `anyOf` or `oneOf` with more alternatives is left out: an error lists them all
# The subschemas of these keywords are not replaced by their outlines. An outline can accept more values
# than its subschema, and `not` refuses every value that its subschema accepts. If the subschema of `not`
# were replaced by its outline, `not` could refuse a payload that the schema accepts. The same is true for
# `if` and `contains`.
_CONTRARY = ("not", "if", "contains")
# Keywords that an outline never has. Most of them depend on other keywords, which can be missing in the
# outline.
_DROPPED = ("unevaluatedItems", "unevaluatedProperties", "then", "else", "dependencies")
_LITERAL = ("enum", "const", "default", "examples")


def outline(schema: Any) -> Any:
    """Return the outline of a schema that conforms to the meta-schema."""
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _LITERAL:
            found[keyword] = value
        elif keyword in _CHOICES:
            if len(value) <= CHOICES_LISTED and all(map(_flat, value)):
                found[keyword] = value
        elif keyword in _CONTRARY:
            if _flat(value) and keyword != "if":
                found[keyword] = value
        elif keyword not in _DROPPED:
            found[keyword] = _inner(keyword, value)
    return found


def _inner(keyword: str, value: Any) -> Any:
    if isinstance(value, list):
        return [outline(each) for each in value]
    if isinstance(value, dict):
        if keyword in (
            "properties",
            "patternProperties",
            "dependentSchemas",
            "$defs",
            "definitions",
        ):
            return {name: outline(each) for name, each in value.items()}
        return outline(value)
    return value


def _flat(schema: Any) -> bool:
    return not isinstance(schema, dict) or _WITHIN.isdisjoint(schema)
