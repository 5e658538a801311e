"""The client and the OpenAPI document say the same of operations, parameters, fields, types and words."""

import inspect
import json
import re
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints

import httpx
import pytest

import angarium
from angarium import filters, shapes
from angarium.calls import camel
from api.table import openapi_json
from tests.client import kinds

DOCUMENT = json.loads(openapi_json())
SCHEMAS = DOCUMENT["components"]["schemas"]
ID = "0197a000-0000-7000-8000-000000000000"

# Operations that no method is for: what a client has no use of, or not yet.
LEFT_OUT = {
    "/livez",
    "/readyz",
    "/openapi.json",
    "/docs",
    "/files/{id}/content",  # there is one: `files.content`, whose answer is no JSON
    "/downloads/{token}",  # a URL that is given out whole, to those who have no key
}

# operation -> (how it is called, the type of its answer, or of the items of its page)
CALLS: dict[str, tuple[Any, Any]] = {
    "GET /auth/context": (lambda c: c.auth_context(), shapes.AuthContext),
    "GET /api-keys": (lambda c: c.api_keys.list(), shapes.ApiKey),
    "POST /api-keys": (lambda c: c.api_keys.create("n", "read"), shapes.ApiKey),
    "POST /api-keys/{id}/rotate": (lambda c: c.api_keys.rotate(ID), shapes.ApiKey),
    "DELETE /api-keys/{id}": (lambda c: c.api_keys.revoke(ID), shapes.Success),
    "POST /embed/sessions": (lambda c: c.embed_sessions.create("x"), shapes.EmbedSession),
    "GET /embed/context": (lambda c: c.embed_sessions.context(), shapes.EmbedContext),
    "GET /customers/{externalId}": (lambda c: c.customers.get("x"), shapes.Customer),
    "PUT /customers/{externalId}": (lambda c: c.customers.put("x"), shapes.Customer),
    "GET /workspace": (lambda c: c.workspace.get(), shapes.Workspace),
    "PATCH /workspace": (lambda c: c.workspace.update({}), shapes.Workspace),
    "POST /events": (lambda c: c.events.send("a.b", {}), shapes.Accepted),
    "POST /events/batch": (lambda c: c.events.send_batch([]), shapes.BatchAccepted),
    "GET /events": (lambda c: c.events.list(), shapes.EventItem),
    "GET /events/{id}": (lambda c: c.events.get(ID), shapes.Event),
    "GET /events/{id}/deliveries": (lambda c: list(c.events.deliveries(ID)), shapes.Delivery),
    "POST /files": (lambda c: c.files.create(b""), shapes.FileReceipt),
    "GET /files": (lambda c: c.files.list(), shapes.File),
    "GET /files/{id}": (lambda c: c.files.get(ID), shapes.File),
    "POST /destinations": (lambda c: c.destinations.create("n", "u"), shapes.Destination),
    "GET /destinations": (lambda c: c.destinations.list(), shapes.Destination),
    "GET /destinations/{id}": (lambda c: c.destinations.get(ID), shapes.Destination),
    "PATCH /destinations/{id}": (lambda c: c.destinations.update(ID, {}), shapes.Destination),
    "DELETE /destinations/{id}": (lambda c: c.destinations.archive(ID), shapes.Success),
    "POST /destinations/{id}/enable": (lambda c: c.destinations.enable(ID), shapes.Destination),
    "POST /destinations/{id}/disable": (lambda c: c.destinations.disable(ID), shapes.Destination),
    "POST /destinations/{id}/test": (lambda c: c.destinations.test(ID), shapes.TestResult),
    "GET /destinations/{id}/health": (lambda c: c.destinations.health(ID), shapes.Health),
    "GET /destinations/{id}/analytics": (lambda c: c.destinations.analytics(ID), shapes.Analytics),
    "GET /destinations/{id}/deliveries": (
        lambda c: list(c.destinations.deliveries(ID)),
        shapes.Delivery,
    ),
    "GET /destination-templates": (lambda c: c.templates.list(), shapes.DestinationTemplate),
    "GET /destination-templates/{id}": (
        lambda c: c.templates.get("slack"),
        shapes.DestinationTemplate,
    ),
    "POST /destination-templates/{id}/preview": (
        lambda c: c.templates.preview("slack"),
        shapes.TemplatePreview,
    ),
    "POST /routing-rules": (lambda c: c.routing_rules.create("n", ID, ["*"]), shapes.RoutingRule),
    "GET /routing-rules": (lambda c: c.routing_rules.list(), shapes.RoutingRule),
    "GET /routing-rules/{id}": (lambda c: c.routing_rules.get(ID), shapes.RoutingRule),
    "PATCH /routing-rules/{id}": (lambda c: c.routing_rules.update(ID, {}), shapes.RoutingRule),
    "DELETE /routing-rules/{id}": (lambda c: c.routing_rules.delete(ID), shapes.Success),
    "POST /routing-rules/{id}/enable": (lambda c: c.routing_rules.enable(ID), shapes.RoutingRule),
    "POST /routing-rules/{id}/disable": (lambda c: c.routing_rules.disable(ID), shapes.RoutingRule),
    "POST /routing-rules/preview": (lambda c: c.routing_rules.preview({}), shapes.RulePreview),
    "GET /deliveries": (lambda c: c.deliveries.list(), shapes.Delivery),
    "GET /deliveries/{id}": (lambda c: c.deliveries.get(ID), shapes.DeliveryDetail),
    "GET /deliveries/{id}/attempts": (lambda c: c.deliveries.attempts(ID), shapes.Attempt),
    "GET /dlq": (lambda c: c.dlq.list(), shapes.DlqEntry),
    "GET /dlq/{deliveryId}": (lambda c: c.dlq.get(ID), shapes.DlqEntry),
    "POST /dlq/{deliveryId}/retry": (lambda c: c.dlq.retry(ID), shapes.Requeued),
    "POST /dlq/retry": (lambda c: c.dlq.retry_all(destination_id=ID), shapes.BulkRetry),
    "POST /dlq/discard": (lambda c: c.dlq.discard_all(destination_id=ID), shapes.BulkDiscard),
    "POST /schemas": (lambda c: c.schemas.create("a.b", {}), shapes.SchemaVersion),
    "GET /schemas": (lambda c: c.schemas.list(), shapes.SchemaVersion),
    "GET /schemas/{id}": (lambda c: c.schemas.get(ID), shapes.SchemaVersion),
    "POST /schemas/{id}/activate": (lambda c: c.schemas.activate(ID), shapes.SchemaVersion),
    "POST /schemas/{id}/deprecate": (lambda c: c.schemas.deprecate(ID), shapes.SchemaVersion),
    "POST /schemas/infer": (lambda c: c.schemas.infer("a.b"), shapes.InferredSchema),
    "GET /schemas/types/{eventType}/versions": (
        lambda c: list(c.schemas.versions("a/b")),
        shapes.SchemaVersion,
    ),
    "GET /schemas/types/{eventType}/active": (
        lambda c: c.schemas.active("a/b"),
        shapes.SchemaVersion,
    ),
    "POST /transform-scripts": (
        lambda c: c.transform_scripts.create(ID, "n", "s"),
        shapes.TransformScript,
    ),
    "GET /destinations/{destinationId}/transform-scripts": (
        lambda c: list(c.transform_scripts.of_destination(ID)),
        shapes.TransformScript,
    ),
    "GET /transform-scripts/{id}": (
        lambda c: c.transform_scripts.get(ID),
        shapes.TransformScript,
    ),
    "DELETE /transform-scripts/{id}": (lambda c: c.transform_scripts.delete(ID), shapes.Success),
    "POST /transform-scripts/{id}/publish": (
        lambda c: c.transform_scripts.publish(ID),
        shapes.TransformScript,
    ),
    "POST /transform-scripts/{id}/unpublish": (
        lambda c: c.transform_scripts.unpublish(ID),
        shapes.TransformScript,
    ),
    "POST /transform-scripts/{id}/run": (
        lambda c: c.transform_scripts.run(ID, {}),
        shapes.TransformRun,
    ),
    "POST /replay-jobs": (
        lambda c: c.replay_jobs.create(destination_id=ID),
        shapes.ReplayJobDetail,
    ),
    "GET /replay-jobs": (lambda c: c.replay_jobs.list(), shapes.ReplayJob),
    "GET /replay-jobs/{id}": (lambda c: c.replay_jobs.get(ID), shapes.ReplayJobDetail),
    "POST /replay-jobs/{id}/cancel": (lambda c: c.replay_jobs.cancel(ID), shapes.ReplayJobDetail),
    "GET /replay-jobs/{id}/progress": (lambda c: c.replay_jobs.progress(ID), shapes.ReplayProgress),
    "GET /audit-logs": (lambda c: c.audit_logs.list(), shapes.AuditEntry),
    "GET /audit-logs/{id}": (lambda c: c.audit_logs.get(ID), shapes.AuditEntry),
    "GET /observability/throughput": (lambda c: c.throughput("STAGING"), shapes.Throughput),
}
# Answers that the document describes by their drafts: null, the default there, is never answered.
DRAFTED = {shapes.CustomerMay, shapes.Workspace}
# list -> what it can be narrowed by
FILTERS: dict[str, Any] = {
    "GET /events": filters.EventFilter,
    "GET /files": filters.FileFilter,
    "GET /destinations": filters.DestinationFilter,
    "GET /routing-rules": filters.RuleFilter,
    "GET /deliveries": filters.DeliveryFilter,
    "GET /dlq": filters.DlqFilter,
    "GET /schemas": filters.SchemaFilter,
    "GET /replay-jobs": filters.ReplayFilter,
    "GET /audit-logs": filters.AuditFilter,
}


