"""The OpenAPI document: valid, equal to the routes, and readable."""

import json
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import jsonschema
from openapi_spec_validator import validate

from api.docs_page.operations import curl
from api.docs_page.shapes import with_words
from api.openapi.components import ERROR
from api.table import ROUTES, docs_html
from engine.drafts import DestinationDraft, RuleDraft, TemplateDestinationDraft
from engine.model.errors import STATUS_OF_CODE
from tests.api.house import DOCUMENT, House


def test_the_document_is_valid() -> None:
    validate(DOCUMENT)


async def test_the_document_is_what_is_routed(house: House) -> None:
    documented = {
        (method.upper(), re.sub(r"{\w+}", "<>", path))
        for path, operations in DOCUMENT["paths"].items()
        for method in operations
    }
    routed = {
        (method, re.sub(r"<[\w:]+>", "<>", rule.rule))
        for rule in house.app.url_map.iter_rules()
        for method in rule.methods or ()
        if method not in ("HEAD", "OPTIONS") and not rule.endpoint.startswith("others ")
    }
    assert documented == routed
    names = [route.name for route in ROUTES]
    assert len(set(names)) == len(names)


async def test_it_is_served_to_anybody(house: House) -> None:
    anybody = await house.caller()
    assert (await anybody("GET", "/openapi.json")).json == DOCUMENT
    page = await anybody("GET", "/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.body == docs_html()


def examples() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the place of each example in the document, the example, and its schema."""
    yield from _examples_in("", DOCUMENT)


def _examples_in(where: str, node: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _examples_in(f"{where}/{index}", item)
    if not isinstance(node, dict) or where == "/components/schemas":
        return
    if isinstance(node.get("schema"), dict):
        found = [given["value"] for given in node.get("examples", {}).values()]
        found += [node["example"]] if "example" in node else []
        for example in found:
            yield where, example, node["schema"]
    for key, inner in node.items():
        if key not in ("example", "examples", "schema"):
            yield from _examples_in(f"{where}/{key}", inner)


def test_every_example_is_what_it_illustrates() -> None:
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    for where, example, schema in examples():
        whole = {**schema, "components": DOCUMENT["components"]}
        found = jsonschema.Draft202012Validator(whole, format_checker=checker)
        assert not list(found.iter_errors(example)), where


def test_every_body_and_every_answer_has_an_example() -> None:
    shown = {where for where, _, _ in examples()}
    for path, operations in {**DOCUMENT["paths"], **DOCUMENT["webhooks"]}.items():
        for method, operation in operations.items():
            root = "paths" if path in DOCUMENT["paths"] else "webhooks"
            where = f"/{root}/{path}/{method}"
            for kind in operation.get("requestBody", {}).get("content", {}):
                assert f"{where}/requestBody/content/{kind}" in shown
            for status, response in operation["responses"].items():
                for kind in response.get("content", {}):
                    assert f"{where}/responses/{status}/content/{kind}" in shown
    for name, response in DOCUMENT["components"]["responses"].items():
        for kind in response["content"]:
            assert f"/components/responses/{name}/content/{kind}" in shown


def test_every_error_code_is_shown_and_every_error_has_its_headers() -> None:
    shown = {example["code"] for _, example, schema in examples() if schema == {"$ref": ERROR}}
    assert shown == set(STATUS_OF_CODE) - {"method_not_allowed"}  # no operation returns it
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            for status, given in operation["responses"].items():
                response = given
                if "$ref" in given:
                    name = given["$ref"].rpartition("/")[2]
                    response = DOCUMENT["components"]["responses"][name]
                assert ("Retry-After" in response["headers"]) is (status in ("429", "503"))
                assert "X-RateLimit-Reset" in response["headers"]


def test_every_group_is_described_and_every_shape_has_a_name_to_be_read() -> None:
    assert all(tag["description"] for tag in DOCUMENT["tags"])
    for name in DOCUMENT["components"]["schemas"]:
        assert re.fullmatch(r"[A-Z][A-Za-z]+", name), name


def _schemas_within(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for key, inner in node.items():
            if key not in ("example", "examples"):
                yield from _schemas_within(inner)
    elif isinstance(node, list):
        for item in node:
            yield from _schemas_within(item)


def test_the_description_of_each_answer_is_a_whole_sentence() -> None:
    """The document describes an answer with the first line of the description of the answer's shape. This
    line must be a whole sentence."""
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                assert response.get("description", ".").endswith("."), (path, status)


def test_bounds_are_written_as_json_schema_has_them() -> None:
    for schema in _schemas_within([DOCUMENT["components"]["schemas"], DOCUMENT["paths"]]):
        for pydantic in ("ge", "gt", "le", "lt", "min_length", "max_length", "title", "$defs"):
            assert not isinstance(schema.get(pydantic), int | str), schema
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "limit":
                    assert {"minimum", "maximum", "default"} <= set(parameter["schema"]), path
                assert {"type", "$ref"} & set(parameter["schema"]), (path, parameter)


def test_each_webhook_is_a_signed_post() -> None:
    for webhook in DOCUMENT["webhooks"].values():
        names = {parameter["name"] for parameter in webhook["post"]["parameters"]}
        assert {"webhook-id", "webhook-timestamp", "webhook-signature"} <= names


def test_the_documents_fields_are_the_wires() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for draft, shown in (
        (DestinationDraft, "DestinationWithSecret"),
        (TemplateDestinationDraft, "DestinationWithSecret"),
        (RuleDraft, "RoutingRule"),
    ):
        written = set(schemas[draft.__name__]["properties"])
        assert written <= set(schemas[shown]["properties"])
        assert not any("_" in name for name in written)


def test_the_page_names_every_route_and_loads_nothing() -> None:
    class Reader(HTMLParser):
        outside: list[str] = []  # noqa: RUF012 - one test's

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag in ("script", "link", "img", "iframe"):
                self.outside.append(tag)
            self.outside += [str(value) for name, value in attrs if name == "src"]

    page = docs_html().decode()
    Reader().feed(page)
    assert Reader.outside == []
    for route in ROUTES:
        assert f"<code>{route.path}</code>" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_calls_by_curl_are_what_a_shell_takes() -> None:
    shown = with_words(DOCUMENT)
    for path, operations in shown["paths"].items():
        for method, operation in operations.items():
            words = shlex.split(curl(method, path, operation).replace("\\\n", " "))
            (target,) = [word for word in words if word.startswith("$URL")]
            assert "{" not in target
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query" and parameter.get("required"):
                    assert f"{parameter['name']}=" in target
            if "-d" in words:
                media = operation["requestBody"]["content"]["application/json"]
                assert json.loads(words[words.index("-d") + 1]) == media["example"]


def test_the_page_shows_prose_and_not_its_markdown() -> None:
    page = docs_html().decode()
    assert "`" not in page
    assert "<li>" in page
    assert "<code>X-Environment</code>" in page


def test_a_rejected_event_of_a_batch_looks_as_the_document_says() -> None:
    model = {"$ref": "#/components/schemas/Rejection", "components": DOCUMENT["components"]}
    error = {"code": "invalid_request", "message": "payload: must be an object"}
    jsonschema.validate(error, model)
    details = [{"path": "payload", "message": "must be an object"}]
    jsonschema.validate({**error, "details": details}, model)


def test_no_schema_has_the_name_of_anothers_constructor() -> None:
    """A generated Go client has a function `NewThing` for each schema `Thing`. A schema `NewThing` would
    collide with it."""
    names = set(DOCUMENT["components"]["schemas"])
    assert not {f"New{name}" for name in names} & names
