"""The OpenAPI document as one HTML page. It has no scripts, loads nothing from other sites, and escapes
all text."""

from html import escape
from typing import Any

from api.docs_page.markup import STYLE, anchor, block, code, inline, pretty, prose, table
from api.docs_page.operations import OperationsView
from api.docs_page.shapes import shapes, with_words

_START = """\
URL=https://angarium.example.com
KEY=ang_dev_...   # from angarium keys create, shown once
SESSION=...       # the token of an embed session, where only sessions may call"""


def page_of(document: dict[str, Any]) -> str:
    """Return the page of a document."""
    document = with_words(document)
    info = document["info"]
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{STYLE}</style></head>"
        f'<body><div class="frame">{_navigation(document)}<main>'
        f"<h1>{escape(info['title'])} API <small>{escape(info['version'])}</small></h1>"
        f"{prose(info['description'])}"
        '<p>For programs, the OpenAPI 3.1 document: <a href="/openapi.json">openapi.json</a></p>'
        f"{_credentials(document)}{_sections(document)}{_errors(document)}{shapes(document)}"
        "</main></div></body></html>\n"
    )


def _navigation(document: dict[str, Any]) -> str:
    parts = ['<nav><ul><li><a href="#credentials">Credentials</a></li></ul>']
    for tag in document["tags"]:
        items = [
            f'<li><a href="#{escape(operation["operationId"])}">'
            f'<span class="method {escape(method)}">{escape(method.upper())}</span>'
            f"<span>{escape(operation['summary'])}</span></a></li>"
            for method, _, operation in _operations(document, tag["name"])
        ]
        name = escape(tag["name"])
        parts.append(f'<h2><a href="#{anchor(name)}">{name}</a></h2><ul>{"".join(items)}</ul>')
    more = '<li><a href="#errors">Errors</a></li><li><a href="#shapes">Shapes</a></li>'
    return f"{''.join(parts)}<h2>Reference</h2><ul>{more}</ul></nav>"


def _operations(document: dict[str, Any], tag: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for group in ("paths", "webhooks")
        for path, methods in document.get(group, {}).items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    ]


def _sections(document: dict[str, Any]) -> str:
    view = OperationsView(document)
    parts = []
    for tag in document["tags"]:
        name = escape(tag["name"])
        parts.append(f'<h2 id="{anchor(name)}">{name}</h2>{prose(tag["description"])}')
        for method, path, operation in _operations(document, tag["name"]):
            shown = path in document["paths"]
            parts.append(
                view.of(method, path, operation) if shown else view.webhook(path, operation)
            )
    return "".join(parts)


def _credentials(document: dict[str, Any]) -> str:
    schemes = document["components"]["securitySchemes"]
    rows = [(code(name), inline(scheme["description"])) for name, scheme in schemes.items()]
    advice = "Send every credential in the same header: <code>Authorization: Bearer ...</code>"
    return (
        f'<h2 id="credentials">Credentials</h2><p>{advice}</p>{table(rows)}'
        f"<p>The examples read it, and the service's address, from shell variables:</p>{block(_START)}"
    )


def _errors(document: dict[str, Any]) -> str:
    parts = []
    for name, response in document["components"]["responses"].items():
        status = name.removeprefix("Error")
        media = response["content"]["application/json"]
        shown = "".join(block(pretty(given["value"])) for given in media["examples"].values())
        parts.append(
            f'<article id="error-{escape(status)}"><h3>{escape(status)}</h3>'
            f'<div class="sides"><div>{prose(response["description"])}</div>'
            f"<div>{shown}</div></div></article>"
        )
    return f'<h2 id="errors">Errors</h2>{"".join(parts)}'
