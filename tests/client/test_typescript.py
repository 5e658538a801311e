"""The handwritten methods of the TypeScript client: each method has the arguments and the answer that the
OpenAPI document gives it.

The test reads the client's source as text. It does not use the program that generates parts of the
client.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from api.routes import Route
from tests.client import kinds
from tests.client.test_document import (
    BYTES,
    OPERATIONS,
    field_of,
    operation_of,
    parameters_of,
    resolved,
    told,
)

SOURCE = Path(__file__).parents[2] / "clients" / "typescript" / "src"
SOURCES = [path.read_text("utf-8") for path in SOURCE.glob("*.ts")]
MADE = "// Made of"
BY_HAND = "\n".join(text for text in SOURCES if not text.startswith(MADE))
EVERY = "\n".join(SOURCES)
FILE = "Uint8Array | Blob"
_PLAIN = {"string": "string", "number": "number", "boolean": "boolean", "null": "null"}

METHODS = sorted(
    name for name, route in OPERATIONS.items() if route.client is not None and route.client.by_hand
)


def kind_of(text: str) -> kinds.Kind:
    """Return the kind of a type. Raises KeyError for a type that is not known."""
    found: set[Any] = set()
    for part in text.split(" | "):
        if part in _PLAIN:
            found.add(_PLAIN[part])
        elif part.startswith('"'):
            found.add(("word", part.strip('"')))
        elif part.endswith("[]"):
            found.add(("list", kind_of(part.removesuffix("[]").removeprefix("readonly "))))
        elif part == "Record<string, unknown>":
            found.add(("map", kinds.ANYTHING))
        elif alias := re.search(rf"^export type {part} = (.+);$", EVERY, re.MULTILINE):
            found |= kind_of(alias[1])
        elif re.search(rf"^export interface {part}\b", EVERY, re.MULTILINE):
            found.add("object")
        else:
            raise KeyError(part)
    return frozenset(found)


def fields_of(interface: str) -> dict[str, tuple[str, bool]] | None:
    """Return the fields of a handwritten interface by their names. The value of a field is its type, and
    True if the field is required.
    """
    body = re.search(
        rf"^export interface {re.escape(interface)}\b.*?{{\n(.*?)^}}",
        BY_HAND,
        re.MULTILINE | re.DOTALL,
    )
    if body is None:
        return None
    found = re.findall(r"^  (\w+)(\??): (.+);$", body[1], re.MULTILINE)
    return {name: (type_, mark == "") for name, mark, type_ in found}


def signature_of(name: str) -> tuple[dict[str, tuple[str, bool]], str]:
    """Return the arguments of a method, except the argument of type CallOptions, and the type of the
    method's answer.
    """
    group, _, method = name.rpartition(".")
    held = "".join(part.title() for part in group.split("_")) + "Resource" if group else "Angarium"
    body = BY_HAND.partition(f"export class {held} ")[2].partition("\n}\n")[0]
    camel = re.sub(r"_(\w)", lambda letter: letter[1].upper(), method)
    found = re.search(rf"^  (?:async )?\*?{camel}\((.*)\): \w+<(.+)> {{$", body, re.MULTILINE)
    assert found is not None, f"{held}.{camel}"
    arguments: dict[str, tuple[str, bool]] = {}
    for given in found[1].split(", "):
        argument, _, type_ = given.partition(": ")
        type_, _, default = type_.partition(" = ")
        if type_ != "CallOptions":
            arguments[argument.rstrip("?")] = (type_, not default and not argument.endswith("?"))
    return arguments, found[2]


def taken_by(route: Route) -> dict[str, tuple[kinds.Kind, bool]]:
    """Return the inputs of a route: its query parameters, or, without query parameters, the fields of its
    body. For each input, return the kind, and True if the input is required.
    """
    parameters = parameters_of(route)
    if parameters:
        return {
            name: (told(field_of(route, each)), bool(each.get("required")))
            for name, each in parameters.items()
        }
    body = resolved(json_of(operation_of(route).get("requestBody", {})))
    required = body.get("required", ())
    fields = body.get("properties", {}).items()
    return {name: (told(schema), name in required) for name, schema in fields}


def json_of(part: Any) -> Any:
    return part.get("content", {}).get("application/json", {}).get("schema", {})


@pytest.mark.parametrize("name", METHODS)
def test_a_handwritten_method_has_the_arguments_of_the_document(name: str) -> None:
    route = OPERATIONS[name]
    arguments, answer = signature_of(name)
    operation = operation_of(route)
    if name not in BYTES:
        (success,) = (code for code in operation["responses"] if code.startswith("2"))
        assert json_of(operation["responses"][success])["$ref"].endswith(f"/{answer}")
    shape = json_of(operation.get("requestBody", {})).get("$ref", "").rpartition("/")[2]
    ours: dict[str, tuple[str, bool]] = {}
    for argument, (type_, needed) in list(arguments.items())[route.path.count("{") :]:
        fields = fields_of(type_)
        if type_ == shape:
            return  # the whole body
        if fields is not None:
            ours |= fields
            assert needed == any(each for _, each in fields.values()), argument
        elif type_ != FILE:
            ours[argument] = type_, needed
    theirs = taken_by(route)
    assert ours.keys() == theirs.keys()
    for field, (type_, needed) in ours.items():
        kind, required = theirs[field]
        assert kind_of(type_) - kinds.NOTHING == kind - kinds.NOTHING, field
        assert needed == required, field