def operations() -> dict[str, Any]:
    return {
        f"{method.upper()} {path}": operation
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
        if method in ("get", "post", "patch", "put", "delete") and path not in LEFT_OUT
    }


OPERATIONS = operations()


def resolved(schema: Any) -> Any:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def answer_of(name: str) -> Any:
    """Return the schema of an operation's success, or of the items of its page."""
    (status,) = (code for code in OPERATIONS[name]["responses"] if code.startswith("2"))
    content = OPERATIONS[name]["responses"][status]["content"]["application/json"]["schema"]
    schema = resolved(content)
    for choice in schema.get("anyOf", []):
        if resolved(choice).get("type") == "object":
            schema = resolved(choice)
    if set(schema.get("properties", {})) == {"items", "nextCursor"}:
        return resolved(schema["properties"]["items"]["items"])
    return schema


def fields_of(shape: Any) -> dict[str, Any]:
    return {
        name: get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint
        for name, hint in get_type_hints(shape, include_extras=True).items()
    }


def compare(shape: Any, schema: Any, place: str) -> None:
    """Fail where a type and a schema have other fields, or fields of another kind, also nested ones."""
    ours, theirs = fields_of(shape), resolved(schema)["properties"]
    assert set(ours) - {"secret"} == set(theirs) - {"secret"}, place
    for name, hint in ours.items():
        if name in theirs:
            never = (
                kinds.NOTHING
                if shape in DRAFTED and not kind(hint) & kinds.NOTHING
                else frozenset()
            )
            assert kind(hint) == told(theirs[name]) - never, f"{place}.{name}"
        for part in [hint, *get_args(hint), *(a for p in get_args(hint) for a in get_args(p))]:
            if isinstance(part, type) and hasattr(part, "__total__"):
                for nested in objects(theirs.get(name, {})):
                    compare(part, nested, f"{place}.{name}")


