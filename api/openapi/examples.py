"""Examples, made of schemas: the words of this service where a field has one, else what the bounds allow.

An explicit example (of a route or a field) always wins. Tests hold every example to its schema.
"""

from typing import Any

AT = "2026-11-20T12:00:00.000Z"
LATER = "2026-11-20T12:00:01.250Z"
EVENT = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
DESTINATION = "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01"
DELIVERY = "01939b2e-7d4d-7b11-8e64-0c9d3f5a7b22"
CUSTOMER = "01939b29-5e01-7d2f-a1b7-6c8e0f2a4d33"
RULE = "01939b2b-3c12-7e40-b2c8-7d9f1a3b5e44"
SCHEMA = "01939b2b-9a23-7f51-83d9-8eaf2b4c6f55"
JOB = "01939c10-0b34-7062-94ea-9fb03c5d7a66"
KEY = "01939b28-2c45-7173-a5fb-a0c14d6e8b77"
ENTRY = "01939b2c-4d56-7284-b60c-b1d25e7f9c88"
WORKSPACE = "01939b28-1b67-7395-871d-c2e36f80ad99"

# By field, or by model and field where the same field is another thing. None means null.
WORDS: dict[str, Any] = {
    "Attempt.errorMessage": None,
    "Attempt.responseBody": "ok",
    "Attempt.responseHeaders": {"content-type": "text/plain"},
    "AuthContext.customerAccountId": None,
    "AuthContext.customerExternalId": None,
    "AuthContext.expiresAt": None,
    "BatchEntry.error": None,
    "BatchEntry.index": 0,
    "Circuit.nextProbeAt": None,
    "Circuit.openedAt": None,
    "Destination.description": None,
    "Destination.signing": {"algorithm": "HMAC_SHA256"},
    "DestinationDraft.description": "What billing is told",
    "DestinationWithSecret.description": None,
    "DestinationWithSecret.signing": {"algorithm": "HMAC_SHA256"},
    "DestinationHealth.lastError": None,
    "DestinationHealth.lastFailureAt": None,
    "ErrorDetail.message": "is required",
    "ErrorDetail.path": "name",
    "Live.status": "ok",
    "Rejection.code": "invalid_request",
    "Rejection.message": "payload: must be an object",
    "OutboundEvent.type": "order.created",
    "SentRequest.body": '{"type":"order.created","timestamp":"2026-11-20T12:00:00.000Z","id":"'
    + EVENT
    + '","data":{"orderId":"o-1042","total":99.5}}',
    "SentRequest.headers": {
        "content-type": "application/json",
        "user-agent": "Angarium/0.1.0",
        "webhook-id": EVENT,
        "webhook-timestamp": "1795435200",
        "angarium-delivery-id": DELIVERY,
        "angarium-attempt": "1",
    },
    "TestResult.responseBody": "ok",
    "attemptCount": 1,
    "attachments": None,
    "code": "invalid_request",
    "concurrency": 8,
    "config": {},
    "contentType": "application/pdf",
    "correlationId": "checkout-7781",
    "customerAccountId": CUSTOMER,
    "customerExternalId": "acme",
    "data": {"orderId": "o-1042", "total": 99.5},
    "deliveredAt": LATER,
    "deliveries": 1,
    "deliveryId": DELIVERY,
    "deliveryIds": [DELIVERY],
    "description": "Orders of the shop",
    "destinationId": DESTINATION,
    "dlqStatus": None,
    "duplicate": False,
    "durationMs": 42,
    "environment": "DEVELOPMENT",
    "errorCategory": None,
    "errorMessage": None,
    "eventId": EVENT,
    "eventType": "order.created",
    "eventTypes": ["order.*"],
    "example": {"orderId": "o-1042", "total": 99.5},
    "fileName": "invoice.pdf",
    "fileType": "invoice",
    "filter": "event.payload.total > 50.0",
    "headers": {"X-Tenant": "42"},
    "idempotencyKey": "o-1042-created",
    "inFlight": 1,
    "isReplay": False,
    "keyId": KEY,
    "message": "name: is required",
    "metadata": {"shop": "berlin"},
    "name": "Orders",
    "nextAttemptAt": None,
    "nextCursor": None,
    "p50": 38,
    "p95": 90,
    "p99": 180,
    "path": "name",
    "payload": {"orderId": "o-1042", "total": 99.5},
    "period": "24h",
    "plan": "scale",
    "publicKey": "whpk_MCowBQYDK2VwAyEAbWFkZSB1cCwgbm90IGEga2V5IG9mIGFueW9uZQ==",
    "rateLimitPerSecond": None,
    "replayJobId": None,
    "replayOf": None,
    "requestId": "1f0c2a9b4e-5d",
    "responseStatus": 200,
    "responseTruncated": False,
    "restarts": 0,
    "retrySchedule": [5, 300, 1800],
    "secret": "whsec_bWFkZSB1cCwgbm90IGEgc2VjcmV0IG9mIGFueW9uZQ==",
    "sizeBytes": 48213,
    "source": "shop",
    "success": True,
    "successRate": 1.0,
    "templateId": None,
    "to": "2026-11-21T00:00:00.000Z",
    "uri": "https://files.example.com/invoice.pdf",
    "url": "https://example.com/hooks",
    "workspaceId": WORKSPACE,
    "workspaceName": "acme",
}
# What `id` is, by the beginning of a model's name: the longest that fits.
IDS = {
    "ApiKey": KEY,
    "Audit": ENTRY,
    "Delivery": DELIVERY,
    "Destination": DESTINATION,
    "Dlq": DELIVERY,
    "Key": KEY,
    "Replay": JOB,
    "RoutingRule": RULE,
    "Schema": SCHEMA,
}
_BY_FORMAT = {"date-time": AT, "uuid": EVENT, "uri": "https://example.com/hooks"}
_NOTHING = object()
_DEPTH = 12  # of nested shapes; ours have half of it


