"""The Python types of the document's schemas."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.openapi.readable import choices

Schema = Mapping[str, Any]
_PLAIN = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None",
}  # fmt: skip


class Types:
    """The types of one document's schemas."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self.schemas = schemas

    def field(self, schema: Schema) -> str:
        return self._type(schema, argument=False)

    def argument(self, schema: Schema) -> str:
        """Return the type of a method's argument. An argument also accepts types that JSON lacks: a
        datetime for an instant, any sequence for a list, any mapping for an object."""
        return self._type(schema, argument=True)

    def parameter(self, schema: Schema) -> str:
        """Return the type of the method's argument for a query parameter. If the parameter can be
        repeated, the argument accepts one value or several."""
        type_ = self.argument(schema)
        return (
            f"{self.argument(schema['items'])} | {type_}"
            if schema.get("type") == "array"
            else type_
        )

    def item_of(self, schema: Schema) -> Schema | None:
        """If the schema is a page of a list, return the schema of the list's items. Otherwise return
        None."""
        fields = self.resolved(schema).get("properties", {})
        known = {"items", "nextCursor", "searchedTo"}
        paged = "nextCursor" in fields and known.issuperset(fields)
        return fields["items"]["items"] if paged else None

    def resolved(self, schema: Schema) -> Schema:
        return self.schemas[name_of(schema)] if "$ref" in schema else schema

    def _type(self, schema: Schema, *, argument: bool) -> str:
        if "$ref" in schema:
            return self._named(name_of(schema), argument=argument)
        if found := choices(schema):
            return _joined([self._type(choice, argument=argument) for choice in found])
        words = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
        if words:
            return f"Literal[{', '.join(map(repr, words))}]"
        kind = schema.get("type")
        if kind == "array":
            held = self._type(schema["items"], argument=argument)
            return f"Sequence[{held}]" if argument else f"list[{held}]"
        if kind == "object":
            return self._mapping(schema.get("additionalProperties", True), argument=argument)
        if kind == "string" and argument and schema.get("format") == "date-time":
            return "Instant"
        return "Any" if kind is None else _PLAIN[kind]

    def _named(self, name: str, *, argument: bool) -> str:
        shape = self.schemas[name]
        if choices(shape):
            return self._type(shape, argument=argument)
        return f"{name} | Mapping[str, Any]" if argument and "enum" not in shape else name

    def _mapping(self, held: Any, *, argument: bool) -> str:
        if held is True:
            return "Mapping[str, Any]" if argument else "JsonObject"
        kind = "Mapping" if argument else "dict"
        return f"{kind}[str, {self._type(held, argument=argument)}]"


def name_of(schema: Schema) -> str:
    """Return the name of the shape that a reference names."""
    return str(schema["$ref"]).rpartition("/")[2]


def names_within(schema: Schema) -> Iterator[str]:
    """Yield the names of the shapes that a schema refers to."""
    if "$ref" in schema:
        yield name_of(schema)
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    inner += choices(schema)
    for each in inner:
        if isinstance(each, Mapping):  # `additionalProperties` can be true
            yield from names_within(each)


def without_null(type_: str) -> str:
    """Return a type without None."""
    return type_.removesuffix(" | None")


def _joined(types: list[str]) -> str:
    parts = dict.fromkeys(part for type_ in types for part in type_.split(" | "))
    if "Any" in parts:
        return "Any"
    if "None" in parts:
        parts["None"] = parts.pop("None")
    return " | ".join(parts)
