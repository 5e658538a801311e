"""The operation of a route in the document."""

import re
from typing import Any

from pydantic import BaseModel

from api.openapi.components import (
    EMPTY,
    RARE,
    REFERENCE,
    error_response,
    header_references,
    plain,
)
from api.openapi.examples import Examples
from api.openapi.vocabulary import sharing
from api.openapi.words import EVENT, PATHS
from api.routes import ANY_TYPE, JSON, Embed, Nothing, Route
from engine.core.vocabulary import Environment, Scope
from engine.model.errors import STATUS_OF_CODE
from engine.model.idempotency import PATTERN

ANY_ROUTE = (400, 408, 413, 415, 429, 500, 503)
CREDENTIAL = (401, 403)
NOT_MODIFIED = 304  # a success without content
OCTETS = "application/octet-stream"
_BYTES = {"type": "string", "description": "Bytes.", "example": "..."}
_UUID = {"type": "string", "format": "uuid"}

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same as `idempotencyKey`. If both are sent and differ, the answer is 400.",
    "schema": {"type": "string", "pattern": PATTERN},
    # The operation for a file upload has this header, and also the query parameter `idempotencyKey`.
    # Without `x-go-name`, oapi-codegen would give the header and the parameter the same name.
    "x-go-name": "IdempotencyKeyHeader",
}


class Operations:
    """A writer of operations, with the shapes of one document."""

    def __init__(
        self, schemas: dict[str, Any], references: dict[Any, Any], examples: Examples
    ) -> None:
        self._schemas = schemas
        self._references = references
        self._examples = examples

    def of(self, route: Route) -> dict[str, Any]:
        operation: dict[str, Any] = {
            "operationId": route.name,
            "summary": route.summary,
            "description": _description(route),
            "tags": [route.tag],
            "security": _security(route),
        }
        if route.scopes is not None:
            operation["x-scopes"] = sorted(scope.name.lower() for scope in route.scopes)
            operation["x-embed"] = route.embed.name.lower()
        parameters = self._parameters(route)
        if parameters:
            operation["parameters"] = parameters
        if route.body is not None:
            operation["requestBody"] = {
                "required": not route.action,
                "content": self._contents(route, route.body),
            }
        elif route.action:
            operation["requestBody"] = {
                "content": {"application/json": {"schema": {"$ref": EMPTY}, "example": {}}}
            }
        operation["responses"] = self._responses(route)
        return {key: value for key, value in operation.items() if value != ""}

    def _contents(self, route: Route, body: type[BaseModel]) -> dict[str, Any]:
        return {
            _named(kind): self._body(route, body) if kind == JSON else self._bytes(route, kind)
            for kind in route.content_types
        }

    def _bytes(self, route: Route, kind: str) -> dict[str, Any]:
        schema = dict(route.body_schemas.get(kind, _BYTES))
        if "title" in schema:
            schema = {"$ref": REFERENCE.format(model=schema["title"])}
        return {"schema": schema, "example": self._examples.of(schema)}

    def _body(self, route: Route, body: type[BaseModel]) -> dict[str, Any]:
        schema = self._references[body]
        example = self._examples.of(schema) if route.example is None else route.example
        return {"schema": schema, "example": example}

    def _parameters(self, route: Route) -> list[dict[str, Any]]:
        parameters = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": dict(schema),
                "example": self._named(route, name, schema),
            }
            for name, schema in path_parameters(route).items()
        ]
        schema = plain(route.query.model_json_schema(ref_template="{model}"))
        required = schema.get("required", ())
        for name, given in schema.get("properties", {}).items():
            property_ = _without_null(given)
            parameter: dict[str, Any] = {"name": name, "in": "query"}
            description = property_.pop("description", None)
            if description:
                parameter["description"] = description
            if name in required:
                parameter["required"] = True
            if given := property_.pop("examples", None):
                parameter["example"] = given[0]
            parameters.append({**parameter, "schema": sharing(property_)})
        if route.scopes is not None:
            parameters.append(_environment(route))
        if route.keyed:
            parameters.append(_KEY)
        return parameters

    def _named(self, route: Route, name: str, schema: dict[str, Any]) -> Any:
        if schema == _UUID:
            return PATHS.get(route.path.split("/")[1], EVENT)
        return self._examples.of(schema, name)

    def _responses(self, route: Route) -> dict[str, Any]:
        responses: dict[str, Any] = {}
        for status, model in route.responses.items():
            responses[str(status)] = {
                "description": self._first_line(model),
                "headers": header_references() | _own_headers(route),
            }
            if status != NOT_MODIFIED and model is not Nothing:
                kind = _named(route.content_type.partition(";")[0])
                responses[str(status)]["content"] = {kind: self._answer(route, model)}
        for status in statuses_of_errors(route):
            if status in route.responses:
                continue
            codes = _codes(route, status)
            shared = not RARE.intersection(codes)
            responses[str(status)] = (
                {"$ref": f"#/components/responses/Error{status}"}
                if shared
                else error_response(status, codes)
            )
        return responses

    def _first_line(self, model: Any) -> str:
        name = self._references[model]["$ref"].rpartition("/")[2]
        return str(self._schemas[name]["description"]).splitlines()[0]

    def _answer(self, route: Route, model: Any) -> dict[str, Any]:
        if route.content_type.startswith("text/html"):
            return {"schema": {"type": "string"}, "example": "<!doctype html>..."}
        if route.content_type != JSON:
            return {"schema": _BYTES, "example": "..."}
        schema = self._references[model]
        return {"schema": schema, "example": self._examples.of(schema)}


