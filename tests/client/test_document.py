"""The client agrees with the OpenAPI document: both have the same operations, parameters, fields, types
and words.

The test does not use the program that generates parts of the client.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints

import httpx
import pytest

import angarium
from angarium.calls import camel
from api.routes import Route
from api.table import ROUTES, openapi_json
from tests.client import kinds

DOCUMENT = json.loads(openapi_json())
SCHEMAS = DOCUMENT["components"]["schemas"]

# Operations for which the client class has no method. A client does not need these operations, or they
# are for callers without a key.
LEFT_OUT = {
    "/console/sessions",
    "/livez",
    "/readyz",
    "/openapi.json",
    "/docs",
    "/downloads/{token}",
    "/mcp",
}
BYTES = {"files.content", "observability.stream"}
GIVEN: dict[str, tuple[Any, ...]] = {"files.create": (b"",)}  # a file is no value of JSON
OPERATIONS = {route.client.name: route for route in ROUTES if route.client is not None}
# The second forms of bodies, each with a method of its own.
FORMS = [("destinations.create_from_template", "destinations.create", 1)]
UPLOADS = [("files.create", "files.create"), ("files.create_from_url", "files.create")]


def operation_of(route: Route) -> Any:
    return DOCUMENT["paths"][route.path][route.method.lower()]


def method_of(client: angarium.Client, name: str) -> Callable[..., Any]:
    found: Any = client
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]  # looked up by its name


def resolved(schema: Any) -> Any:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def told(schema: Any) -> kinds.Kind:
    return kinds.of_schema(schema, resolved)


def answer_of(route: Route) -> Any:
    """For a page, the schema of its items."""
    (status,) = (code for code in operation_of(route)["responses"] if code.startswith("2"))
    content = operation_of(route)["responses"][status]["content"]["application/json"]["schema"]
    schema = resolved(content)
    for choice in schema.get("anyOf", []):
        if resolved(choice).get("type") == "object":
            schema = resolved(choice)
    if set(schema.get("properties", {})) - {"searchedTo"} == {"items", "nextCursor"}:
        return resolved(schema["properties"]["items"]["items"])
    return schema


def shape_of(hint: Any) -> Any:
    """For a page or an iterator, the type of an item."""
    if get_origin(hint) is Iterator or getattr(get_origin(hint), "__name__", "") == "Page":
        return get_args(hint)[0]
    return next((part for part in get_args(hint) if hasattr(part, "__total__")), hint)


def fields_of(shape: Any) -> dict[str, Any]:
    return {
        name: get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint
        for name, hint in get_type_hints(shape, include_extras=True).items()
    }


def compare(shape: Any, schema: Any, place: str) -> None:
    ours, theirs = fields_of(shape), resolved(schema)["properties"]
    assert set(ours) == set(theirs), place
    assert shape.__required_keys__ == frozenset(resolved(schema).get("required", ())), place
    for name, hint in ours.items():
        assert kinds.of_hint(hint) == told(theirs[name]), f"{place}.{name}"
        within = [hint, *get_args(hint), *(a for p in get_args(hint) for a in get_args(p))]
        parts = [part for part in within if isinstance(part, type) and hasattr(part, "__total__")]
        nested = objects(theirs[name])
        # A union has its types in the order of the schema's choices. So the first type is compared with
        # the first choice, and so on. A type that is no union is compared with every choice.
        pairs = zip(parts, nested, strict=True) if len(parts) > 1 else product(parts, nested)
        for part, each in pairs:
            compare(part, each, f"{place}.{name}")


def objects(schema: Any) -> list[Any]:
    schema = resolved(schema)
    found = [schema] if "properties" in schema else []
    for choice in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
        found += objects(choice)
    if "items" in schema:
        found += objects(schema["items"])
    return found


def test_only_what_a_client_has_no_use_of_is_without_a_method() -> None:
    assert {route.path for route in ROUTES if route.client is None} == LEFT_OUT


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_the_method_asks_what_the_document_has_and_its_type_is_the_answers(name: str) -> None:
    route = OPERATIONS[name]
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"items": [], "nextCursor": None})

    with angarium.Client("http://a", "k", transport=httpx.MockTransport(answer)) as client:
        method = method_of(client, name)
        hints = get_type_hints(method)
        required = [
            kinds.value_of(kinds.of_hint(hints[argument]))
            for argument, it in inspect.signature(method).parameters.items()
            if it.default is it.empty and it.kind is it.POSITIONAL_OR_KEYWORD and name not in GIVEN
        ]
        found = method(*GIVEN.get(name, required))
        if isinstance(found, Iterator):
            list(found)
    (request,) = asked
    path = request.url.raw_path.decode().partition("?")[0]
    assert request.method == route.method
    assert re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path), path
    parameters = {given["name"] for given in operation_of(route).get("parameters", [])}
    assert set(request.url.params) <= parameters
    if name not in BYTES:
        compare(shape_of(hints["return"]), answer_of(route), name)


LISTS = [name for name in OPERATIONS if name.endswith(".list")]


@pytest.mark.parametrize("name", LISTS)
def test_every_filter_of_a_list_can_be_given(name: str) -> None:
    theirs = {
        given["name"]: told(given["schema"])
        for given in operation_of(OPERATIONS[name])["parameters"]
        if given["in"] == "query" and given["name"] not in ("cursor", "limit")
    }
    with angarium.Client("http://a", "k") as client:
        chosen = get_type_hints(method_of(client, name)).get("chosen")
        iterated = get_type_hints(method_of(client, name.replace(".list", ".iterate")))
    assert iterated.get("chosen") == chosen
    hints = get_type_hints(get_args(chosen)[0]) if chosen is not None else {}
    ours = {camel(field): kinds.of_hint(hint) for field, hint in hints.items()}
    assert ours == {field: one_or(kind) | kinds.NOTHING for field, kind in theirs.items()}


def one_or(kind: kinds.Kind) -> kinds.Kind:
    """Return the type of an argument of the given kind. An argument for a repeatable parameter can also
    be a single value.
    """
    lists = [each for each in kind if isinstance(each, tuple) and each[0] == "list"]
    return kind.union(*(each[1] for each in lists))


def parameters_of(route: Route) -> dict[str, Any]:
    """Return the parameters of a query, except those of pages."""
    return {
        given["name"]: given
        for given in operation_of(route).get("parameters", ())
        if given["in"] == "query" and given["name"] not in ("cursor", "limit")
    }


def field_of(route: Route, parameter: Any) -> Any:
    """Return the schema of a parameter. If the body has a field of the same name, return the field's
    schema instead: the value of a parameter can be an object in JSON text, and only the field's schema
    tells its type.
    """
    content = operation_of(route).get("requestBody", {}).get("content", {})
    body = resolved(content.get("application/json", {}).get("schema", {}))
    return body.get("properties", {}).get(parameter["name"], parameter["schema"])


QUERIES = [
    (name, name)
    for name, route in OPERATIONS.items()
    if parameters_of(route) and name not in [*LISTS, *dict(UPLOADS)]
] + UPLOADS


@pytest.mark.parametrize(("name", "operation"), QUERIES)
def test_every_parameter_of_a_query_can_be_given(name: str, operation: str) -> None:
    route = OPERATIONS[operation]
    theirs = parameters_of(route)
    with angarium.Client("http://a", "k") as client:
        method = method_of(client, name)
        hints = get_type_hints(method)
    given = list(inspect.signature(method).parameters.values())
    given = given[route.path.count("{") + ((name, operation) in UPLOADS) :]  # after path and file
    ours = {camel(each.name): each for each in given if each.name not in ("cursor", "limit")}
    assert theirs.keys() - ours.keys() <= {"environment"}, "the client's own can stand for it"
    for field, it in ours.items():
        taken = one_or(told(field_of(route, theirs[field])))
        assert kinds.of_hint(hints[it.name]) - kinds.NOTHING == taken - kinds.NOTHING, field
    required = {
        field
        for field, it in ours.items()
        if it.default is it.empty and it.kind is not it.VAR_POSITIONAL
    }
    assert required == {field for field, each in theirs.items() if each.get("required")}


BODIES = [
    (name, name, 0)
    for name, route in OPERATIONS.items()
    if route.body is not None and name not in GIVEN
] + FORMS


@pytest.mark.parametrize(("name", "operation", "form"), BODIES)
def test_every_field_of_a_body_can_be_given(name: str, operation: str, form: int) -> None:
    route = OPERATIONS[operation]
    content = operation_of(route)["requestBody"]["content"]["application/json"]["schema"]
    theirs = objects(content)[form]["properties"]
    with angarium.Client("http://a", "k") as client:
        hints = get_type_hints(method_of(client, name))
    del hints["return"]
    patch = route.method == "PATCH"
    if patch:
        compare(hints["change"], content, name)
        return
    ours = {camel(field): hint for field, hint in list(hints.items())[route.path.count("{") :]}
    assert ours.keys() == theirs.keys()
    for field, hint in ours.items():
        given, taken = kinds.opened(kinds.of_hint(hint)), kinds.opened(told(theirs[field]))
        assert given - kinds.NOTHING == taken - kinds.NOTHING, field


@pytest.mark.parametrize("route", [route for route in OPERATIONS.values() if route.command])
def test_every_column_of_a_command_is_a_field_of_the_answer(route: Route) -> None:
    assert route.command is not None
    for title, path in route.command.columns:
        schema = answer_of(route)
        for name in path.split("."):
            fields = resolved(schema)["properties"]
            assert name in fields, f"{route.command.name}: {title}"
            schema = fields[name]
            for choice in schema.get("anyOf", []):  # null is the other choice
                if "$ref" in choice:
                    schema = choice
