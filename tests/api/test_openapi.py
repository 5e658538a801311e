"""The document: valid, equal to the routes, and readable."""

import re
from html.parser import HTMLParser

import jsonschema
from openapi_spec_validator import validate

from api.routes import Route
from api.table import ROUTES, docs_html
from engine.control.drafts import DestinationDraft, RuleDraft
from tests.api.house import DOCUMENT, House


def test_the_document_is_valid() -> None:
    validate(DOCUMENT)


async def test_the_document_is_what_is_routed(house: House) -> None:
    documented = {
        (method.upper(), re.sub(r"{(\w+)}", r"<\1>", path))
        for path, operations in DOCUMENT["paths"].items()
        for method in operations
    }
    routed = {
        (method, rule.rule)
        for rule in house.app.url_map.iter_rules()
        for method in rule.methods or ()
        if method not in ("HEAD", "OPTIONS")
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


def test_examples_are_what_they_illustrate() -> None:
    for route in ROUTES:
        if route.example is not None:
            assert route.body is not None
            jsonschema.validate(route.example, _schema(route))


def _schema(route: Route) -> dict[str, object]:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return {**schema, "components": DOCUMENT["components"]}


def test_the_documents_fields_are_the_wires() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for draft, shown in ((DestinationDraft, "Destination"), (RuleDraft, "RoutingRule")):
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