def _own_headers(route: Route) -> dict[str, Any]:
    return {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in route.answer_headers.items()
    }


def path_parameters(route: Route) -> dict[str, dict[str, Any]]:
    """Return the schema of each parameter in a route's path: the schema that the route states, by default
    a UUID."""
    return {
        name: dict(route.path_schemas.get(name, _UUID))
        for name in re.findall(r"{(\w+)}", route.path)
    }


def statuses_of_errors(route: Route) -> list[int]:
    """Return every error status of a route."""
    found = {*ANY_ROUTE, *route.refusals, *(STATUS_OF_CODE[code] for code in route.codes)}
    return sorted(found if route.scopes is None else found | set(CREDENTIAL))


def _codes(route: Route, status: int) -> list[str]:
    return [
        code
        for code, of in STATUS_OF_CODE.items()
        if of == status and (code not in RARE or code in route.codes)
    ]


def _description(route: Route) -> str:
    """The description includes the allowed callers."""
    if route.scopes is None:
        return route.description
    if route.embed is Embed.ONLY:
        return f"{route.description}\n\nFor embed sessions only: a key gets 403.".strip()
    scopes = " or ".join(f"`{scope.name.lower()}`" for scope in Scope if scope in route.scopes)
    who = f"Scope {scopes}" if len(route.scopes) < len(Scope) else "Any scope"
    sessions = {
        Embed.REFUSED: "not for embed sessions",
        Embed.OWN: "an embed session gets its customer's objects",
        Embed.SHARED: "embed sessions too",
    }[route.embed]
    if route.ability is not None:
        sessions += f", with the permission `{route.ability.value}` of its workspace"
    return f"{route.description}\n\n{who}; {sessions}.".strip()


def _security(route: Route) -> list[dict[str, list[str]]]:
    """One of the credentials is enough."""
    if route.scopes is None:
        return []
    if route.embed is Embed.ONLY:
        return [{"embedSession": []}]
    names = ["apiKey"]
    if route.scopes & {Scope.READ, Scope.MANAGE}:
        names.append("mcpKey")
    if route.embed is not Embed.REFUSED:
        names.append("embedSession")
    return [{name: []} for name in names]


def _environment(route: Route) -> dict[str, Any]:
    needed = "Required for MCP keys" if route.environment else "Optional for MCP keys"
    return {
        "name": "X-Environment",
        "in": "header",
        "description": f"The environment. {needed}. An API key gets 403 for another than its own.",
        "schema": sharing({"enum": [name.name for name in Environment]}),
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query string has no null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(choices) == 1:
        return {**choices[0], **rest}
    return {**rest, **({"anyOf": choices} if choices else {})}


def _named(kind: str) -> str:
    """Return the name of a media type in the document. Client generators do not support `*/*`, so
    application/octet-stream replaces `*/*`."""
    return OCTETS if kind == ANY_TYPE else kind