class Examples:
    """Makes examples of the schemas of one document."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def of(
        self, schema: dict[str, Any], field: str = "", model: str = "", depth: int = _DEPTH
    ) -> Any:
        """Return an example of a schema: of the field of that name, in the model of that name."""
        if depth == 0:
            return None
        if "examples" in schema or "example" in schema:
            return schema.get("example", schema.get("examples", [None])[0])
        word = _word(field, model)
        if word is not _NOTHING and self._fits(word, schema):
            return word
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self.of(self._schemas[name], field, name, depth - 1)
        for key in ("const", "default"):
            if schema.get(key) is not None:
                return schema[key]
        if "enum" in schema:
            return schema["enum"][0]
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            kept = [choice for choice in choices if choice != {"type": "null"}]
            return self.of((kept or choices)[0], field, model, depth)
        return self._plain(schema, field, model, depth)

    def _plain(self, schema: dict[str, Any], field: str, model: str, depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object":
            made = {
                name: self.of(property_, name, model, depth - 1)
                for name, property_ in schema.get("properties", {}).items()
            }
            required = schema.get("required", ())  # what may be left out is, rather than null
            return {name: it for name, it in made.items() if it is not None or name in required}
        if kind == "array":
            return [self.of(schema.get("items", {}), field, model, depth - 1)]
        if kind == "string":
            return _BY_FORMAT.get(schema.get("format", ""), "x" * schema.get("minLength", 1))
        if kind in ("integer", "number"):
            return max(1, schema.get("minimum", 1))
        return {"boolean": True, "null": None}.get(kind or "", {})

    def _fits(self, word: Any, schema: dict[str, Any]) -> bool:
        """Whether a word is of the schema's type, so far as can be told without validating."""
        if "$ref" in schema:
            return self._fits(word, self._schemas[schema["$ref"].rpartition("/")[2]])
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return any(self._fits(word, choice) for choice in choices)
        if "enum" in schema:
            return word in schema["enum"]
        if "const" in schema:
            return bool(word == schema["const"])
        kind = schema.get("type")
        if kind == "object" and "properties" in schema:
            return isinstance(word, dict) and set(word) <= set(schema["properties"])
        return kind is None or _type_of(word) == kind or (kind == "number" and _is_number(word))


def _word(field: str, model: str) -> Any:
    if f"{model}.{field}" in WORDS:
        return WORDS[f"{model}.{field}"]
    if field == "id":
        known = [prefix for prefix in IDS if model.startswith(prefix)]
        return IDS[max(known, key=len)] if known else EVENT
    return WORDS.get(field, _NOTHING)


def _is_number(word: Any) -> bool:
    return isinstance(word, int | float) and not isinstance(word, bool)


def _type_of(word: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if word is None else names.get(type(word), "object")