kind = kinds.of_hint


def told(schema: Any) -> kinds.Kind:
    return kinds.of_schema(schema, resolved)


def objects(schema: Any) -> list[Any]:
    """Return the objects that a schema names: itself, its choices, its items."""
    schema = resolved(schema)
    found = [schema] if "properties" in schema else []
    for choice in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
        found += objects(choice)
    if "items" in schema:
        found += objects(schema["items"])
    return found


def test_every_operation_has_its_method() -> None:
    assert set(OPERATIONS) <= set(CALLS), "operations that the client does not have"


@pytest.mark.parametrize("name", sorted(set(CALLS) & set(OPERATIONS)))
def test_the_method_asks_what_the_document_has_and_its_type_is_the_answers(name: str) -> None:
    use, shape = CALLS[name]
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"items": [], "nextCursor": None})

    with angarium.Client("http://a", "k", transport=httpx.MockTransport(answer)) as client:
        use(client)
    (request,) = asked
    method, template = name.split()
    path = request.url.raw_path.decode().partition("?")[0]
    assert request.method == method
    assert re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path), path
    parameters = {p["name"] for p in map(parameter, OPERATIONS[name].get("parameters", []))}
    assert set(request.url.params) <= parameters
    compare(shape, answer_of(name), name)


def parameter(given: Any) -> Any:
    if "$ref" in given:
        return DOCUMENT["components"]["parameters"][given["$ref"].rpartition("/")[2]]
    return given


