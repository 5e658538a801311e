"""The examples of the document, generated from its schemas. The example of a field is its value in
`api.openapi.words`. For a field that has no value there, the example is any allowed value."""

from typing import Any

from api.openapi.readable import choices
from api.openapi.words import AT, EVENT, FIELDS, MODELS

_BY_FORMAT = {"date-time": AT, "uuid": EVENT, "uri": "https://example.com/hooks"}
_NOTHING = object()
_DEPTH = 12  # of nested shapes; the document nests half as deep


class Examples:
    """A maker of examples of one document's schemas."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def of(
        self, schema: dict[str, Any], field: str = "", model: str = "", depth: int = _DEPTH
    ) -> Any:
        """Return an example for the field `field` in the model `model`."""
        if depth == 0:
            return None
        if "examples" in schema or "example" in schema:
            return schema.get("example", schema.get("examples", [None])[0])
        word = _word(field, model)
        if word is not _NOTHING and self._fits(word, schema):
            return word
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self.of(self._schemas[name], field, name, depth - 1)
        for key in ("const", "default"):
            if schema.get(key) is not None:
                return schema[key]
        if "enum" in schema:
            return schema["enum"][0]
        if found := choices(schema):
            kept = [choice for choice in found if choice != {"type": "null"}]
            return self.of((kept or found)[0], field, model, depth)
        return self._plain(schema, field, model, depth)

    def _plain(self, schema: dict[str, Any], field: str, model: str, depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object":
            made = {
                name: self.of(property_, name, model, depth - 1)
                for name, property_ in schema.get("properties", {}).items()
            }
            required = schema.get("required", ())  # an optional field is left out instead of null
            return {name: it for name, it in made.items() if it is not None or name in required}
        if kind == "array":
            return [self.of(schema.get("items", {}), field, model, depth - 1)]
        if kind == "string":
            return _BY_FORMAT.get(schema.get("format", ""), "x" * schema.get("minLength", 1))
        if kind in ("integer", "number"):
            return max(1, schema.get("minimum", 1))
        return {"boolean": True, "null": None}.get(kind or "", {})

    def _fits(self, word: Any, schema: dict[str, Any]) -> bool:
        """Only the value's type is checked."""
        if "$ref" in schema:
            return self._fits(word, self._schemas[schema["$ref"].rpartition("/")[2]])
        if found := choices(schema):
            return any(self._fits(word, choice) for choice in found)
        if "enum" in schema:
            return word in schema["enum"]
        if "const" in schema:
            return bool(word == schema["const"])
        kind = schema.get("type")
        if kind == "object" and "properties" in schema:
            return isinstance(word, dict) and set(word) <= set(schema["properties"])
        return kind is None or _type_of(word) == kind or (kind == "number" and _is_number(word))


def _word(field: str, model: str) -> Any:
    having = [name for name, words in MODELS.items() if model.startswith(name) and field in words]
    if having:
        return MODELS[max(having, key=len)][field]
    return FIELDS.get(field, _NOTHING) if model or field != "id" else _NOTHING


def _is_number(word: Any) -> bool:
    return isinstance(word, int | float) and not isinstance(word, bool)


def _type_of(word: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if word is None else names.get(type(word), "object")
