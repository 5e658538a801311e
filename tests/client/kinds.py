"""The possible values of a type (its kind). Type hints of the client and schemas of the OpenAPI document
both have kinds, so the tests can compare them.

A kind is a set of
- the names of JSON's types ("object" for an object with fields),
- ("word", word) for each word of an enumeration,
- lists and maps with the kind of their contents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict

from api.openapi.readable import choices

Kind = frozenset[Any]
ANYTHING: Kind = frozenset({"anything"})
NOTHING: Kind = frozenset({"null"})
_PLAIN: dict[Any, str] = {
    str: "string", datetime: "string", int: "integer", float: "number", bool: "boolean",
    bytes: "encoded", NoneType: "null",
}  # fmt: skip


def of_hint(hint: Any) -> Kind:
    """Raises KeyError for a type that JSON does not have."""
    if hint is Any:
        return ANYTHING
    if is_typeddict(hint):
        return frozenset({"object"})
    origin, given = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return frozenset().union(*map(of_hint, given))
    if origin is Literal:
        return frozenset(("word", word) for word in given)
    if origin in (list, Sequence, Iterable):
        return frozenset({("list", of_hint(given[0]))})
    if origin in (dict, Mapping):
        assert given[0] is str, hint
        return frozenset({("map", of_hint(given[1]))})
    return frozenset({_PLAIN[hint]})


def of_schema(schema: Any, resolved: Callable[[Any], Any]) -> Kind:
    schema = resolved(schema)
    if found := choices(schema):
        return frozenset().union(*(of_schema(each, resolved) for each in found))
    if "enum" in schema:
        return frozenset(("word", word) for word in schema["enum"])
    if "const" in schema:
        return frozenset({("word", schema["const"])})
    match schema.get("type"):
        case None:
            return ANYTHING
        case "array":
            return frozenset({("list", of_schema(schema["items"], resolved))})
        case "object" if not schema.get("properties"):
            more = schema.get("additionalProperties", True)
            held = ANYTHING if more is True else of_schema(more, resolved)
            return frozenset({("map", held)})
        case name:
            return frozenset({name})


def opened(kind: Kind) -> Kind:
    """Return a simpler kind, so that the kind of a client method's argument can be compared with the kind
    of the field in the OpenAPI document. Each object becomes a map, and "encoded" (JSON that a caller
    passes as bytes) is left out.
    """
    return frozenset(map(_opened, kind - {"encoded"}))


def _opened(part: Any) -> Any:
    if part == "object":
        return ("map", ANYTHING)
    return ("list", opened(part[1])) if part[0] == "list" else part


def value_of(kind: Kind) -> Any:
    plain = {"string": "x", "encoded": b"", "object": {}, "anything": {}, "boolean": True}
    for part in sorted(kind, key=str):
        if isinstance(part, tuple):
            return {"word": part[1], "list": [], "map": {}}[part[0]]
        if part in plain:
            return plain[part]
    raise AssertionError(f"no value is known of {kind}")
