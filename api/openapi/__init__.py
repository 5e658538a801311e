"""The OpenAPI 3.1 document."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from api.openapi.components import error_responses, headers, plain, schemas_of, security_schemes
from api.openapi.examples import Examples
from api.openapi.operations import Operations
from api.openapi.prose import DESCRIPTION, TAGS, WEBHOOKS_TAG
from api.openapi.readable import used
from api.openapi.webhooks import OutboundEvent, webhooks
from api.routes import Route
from api.shapes import Error
from engine.model.version import VERSION


def document(
    routes: Sequence[Route], own_events: Mapping[str, type[BaseModel]] | None = None
) -> dict[str, Any]:
    """Return the document. `own_events` has the types of the events that Angarium itself makes, each type
    with the model of its payload."""
    own = own_events or {}
    models: list[Any] = [Error, OutboundEvent, *own.values()]
    for route in routes:
        models += [*route.responses.values()] + ([route.body] if route.body else [])
    schemas, references = schemas_of(models, _forms(routes))
    examples = Examples(schemas)
    operations = Operations(schemas, references, examples)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operations.of(route)
    tags = dict.fromkeys(route.tag for route in routes)
    if unknown := [tag for tag in tags if tag not in TAGS]:
        raise LookupError(f"add a description to TAGS in api/openapi/prose.py for {unknown}")
    sent, responses = webhooks(own, references, examples), error_responses()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Angarium",
            "version": VERSION,
            "summary": "Delivers events: signed, with retries, in order if configured.",
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The server that this document came from."}],
        "tags": [
            *({"name": tag, "description": TAGS[tag]} for tag in tags),
            {"name": "Webhooks", "description": WEBHOOKS_TAG},
        ],
        "security": [{"apiKey": []}, {"mcpKey": []}, {"embedSession": []}],
        "paths": paths,
        "webhooks": sent,
        "components": {
            "schemas": used(schemas, paths, sent, responses),
            "responses": responses,
            "headers": headers(),
            "securitySchemes": security_schemes(),
        },
    }


def _forms(routes: Sequence[Route]) -> dict[str, Any]:
    """Schemas without a title are left out."""
    schemas = [schema for route in routes for schema in route.body_schemas.values()]
    return {schema["title"]: plain(dict(schema)) for schema in schemas if "title" in schema}
