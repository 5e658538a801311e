"""The OpenAPI 3.1 document, made from the route table alone, so that it cannot differ from the code."""

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from api.routes import Route
from api.shapes import Error

DESCRIPTION = """\
Angarium takes events and delivers them to destinations: signed, in order where that was asked for, and
with nothing lost.

- JSON in camelCase, UTF-8. Timestamps are ISO 8601 in UTC with milliseconds and `Z`; ids are UUIDv7.
- A list is `{"items": [...], "nextCursor": ...}`, newest first. A cursor is opaque and good for its list.
- Unknown query parameters and unknown fields of a body are refused, by name.
- Every answer has `X-Request-Id` and the three `X-RateLimit-*` headers; every error is the same envelope.
- Whatever belongs to another workspace or environment is a 404.
- An API key fixes the environment. An MCP key names it: header `X-Environment`, or the query parameter
  `environment` where there is one.
"""
COMMON_ERRORS = {
    400: "The request is malformed: code `invalid_request`.",
    408: "The request did not arrive in time: `request_timeout`.",
    413: "The body is too large: `payload_too_large`.",
    415: "The body is not application/json, or is encoded: `unsupported_media_type`.",
    429: "The rate limit is used up: `rate_limited`, with Retry-After.",
    500: "A fault of the service: `internal`.",
    503: "The service cannot take this now: `overloaded`, with Retry-After.",
}
CREDENTIAL_ERRORS = {
    401: "No valid credential: `unauthorized`.",
    403: "The credential's scope does not allow this, or it belongs to another environment: `forbidden`.",
}
OTHER_ERRORS = {
    402: "The plan ends here: `plan_limit`.",
    404: "No such thing: `not_found`.",
    409: "What is there does not allow it: `conflict`.",
}
_RATE_HEADERS = {
    "X-Request-Id": ("string", "Names the request in logs."),
    "X-RateLimit-Limit": ("integer", "Requests allowed in the current window."),
    "X-RateLimit-Remaining": ("integer", "Requests left in the window."),
    "X-RateLimit-Reset": ("integer", "Unix epoch seconds when the window resets."),
}
_REFERENCE = "#/components/schemas/{model}"


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the document."""
    schemas, references = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Angarium",
            "version": _version(),
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": _errors(references),
            "headers": {
                name: {"description": text, "schema": {"type": kind}}
                for name, (kind, text) in _RATE_HEADERS.items()
            }
            | {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key (`ang_dev_...`, `ang_sta_...`, `ang_pro_...`) or an MCP "
                    "key (`angmk_...`).",
                }
            },
        },
    }


def _version() -> str:
    try:
        return version("angarium")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"


def _schemas(routes: Iterable[Route]) -> tuple[dict[str, Any], dict[Any, Any]]:
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Error, "validation")]
    for route in routes:
        used = [*route.responses.values()] + ([route.body] if route.body else [])
        models += [(model, "validation") for model in used if (model, "validation") not in models]
    by_model, definitions = models_json_schema(models, ref_template=_REFERENCE)
    references = {model: reference for (model, _), reference in by_model.items()}
    return _untitled(definitions["$defs"]), references


def _operation(route: Route, references: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
    }
    if route.description:
        operation["description"] = route.description
    if route.scopes is None:
        operation["security"] = []
    else:
        scopes = ", ".join(sorted(scope.name.lower() for scope in route.scopes))
        operation["x-scopes"] = sorted(scope.name.lower() for scope in route.scopes)
        operation["description"] = f"{route.description}\n\nScopes: {scopes}.".strip()
    parameters = _parameters(route)
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        media: dict[str, Any] = {"schema": references[route.body]}
        if route.example is not None:
            media["example"] = route.example
        operation["requestBody"] = {"required": True, "content": {"application/json": media}}
    elif route.action:
        empty = {"type": "object", "additionalProperties": False}
        operation["requestBody"] = {"content": {"application/json": {"schema": empty}}}
    operation["responses"] = _responses(route, references)
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "format": "uuid"},
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    schema = _untitled(route.query.model_json_schema())
    for name, property_ in schema.get("properties", {}).items():
        description = property_.pop("description", None)
        parameter = {"name": name, "in": "query", "schema": _without_null(property_)}
        if description:
            parameter["description"] = description
        parameters.append(parameter)
    if route.scopes is not None:
        names = ["DEVELOPMENT", "STAGING", "PRODUCTION"]
        parameters.append(
            {
                "name": "X-Environment",
                "in": "header",
                "description": "The environment that an MCP key works in.",
                "schema": {"type": "string", "enum": names},
            }
        )
    return parameters


def _responses(route: Route, references: dict[Any, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, model in route.responses.items():
        content = (
            {route.content_type: {"schema": {"type": "string"}}}
            if route.content_type != "application/json"
            else {"application/json": {"schema": references[model]}}
        )
        responses[str(status)] = {
            "description": _first_line(model),
            "headers": _header_references(),
            "content": content,
        }
    errors = [*COMMON_ERRORS, *route.refusals]
    if route.scopes is not None:
        errors += CREDENTIAL_ERRORS
    for status in sorted(errors):
        responses[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
    return responses


def _errors(references: dict[Any, Any]) -> dict[str, Any]:
    """Return what every error looks like, once for all routes."""
    responses = {}
    for status, text in {**COMMON_ERRORS, **CREDENTIAL_ERRORS, **OTHER_ERRORS}.items():
        headers = _header_references()
        if status in (429, 503):
            headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
        responses[f"Error{status}"] = {
            "description": text,
            "headers": headers,
            "content": {"application/json": {"schema": references[Error]}},
        }
    return responses


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or model.__name__).strip().splitlines()[0]


def _header_references() -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in _RATE_HEADERS}


def _untitled(schema: Any) -> Any:
    """Drop the titles that pydantic makes of names: they say nothing."""
    if isinstance(schema, dict):
        return {
            key: _untitled(value)
            for key, value in schema.items()
            if key != "title" or not isinstance(value, str)
        }
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null from an optional parameter's schema: a query string has none."""
    rest = {key: value for key, value in schema.items() if key not in ("default", "anyOf")}
    if schema.get("default") is not None:
        rest["default"] = schema["default"]
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    return (
        {**rest, **choices[0]}
        if len(choices) == 1
        else {**rest, **({"anyOf": choices} if choices else {})}
    )