@pytest.mark.parametrize("name", sorted(set(FILTERS) & set(OPERATIONS)))
def test_every_filter_of_a_list_can_be_given(name: str) -> None:
    theirs = {
        p["name"]: told(p["schema"])
        for p in map(parameter, OPERATIONS[name]["parameters"])
        if p["in"] == "query"
    }
    ours = {camel(field): kind(hint) for field, hint in get_type_hints(FILTERS[name]).items()}
    assert theirs.keys() - {"cursor", "limit", "environment"} == ours.keys() - {"environment"}
    for field in ours.keys() & theirs.keys():
        assert ours[field] == theirs[field] | kinds.NOTHING, field


@pytest.mark.parametrize(
    ("name", "method", "fields"),
    [
        ("POST /api-keys", "api_keys.create", {}),
        ("POST /embed/sessions", "embed_sessions.create", {}),
        ("POST /destinations", "destinations.create", {}),
        ("POST /destinations#1", "destinations.create_from_template", {}),
        ("POST /destination-templates/{id}/preview", "templates.preview", {}),
        ("POST /routing-rules", "routing_rules.create", {}),
        ("POST /schemas", "schemas.create", {}),
        ("POST /schemas/infer", "schemas.infer", {}),
        ("POST /transform-scripts", "transform_scripts.create", {}),
        ("POST /transform-scripts/{id}/run", "transform_scripts.run", {}),
        ("POST /replay-jobs", "replay_jobs.create", {}),
        ("POST /routing-rules/preview", "routing_rules.preview", {}),
        ("POST /dlq/retry", "dlq.retry_all", filters.DlqFilter),
        ("POST /dlq/discard", "dlq.discard_all", filters.DlqFilter),
        ("POST /events", "events.send", {}),
        ("PATCH /destinations/{id}", shapes.DestinationChange, {}),
        ("PATCH /routing-rules/{id}", shapes.RuleChange, {}),
        ("PATCH /workspace", shapes.WorkspaceChange, {}),
    ],
)
def test_every_field_of_a_body_can_be_given(name: str, method: Any, fields: Any) -> None:
    name, _, form = name.partition("#")  # of the forms that a body has, where there are several
    if name not in OPERATIONS:
        pytest.fail(f"{name} is not in the document")
    schema = resolved(OPERATIONS[name]["requestBody"]["content"])
    (media,) = (content for kind, content in schema.items() if "json" in kind)
    theirs = objects(media["schema"])[int(form or 0)]["properties"]
    if isinstance(method, str):
        client = angarium.Client("http://a", "k")
        resource, _, verb = method.partition(".")
        function = getattr(getattr(client, resource), verb)
        hints = get_type_hints(function)
        named = [field for field in inspect.signature(function).parameters if field != "chosen"]
        # what is named comes first
        ours = {camel(field): hints[field] for field in named[name.count("{") :]}
        client.close()
    else:
        ours = get_type_hints(method)
    if fields:
        ours |= {camel(field): hint for field, hint in get_type_hints(fields).items()}
    patch = name.startswith("PATCH")
    fixed = {"customerExternalId", "customerAccountId", "templateId"} if patch else set()
    assert theirs.keys() - ours.keys() - fixed == set(), "fields that cannot be given"
    assert ours.keys() - theirs.keys() - {"since", "until"} == set(), "fields the API does not know"
    for field in ours.keys() & theirs.keys():
        given, taken = kinds.opened(kind(ours[field])), kinds.opened(told(theirs[field]))
        assert given - kinds.NOTHING == taken - kinds.NOTHING, field
        if patch:  # a create leaves out what is null
            assert given <= taken, f"{field} cannot be null"
