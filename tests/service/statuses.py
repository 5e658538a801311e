"""Requests that provoke each status of every endpoint, and the table of these statuses in docs/api.

`python -m tests.service.statuses` rewrites the table.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api.routes import ANY_TYPE, Embed, Route
from api.table import ROUTES
from api.uploading import JSON_BYTES
from engine.control.transforms import SOURCE_BYTES
from engine.core.vocabulary import Scope
from engine.model.hops import PURPOSE as HOPS
from engine.model.hops import Hops
from storage.encryption.secretbox import SecretBox
from tests.api.house import example_of

TABLE = Path(__file__).parents[2] / "docs" / "api" / "statuses.md"
NOBODY = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"  # an id that no object has
HOOK = "https://example.com/hooks"

# The statuses that part 4 of the specification requires of each endpoint. Endpoints can answer with other
# statuses too. The endpoints for files are left out.
SPECIFIED = """
GET /auth/context 200 401
POST /events 202 400 401
POST /events/batch 202 400 401
POST /destinations 201 400
GET /destinations 200
GET /destinations/{id} 200 404
PATCH /destinations/{id} 200 404
DELETE /destinations/{id} 200 404
POST /destinations/{id}/enable 200 404
POST /destinations/{id}/disable 200 404
POST /destinations/{id}/test 200 404
GET /destinations/{id}/health 200 404
GET /destinations/{id}/analytics 200 404
GET /destinations/{id}/deliveries 200
GET /deliveries 200
GET /deliveries/{id} 200 404
GET /events/{id}/deliveries 200
POST /routing-rules 201 400 404
GET /routing-rules 200
GET /routing-rules/{id} 200 404
PATCH /routing-rules/{id} 200 404
DELETE /routing-rules/{id} 200 404
POST /routing-rules/{id}/enable 200 404
POST /routing-rules/{id}/disable 200 404
POST /schemas 201 400
GET /schemas 200
GET /schemas/types/{eventType}/versions 200
GET /schemas/types/{eventType}/active 200 404
GET /schemas/{id} 200 404
POST /schemas/{id}/activate 200 400 404 409
POST /transform-scripts 201 400 402 404 413
GET /transform-scripts/{id} 200 404
POST /transform-scripts/{id}/publish 200 402 404
GET /destinations/{destinationId}/transform-scripts 200 404
POST /replay-jobs 201 400
GET /replay-jobs 200
GET /replay-jobs/{id} 200 404
POST /replay-jobs/{id}/cancel 200 400 404
GET /replay-jobs/{id}/progress 200 404
GET /dlq 200
GET /dlq/{deliveryId} 200 404
POST /dlq/{deliveryId}/retry 200 404
GET /observability/throughput 200
GET /audit-logs 200
GET /audit-logs/{id} 200 404
POST /embed/sessions 201 400
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A request to an operation, with the expected status and code.

    `target` is the request's path, in which `{name}` stands for the id of an object of the test's
    `World`. By default it is the operation's path, with the id of an object of `Shelf`. With `until`, the
    test repeats the request until the answer is the expected one. For a refusal by a rate limit, for
    example, the test first has to reach the limit.
    """

    operation: str
    status: int
    code: str = ""
    target: str = ""
    body: Any = None
    caller: str = "api"
    headers: dict[str, str] = field(default_factory=dict)
    until: bool = False


RULE = {"name": "r", "destinationId": "{destination}", "eventTypes": ["never"]}
EVENT = {"eventType": "of.nobody", "payload": {}}
FILE = {"content": "YQ==", "eventType": "of.nobody"}
SCHEMA = {"eventType": "of.schemas", "schema": {"type": "object"}}
SOURCE = "function transform(event) { return event; }"
SCRIPT = {"destinationId": "{destination}", "name": "s", "source": SOURCE}
TRIAL = {
    "destinationId": "{destination}",
    "source": SOURCE,
    "event": {"type": "of.nobody", "data": {}},
}

# Bodies that succeed, for operations whose example in the OpenAPI document would fail or change too much.
BODIES: dict[str, Any] = {
    "POST /events": EVENT,
    "POST /events/batch": {"events": [EVENT, {"payload": 1}]},
    "POST /files": FILE,
    "POST /destinations": {"name": "n", "url": HOOK},
    "PATCH /destinations/{id}": {"name": "m"},
    "POST /destination-templates/{id}/preview": {},
    "POST /routing-rules": RULE,
    "PATCH /routing-rules/{id}": {"name": "m"},
    "POST /routing-rules/preview": {"event": EVENT},
    "POST /schemas": SCHEMA,
    "POST /schemas/infer": {"eventType": "of.nobody"},
    "POST /transform-scripts": SCRIPT,
    "POST /transform-scripts/preview": TRIAL,
    "POST /transform-scripts/{id}/run": {"event": {"type": "of.nobody", "data": {}}},
    "POST /replay-jobs": {"destinationId": "{destination}"},
    "PATCH /replay-jobs/{id}": {"ratePerSecond": 7},
    "POST /deliveries/retry": {"destinationId": "{destination}", "dryRun": True},
    "POST /deliveries/cancel": {"destinationId": "{destination}", "dryRun": True},
    "POST /dlq/retry": {"destinationId": "{destination}", "dryRun": True},
    "POST /dlq/discard": {"destinationId": "{destination}", "dryRun": True},
    "PUT /customers/{externalId}": {"quotas": {"rules": 7}},
    "PATCH /workspace": {"branding": {"name": "Acme"}},
}
# The queries that operations need.
TARGETS = {
    "GET /lookup": "/lookup?q=x",
    "GET /observability/throughput": "/observability/throughput?environment=DEVELOPMENT",
}

# Request headers for partial and conditional answers, by status.
ASKING = {206: {"Range": "bytes=0-0"}, 304: {"If-None-Match": "*"}}

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
# The body and headers that provoke one status of an operation.
OF_STATUS: dict[tuple[str, int], dict[str, Any]] = {
    ("POST /mcp", 202): {"body": {"jsonrpc": "2.0", "method": "notifications/initialized"}},
    ("POST /mcp", 400): {"body": PING, "headers": {"MCP-Protocol-Version": "1999-12-31"}},
    ("POST /mcp", 404): {
        "body": {
            **PING,
            "method": "nothing",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            },
        },
        "headers": {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "nothing"},
    },
}

# The header that counts an event's way through this service. It says that the service has already
# delivered the event nine times. The service accepts at most eight times, so it refuses the event. The
# header is signed with the tests' key.
LOOPED = {
    "Angarium-Hops": Hops(SecretBox([b"k" * 32]).derived(HOPS), 8)
    .line(8)
    .partition(b": ")[2]
    .strip()
    .decode()
}

# Refusals that only some operations have, each for its own reason.
PARTICULAR = [
    *(
        Case(operation=operation, status=400, code="loop_detected", body=body, headers=LOOPED)
        for operation, body in (("POST /events", EVENT), ("POST /files", FILE))
    ),
    *(
        Case(operation=operation, status=400, code=code, body=body)
        for operation, code, body in (
            ("POST /events", "schema_violation", {"eventType": "of.active", "payload": {}}),
            (
                "POST /events",
                "idempotency_mismatch",
                {**EVENT, "idempotencyKey": "taken", "payload": {"other": 1}},
            ),
            ("POST /events", "invalid_request", {"eventType": "x"}),
            ("POST /files", "schema_violation", {**FILE, "eventType": "of.active"}),
            ("POST /files", "idempotency_mismatch", {**FILE, "idempotencyKey": "taken"}),
            ("POST /files", "invalid_request", {}),
            ("POST /events/batch", "invalid_request", {"events": []}),
            ("POST /events/batch", "invalid_request", {"events": [{"eventType": "x"}]}),
        )
    ),
    Case(
        operation="POST /events",
        status=404,
        code="not_found",
        body={**EVENT, "attachments": [{"source": {"kind": "FILE", "uri": NOBODY}}]},
    ),
    Case(
        operation="POST /destinations",
        status=402,
        code="plan_limit",
        caller="small",
        body={"name": "n", "url": HOOK},
    ),
    Case(
        operation="POST /destinations",
        status=404,
        code="not_found",
        body={"name": "n", "url": HOOK, "customerAccountId": NOBODY},
    ),
    Case(
        operation="POST /destinations",
        status=404,
        code="not_found",
        body={"name": "n", "templateId": "carrier-pigeon", "config": {}},
    ),
    Case(
        operation="POST /destinations",
        status=201,
        body={"name": "n", "templateId": "webhook", "config": {"url": HOOK}},
    ),
    Case(
        operation="POST /destination-templates/{id}/preview",
        status=404,
        code="not_found",
        body={"destinationId": NOBODY},
    ),
    Case(
        operation="POST /destination-templates/{id}/preview",
        status=404,
        code="not_found",
        body={"eventId": NOBODY},
    ),
    *(
        Case(
            operation=f"{method} /destinations/{{id}}{action}",
            status=409,
            code="conflict",
            target=f"/destinations/{{archived}}{action}",
            body={"name": "m"} if method == "PATCH" else {},
        )
        for method, action in (
            ("PATCH", ""),
            ("POST", "/enable"),
            ("POST", "/disable"),
            ("POST", "/test"),
        )
    ),
    Case(
        operation="POST /routing-rules",
        status=404,
        code="not_found",
        body={**RULE, "destinationId": NOBODY},
    ),
    Case(
        operation="POST /routing-rules",
        status=402,
        code="plan_limit",
        caller="small",
        body={**RULE, "destinationId": "{smalls}"},
    ),
    Case(
        operation="POST /routing-rules",
        status=409,
        code="conflict",
        body={**RULE, "destinationId": "{archived}"},
    ),
    Case(
        operation="PATCH /routing-rules/{id}",
        status=409,
        code="conflict",
        body={"destinationId": "{archived}"},
    ),
    Case(
        operation="POST /routing-rules/preview",
        status=404,
        code="not_found",
        body={"event": EVENT, "rule": {"eventTypes": ["*"], "destinationId": NOBODY}},
    ),
    Case(
        operation="POST /schemas/infer",
        status=404,
        code="not_found",
        body={"eventType": "never.sent"},
    ),
    Case(
        operation="POST /schemas/{id}/activate",
        status=409,
        code="conflict",
        target="/schemas/{active}/activate",
        body={},
    ),
    Case(
        operation="POST /schemas/{id}/deprecate",
        status=409,
        code="conflict",
        target="/schemas/{draft}/deprecate",
        body={},
    ),
    Case(
        operation="POST /transform-scripts",
        status=400,
        code="invalid_request",
        body={**SCRIPT, "source": "function transform("},
    ),
    Case(
        operation="POST /transform-scripts",
        status=413,
        code="payload_too_large",
        body={**SCRIPT, "source": "/" * (SOURCE_BYTES + 1)},
    ),
    Case(
        operation="POST /transform-scripts",
        status=404,
        code="not_found",
        body={**SCRIPT, "destinationId": NOBODY},
    ),
    Case(
        operation="POST /transform-scripts",
        status=402,
        code="plan_limit",
        caller="small",
        body={**SCRIPT, "destinationId": "{smalls}"},
    ),
    Case(
        operation="POST /transform-scripts",
        status=409,
        code="conflict",
        body={**SCRIPT, "destinationId": "{archived}"},
    ),
    Case(
        operation="POST /transform-scripts/preview",
        status=404,
        code="not_found",
        body={**TRIAL, "destinationId": NOBODY},
    ),
    Case(
        operation="POST /transform-scripts/preview",
        status=402,
        code="plan_limit",
        caller="small",
        body={**TRIAL, "destinationId": "{smalls}"},
    ),
    Case(
        operation="POST /transform-scripts/preview",
        status=409,
        code="conflict",
        body={**TRIAL, "destinationId": "{archived}"},
    ),
    Case(
        operation="POST /transform-scripts/{id}/publish",
        status=402,
        code="plan_limit",
        caller="lapsed",
        target="/transform-scripts/{lapsed_script}/publish",
        body={},
    ),
    *(
        Case(
            operation=f"{method} /transform-scripts/{{id}}{action}",
            status=409,
            code="conflict",
            target=f"/transform-scripts/{script}{action}",
            body={},
        )
        for method, script, action in (
            ("POST", "{archived_script}", "/publish"),
            ("POST", "{script}", "/unpublish"),
            ("DELETE", "{live_script}", ""),
        )
    ),
    *(
        Case(
            operation=f"GET {path}",
            status=416,
            code="range_not_satisfiable",
            headers={"Range": "bytes=99-"},
        )
        for path in ("/files/{id}/content", "/downloads/{token}")
    ),
    Case(
        operation="GET /files/{id}/content",
        status=409,
        code="conflict",
        target="/files/{pending_file}/content",
    ),
    *(
        Case(
            operation=f"POST /deliveries/{{id}}/{verb}",
            status=409,
            code="conflict",
            target=f"/deliveries/{{delivery}}/{verb}",
            body={},
        )
        for verb in ("retry", "cancel")
    ),
    Case(
        operation="POST /destinations/{id}/resume",
        status=409,
        code="conflict",
        target="/destinations/{archived}/resume",
        body={},
    ),
    Case(
        operation="POST /replay-jobs",
        status=404,
        code="not_found",
        body={"destinationId": NOBODY},
    ),
    Case(
        operation="POST /replay-jobs",
        status=409,
        code="conflict",
        body={"destinationId": "{archived}"},
    ),
    *(
        Case(operation=f"POST /deliveries/{verb}", status=status, code=code, body=body)
        for verb in ("retry", "cancel")
        for status, code, body in (
            (404, "not_found", {"destinationId": NOBODY}),
            (409, "conflict", {"destinationId": "{archived}"}),
        )
    ),
    Case(
        operation="PATCH /replay-jobs/{id}",
        status=409,
        code="conflict",
        target="/replay-jobs/{finished}",
        body={"ratePerSecond": 7},
    ),
    Case(
        operation="POST /replay-jobs/{id}/cancel",
        status=400,
        code="invalid_request",
        target="/replay-jobs/{finished}/cancel",
        body={},
    ),
    Case(
        operation="POST /dlq/{deliveryId}/retry",
        status=404,
        code="not_found",
        target="/dlq/{delivery}/retry",
        body={},
    ),
    Case(
        operation="POST /dlq/{deliveryId}/retry",
        status=409,
        code="conflict",
        target="/dlq/{dead_without_event}/retry",
        body={},
    ),
    Case(
        operation="POST /api-keys/{id}/rotate",
        status=409,
        code="conflict",
        target="/api-keys/{rotated}/rotate",
        body={},
    ),
    *(
        Case(
            operation=f"POST /dlq/{verb}",
            status=404,
            code="not_found",
            body={"destinationId": NOBODY},
        )
        for verb in ("retry", "discard")
    ),
]
# Answers that only a race causes. No request can provoke them reliably.
RACES = {
    ("DELETE /api-keys/{id}", 409): "others change the key at the very same moment",
    ("PUT /customers/{externalId}", 409): "others change the customer at the very same moment",
    ("PATCH /workspace", 409): "others change the settings at the very same moment",
}


def operation_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def general_cases(route: Route) -> list[Case]:
    """Return the cases that follow from a route's declaration. The successful requests come last, because
    some of them delete the object that the refused requests need."""
    name = operation_of(route)
    body = BODIES.get(name, {} if route.action else None)
    if route.body is not None and name not in BODIES:
        body = example_of(route.method, route.path)
    caller = "browser" if route.embed is Embed.ONLY else "api"
    guarded, ingesting = route.scopes is not None, route.handler is None
    cases = [
        Case(operation=name, status=405, code="method_not_allowed", target=f"TRACE {route.path}")
    ]
    if guarded:
        cases += [
            Case(operation=name, status=401, code="unauthorized", caller="nobody", body=body),
            Case(operation=name, status=429, code="rate_limited", caller="poor", until=True),
            Case(operation=name, status=403, code="forbidden", **_forbidden(route)),
        ]
    if ingesting:
        cases.append(Case(operation=name, status=400, code="invalid_request", body={}))
    else:
        query = TARGETS.get(name, route.path)
        target = query + ("&" if "?" in query else "?") + "bogus=1"
        cases.append(
            Case(
                operation=name,
                status=400,
                code="invalid_request",
                target=target,
                body=body,
                caller=caller,
            )
        )
    if route.body is not None or route.action:
        encoded = ANY_TYPE in route.content_types  # such a route takes any type unchanged
        wrong = {"Content-Encoding": "gzip"} if encoded else {"Content-Type": "text/plain"}
        cases += [
            Case(
                operation=name,
                status=415,
                code="unsupported_media_type",
                body=body,
                headers=wrong,
            ),
            Case(operation=name, status=413, code="payload_too_large", body=_too_large(route)),
        ]
    if 404 in route.refusals and "{" in route.path:
        target = re.sub(r"{\w+}", NOBODY, route.path)
        cases.append(Case(operation=name, status=404, code="not_found", target=target, body=body))
    for status in route.responses:
        asked = {
            "body": body,
            "headers": ASKING.get(status, {}),
            **OF_STATUS.get((name, status), {}),
        }
        target = TARGETS.get(name, "")
        cases.append(Case(operation=name, status=status, target=target, caller=caller, **asked))
    return cases


def _forbidden(route: Route) -> dict[str, Any]:
    assert route.scopes is not None
    if Scope.INGEST not in route.scopes:
        return {"caller": "ingester"}
    if Scope.READ not in route.scopes:
        return {"caller": "reader"}
    return {"headers": {"X-Environment": "PRODUCTION"}}


def _too_large(route: Route) -> bytes:
    # A route that streams has two limits: 25 MiB for raw bytes, and less for a JSON document. Only the
    # limit for JSON is tested, because a body of 25 MiB would be slow.
    return b" " * ((JSON_BYTES if route.streams else route.body_bytes) + 1)


def all_cases() -> list[Case]:
    general = [case for route in ROUTES for case in general_cases(route)]
    refusing = [case for case in general if case.status >= 400]
    return refusing + PARTICULAR + [case for case in general if case.status < 400]


def specified() -> dict[str, set[int]]:
    found = {}
    for line in SPECIFIED.strip().splitlines():
        method, path, *statuses = line.split()
        found[f"{method} {path}"] = {int(status) for status in statuses}
    return found


def provoked() -> dict[str, set[int]]:
    found: dict[str, set[int]] = {operation_of(route): set() for route in ROUTES}
    for case in all_cases():
        found[case.operation].add(case.status)
    return found


def table() -> str:
    by_operation = provoked()
    columns = sorted(set().union(*by_operation.values()))
    lines = [
        "# Every endpoint and its statuses",
        "",
        "This page is for developers who call the API. It lists the statuses that each endpoint can",
        "answer. A test provokes each status on a whole server (`tests/service/test_endpoints.py`). The",
        "**bold** statuses are the endpoint's main answers. The others are for special cases. Any",
        "endpoint can answer 408 and 500. While the service cannot work, endpoints answer 503.",
        "",
        f"| endpoint | {' | '.join(map(str, columns))} |",
        f"|---|{'---|' * len(columns)}",
    ]
    known = specified()
    for operation, statuses in by_operation.items():
        cells = [
            ("**✓**" if column in known.get(operation, ()) else "✓") if column in statuses else " "
            for column in columns
        ]
        lines.append(f"| `{operation}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table(), "utf-8")
