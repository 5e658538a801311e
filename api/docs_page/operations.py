"""The view of one operation."""

import json
from html import escape
from typing import Any

from api.docs_page.markup import block, code, inline, pretty, prose, table
from api.docs_page.shapes import about, fields, kind


class OperationsView:
    """The display of a document's operations."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def of(self, method: str, path: str, operation: dict[str, Any]) -> str:
        return f"{_headline(operation)}{self.call(method, path, operation)}</article>"

    def call(self, method: str, path: str, operation: dict[str, Any]) -> str:
        return (
            f"{_line(method, path)}"
            f"{prose(operation.get('description', ''))}"
            f'<div class="sides"><div>{self._takes(operation)}{self._errors(operation)}</div>'
            f"<div><h4>Request</h4>{block(curl(method, path, operation))}"
            f"{self._answers(operation)}</div></div>"
        )

    def webhook(self, name: str, operation: dict[str, Any]) -> str:
        return f"{_headline(operation)}{self.request('post', name, operation)}</article>"

    def request(self, method: str, name: str, operation: dict[str, Any]) -> str:
        media = operation["requestBody"]["content"]["application/json"]
        lines = [f"{each['name']}: {each['example']}" for each in operation["parameters"]]
        rows = [
            (code(status), inline(answer["description"]))
            for status, answer in operation["responses"].items()
        ]
        return (
            f"{_line(method, name)}{prose(operation['description'])}"
            f'<div class="sides"><div>{self._takes(operation)}<h4>The meaning of your answer</h4>'
            f"{table(rows)}</div><div><h4>Request</h4>"
            f"{block(chr(10).join([*lines, '', pretty(media['example'])]))}</div></div>"
        )

    def _takes(self, operation: dict[str, Any]) -> str:
        parts = []
        for where, title in (("path", "Path"), ("query", "Query"), ("header", "Headers")):
            rows = [
                (f"{code(each['name'])}{_needed(each)}", about(_described(each)))
                for each in operation.get("parameters", ())
                if each["in"] == where
            ]
            parts.append(f"<h4>{title}</h4>{table(rows)}" if rows else "")
        schema = _json(operation.get("requestBody", {})).get("schema")
        if schema is not None:
            parts.append(f"<h4>Body {kind(schema) if '$ref' in schema else ''}</h4>")
            parts.append(
                fields(self._resolved(schema), needed=True) or _words(self._resolved(schema))
            )
        return "".join(parts)

    def _answers(self, operation: dict[str, Any]) -> str:
        parts = []
        for status, response in operation["responses"].items():
            if status >= "400":
                continue
            media = _json(response)
            shape = kind(media["schema"]) if media else ""
            shown = block(pretty(media["example"])) if "example" in media else ""
            parts.append(f"<h4>Answer {escape(status)}: {shape}</h4>{shown}")
        return "".join(parts)

    def _errors(self, operation: dict[str, Any]) -> str:
        rows = []
        for status, given in operation["responses"].items():
            if status >= "400":
                response = self._resolved(given)
                link = f'<a href="#errors"><code>{escape(status)}</code></a>'
                rows.append((link, inline(response["description"])))
        return f"<details><summary>Errors</summary>{table(rows)}</details>" if rows else ""

    def _resolved(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = given
        while "$ref" in found:
            node: Any = self._document
            for part in found["$ref"].removeprefix("#/").split("/"):
                node = node[part]
            found = node
        return found


def curl(method: str, path: str, operation: dict[str, Any]) -> str:
    """Return an example call for a shell."""
    target = path
    for each in operation.get("parameters", ()):
        if each["in"] == "path":
            target = target.replace(f"{{{each['name']}}}", str(each.get("example", "")))
    query = [
        f"{each['name']}={each.get('example', each['schema'].get('enum', [''])[0])}"
        for each in operation.get("parameters", ())
        if each["in"] == "query" and each.get("required")
    ]
    target += f"?{'&'.join(query)}" if query else ""
    verb = "" if method == "get" else f"-X {method.upper()} "
    lines = [f"curl -sS {verb}$URL{target}"]
    if security := operation.get("security"):
        variable = "SESSION" if security == [{"embedSession": []}] else "KEY"
        lines.append(f'-H "Authorization: Bearer ${variable}"')
    media = _json(operation.get("requestBody", {}))
    if media and media["example"] != {}:
        body = pretty(media["example"]).replace("'", "'\\''")
        lines += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
    return " \\\n  ".join(lines)


def _headline(operation: dict[str, Any]) -> str:
    identifier, summary = escape(operation["operationId"]), escape(operation["summary"])
    return f'<article id="{identifier}"><h3>{summary}</h3>'


def _line(method: str, path: str) -> str:
    return (
        f'<p class="line"><span class="method {escape(method)}">{escape(method.upper())}</span> '
        f"{code(path)}</p>"
    )


def _json(holder: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = holder.get("content", {}).get("application/json", {})
    return found


def _needed(parameter: dict[str, Any]) -> str:
    required = parameter.get("required") and parameter["in"] != "path"
    return ' <span class="needed">required</span>' if required else ""


def _described(parameter: dict[str, Any]) -> dict[str, Any]:
    return {**parameter["schema"], "description": parameter.get("description", "")}


def _words(schema: dict[str, Any]) -> str:
    return f"<p>{inline(schema.get('description', json.dumps(schema.get('type', 'any'))))}</p>"
