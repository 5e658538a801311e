"""The subschemas of a schema, and the references between them."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from engine.core.pattern_index import Steps
from engine.model.documents import invalid

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = (
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
)
_SINGLE = (
    "not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip
SchemaPath = tuple[str, ...]


class Subschema:
    """One subschema. `steps` is its path from the root. `parts` are the subschemas within it: by keyword,
    then by name or index (None if the keyword has a single subschema). `refers` are the subschemas to
    which its `$ref` and `$dynamicRef` can lead."""

    __slots__ = ("base", "parts", "refers", "schema", "steps")

    def __init__(self, schema: dict[str, Any] | bool, steps: SchemaPath, base: str) -> None:
        self.schema = schema
        self.steps = steps
        self.base = base
        self.parts: dict[str, dict[str | int | None, Subschema]] = {}
        self.refers: list[Subschema] = []

    @property
    def path(self) -> str:
        return ".".join(("schema", *self.steps))


class _Index:
    def __init__(self) -> None:
        self.resources: dict[str, Subschema] = {}
        self.anchors: dict[tuple[str, str], Subschema] = {}
        self.dynamic: dict[str, list[Subschema]] = {}
        self.by_steps: dict[SchemaPath, Subschema] = {}
        self.referring: list[Subschema] = []


def read_places(schema: dict[str, Any] | bool, steps: Steps | None = None) -> Subschema:
    """Read a schema that conforms to the meta-schema, and return its root. Raises Refusal 400 for a
    reference without a target, for an `$id` or anchor that occurs twice, and for a `$schema` other than
    DIALECT."""
    steps = steps or Steps()
    index = _Index()
    root = Subschema(schema, (), "")
    waiting = [root]
    while waiting:
        place = waiting.pop()
        steps.spend(3)
        if isinstance(place.schema, dict):
            _enter(place, place.schema, index)
            waiting += _open(place, place.schema, steps)
        index.by_steps[place.steps] = place
    index.resources.setdefault("", root)
    for place in index.referring:
        steps.spend(10)  # 5 us
        _resolve(place, index)
    return root


def _enter(place: Subschema, schema: dict[str, Any], index: _Index) -> None:
    dialect = schema.get("$schema")
    if dialect is not None and dialect.removesuffix("#") != DIALECT:
        raise invalid(f"{place.path}.$schema", f"must be {DIALECT}")
    if "$id" in schema:
        place.base = urldefrag(urljoin(place.base, schema["$id"]))[0]
        if place.base in index.resources:
            raise invalid(f"{place.path}.$id", "is given twice")
        index.resources[place.base] = place
    for keyword in ("$anchor", "$dynamicAnchor"):
        if keyword in schema:
            name = (place.base, schema[keyword])
            if index.anchors.setdefault(name, place) is not place:
                raise invalid(f"{place.path}.{keyword}", "is given twice")
    if "$dynamicAnchor" in schema:
        index.dynamic.setdefault(schema["$dynamicAnchor"], []).append(place)
    if "$ref" in schema or "$dynamicRef" in schema:
        index.referring.append(place)


def _open(place: Subschema, schema: dict[str, Any], steps: Steps) -> list[Subschema]:
    found: list[Subschema] = []

    def part(keyword: str, name: str | int | None, value: Any) -> None:
        steps.spend(2 + len(place.steps) // 16)
        path = (*place.steps, keyword) if name is None else (*place.steps, keyword, str(name))
        inner = Subschema(value, path, place.base)
        place.parts.setdefault(keyword, {})[name] = inner
        found.append(inner)

    for keyword in _LISTS:
        for position, value in enumerate(schema.get(keyword, ())):
            part(keyword, position, value)
    for keyword in _MAPS:
        for name, value in schema.get(keyword, {}).items():
            if isinstance(value, dict | bool):
                part(keyword, name, value)
    for keyword in _SINGLE:
        if keyword in schema:
            part(keyword, None, schema[keyword])
    return found


def _resolve(place: Subschema, index: _Index) -> None:
    assert isinstance(place.schema, dict)
    for keyword in ("$ref", "$dynamicRef"):
        reference = place.schema.get(keyword)
        if reference is None:
            continue
        target = _target(place, keyword, reference, index)
        place.refers.append(target)
        if keyword == "$dynamicRef" and isinstance(target.schema, dict):
            # Several subschemas can have the same `$dynamicAnchor`. The validator finds out which of
            # these subschemas is the target when it checks a payload. So `refers` gets all of them.
            others = index.dynamic.get(str(target.schema.get("$dynamicAnchor")), ())
            place.refers += [each for each in others if each is not target]


def _target(place: Subschema, keyword: str, reference: str, index: _Index) -> Subschema:
    if reference.startswith("#"):
        address, fragment = place.base, reference[1:]
    else:
        address, fragment = urldefrag(urljoin(place.base, reference))
    resource = index.resources.get(address)
    if resource is None:
        raise invalid(
            f"{place.path}.{keyword}", "refers to another document, which is never fetched"
        )
    fragment = unquote(fragment)
    target: Subschema | None = resource
    if fragment.startswith("/"):
        names = (each.replace("~1", "/").replace("~0", "~") for each in fragment[1:].split("/"))
        target = index.by_steps.get((*resource.steps, *names))
    elif fragment:
        target = index.anchors.get((address, fragment))
    if target is None:
        raise invalid(f"{place.path}.{keyword}", "names no subschema of this document")
    return target


def values_of(document: Any, steps: Steps | None = None) -> Iterator[Any]:
    """Yield a value and all values within it, but no names of members. `steps` counts the values."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if steps is not None:
            steps.spend(1)
        yield value
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def objects_of(document: Any, steps: Steps | None = None) -> Iterator[dict[str, Any]]:
    """Yield all objects in a schema: the subschemas, and other objects, such as a value of an `enum`."""
    return (value for value in values_of(document, steps) if isinstance(value, dict))
