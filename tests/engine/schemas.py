"""Random schemas and payloads, and a count of how often a validator examines a value."""

from random import Random
from typing import Any

import jsonschema_rs

NAMES = ("d0", "d1", "d2")
_KEYWORDS = (
    "allOf", "anyOf", "oneOf", "not", "if", "properties", "patternProperties",
    "additionalProperties", "items", "prefixItems", "contains", "unevaluatedProperties",
    "unevaluatedItems", "propertyNames", "$ref", "dependentSchemas",
)  # fmt: skip
_TYPES = ("integer", "string", "object", "array", ["object", "array", "string", "integer", "null"])


def random_schema(random: Random) -> dict[str, Any]:
    """Return a schema with three definitions that may refer to each other."""
    schema = _schema(random, 4)
    schema["$defs"] = {name: _schema(random, 3) for name in NAMES}
    return schema


def _schema(random: Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"x-count": True}
    if depth <= 0 or random.random() < 0.15:
        return schema | {"type": random.choice(_TYPES)}
    for _ in range(random.randint(1, 3)):
        keyword = random.choice(_KEYWORDS)
        some = range(random.randint(1, 3))
        if keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
            schema[keyword] = [_schema(random, depth - 1) for _ in some]
        elif keyword in ("properties", "dependentSchemas"):
            schema[keyword] = {random.choice("abc"): _schema(random, depth - 1) for _ in some}
        elif keyword == "patternProperties":
            schema[keyword] = {random.choice(("a", "b|c", "^.$")): _schema(random, depth - 1)}
        elif keyword == "if":
            schema |= {each: _schema(random, depth - 1) for each in ("if", "then", "else")}
        elif keyword == "$ref":
            schema[keyword] = "#/$defs/" + random.choice(NAMES)
        else:
            schema[keyword] = _schema(random, depth - 1)
    return schema


def random_value(random: Random, depth: int = 7) -> Any:
    """Return a payload, which need not be an object."""
    if depth <= 0 or random.random() < 0.2:
        return random.choice((1, "x", None, True, 2.5))
    if random.random() < 0.5:
        return [random_value(random, depth - 1) for _ in range(random.randint(0, 4))]
    some = range(random.randint(0, 4))
    return {random.choice("abcd"): random_value(random, depth - 1) for _ in some}


def values_in(value: Any) -> int:
    """Return the number of values in a payload, including the names of members."""
    if isinstance(value, dict):
        return 1 + sum(values_in(each) + 1 for each in value.values())
    return 1 + (sum(map(values_in, value)) if isinstance(value, list) else 0)


class Tally:
    """Counts how often a validator evaluates a schema's `x-count`."""

    def __init__(self, schema: Any) -> None:
        self.calls = 0
        tally = self

        class Count:
            def __init__(self, parent: Any, value: Any, path: Any) -> None:
                pass

            def validate(self, instance: Any) -> None:
                tally.calls += 1

        self._validator = jsonschema_rs.Draft202012Validator(schema, keywords={"x-count": Count})

    def count(self, value: Any) -> int:
        self.calls = 0
        self._validator.is_valid(value)
        return self.calls
