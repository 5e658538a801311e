"""The most expensive inputs of each route, derived from the route's declaration."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson

from api.bodies import MAX_CONTAINERS, MAX_VALUES
from api.routes import Route
from engine.model.documents import MAX_MEMBERS

NOBODY = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
INSTANT = "2026-01-01T00:00:00Z"
OBJECTS: list[dict[str, int]] = [{}] * (MAX_CONTAINERS - 10)
VALUES = {str(number): 0 for number in range(MAX_VALUES - 300)}
# The longest values of parameters whose schema has no bound.
NAMED = {
    "cursor": "A" * 200,
    "from": INSTANT,
    "to": INSTANT,
    "environment": "DEVELOPMENT",
    "metadata": "{" + ",".join(f'"{number}":0' for number in range(200)) + "}",
    "topics": "throughput,health,deliveries,replays,dlq",
    "q": "\x01",  # the first character of the longest names
    "contentType": "text/plain",
    "fileName": "f" * 256,
    "fileType": "text/plain",
    "signature": "a" * 32,
    "eventType": "a" * 256,
    "customerExternalId": "a" * 256,
    "idempotencyKey": "a" * 256,
}


def queries(route: Route) -> Iterator[str]:
    """Yield up to three query strings: one with only the required parameters, one with these and the
    largest `limit`, and one with all parameters except `cursor`. All values are the longest allowed."""
    schema = route.query.model_json_schema()
    required = schema.get("required", ())
    least = [_pair(name, schema["properties"][name], schema) for name in required]
    yield _joined(least)
    if "limit" in schema["properties"]:
        yield _joined([*least, _pair("limit", schema["properties"]["limit"], schema)])
    if schema["properties"]:
        names = {name: each for name, each in schema["properties"].items() if name != "cursor"}
        yield _joined([_pair(name, each, schema) for name, each in names.items()])


def _joined(pairs: list[str]) -> str:
    return "?" + "&".join(pairs) if pairs else ""


def _pair(name: str, schema: dict[str, Any], whole: dict[str, Any]) -> str:
    values = _longest(name, schema, whole)
    return "&".join(f"{name}={quote(str(value), safe='')}" for value in values)


def _longest(name: str, schema: dict[str, Any], whole: dict[str, Any]) -> list[object]:
    """Return the values of a parameter: the items of the longest array if the parameter is an array,
    otherwise one value. If `NAMED` has the parameter, this value comes from `NAMED`. An enum gives its
    first value, and a boolean gives `true`. All other parameters give their longest value.

    Raises LookupError if neither the schema nor `NAMED` gives a value.
    """
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return _longest(name, each, whole)
    if "$ref" in schema:
        return _longest(name, whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if schema.get("type") == "array":
        items = schema["items"]
        return list(items.get("enum") or ()) or _longest(name, items, whole) * schema["maxItems"]
    if name in NAMED:
        return [NAMED[name]]
    if "enum" in schema:
        return list(schema["enum"][:1])
    if "const" in schema:
        return [schema["const"]]
    if schema.get("type") == "boolean":
        return ["true"]
    if schema.get("type") == "integer":
        return [schema["maximum"]]
    if schema.get("format") == "uuid" or "[0-9a-fA-F]{8}" in schema.get("pattern", ""):
        return [NOBODY]
    if "maxLength" in schema:
        return ["a" * schema["maxLength"]]
    raise LookupError(f"say in `NAMED` what the longest value of {name} is: {schema}")


def bodies(route: Route) -> Iterator[bytes]:
    """Yield bodies with as many members, containers or values as the limits allow. The first two bodies
    contain only unknown fields. Each of the others is an example in which one field has a huge value."""
    if route.body is None:
        return
    yield orjson.dumps({str(number): {} for number in range(MAX_MEMBERS)})
    yield orjson.dumps({"unknown": OBJECTS})
    schema = route.body.model_json_schema()
    fields: set[str] = set()
    kinds = [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", ()) if "$ref" in each]
    for each in (schema, *(schema["$defs"][kind] for kind in kinds)):
        fields.update(each.get("properties", ()))
    example = {} if route.example is None else route.example
    for field in sorted(fields):
        for value in ({"a": OBJECTS}, VALUES):
            yield orjson.dumps({**example, field: value})
