"""The values of fields in the document's examples. A value for a field of certain models comes before a
value for all fields of that name. None means null. This module has only data."""

from typing import Any

AT = "2026-11-20T12:00:00.000Z"
LATER = "2026-11-20T12:00:01.250Z"
EVENT = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
FILE = "01939b2e-7d4b-7c90-a1d2-4e6f8a0b2c11"
DESTINATION = "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01"
DELIVERY = "01939b2e-7d4d-7b11-8e64-0c9d3f5a7b22"
CUSTOMER = "01939b29-5e01-7d2f-a1b7-6c8e0f2a4d33"
RULE = "01939b2b-3c12-7e40-b2c8-7d9f1a3b5e44"
SCHEMA = "01939b2b-9a23-7f51-83d9-8eaf2b4c6f55"
JOB = "01939c10-0b34-7062-94ea-9fb03c5d7a66"
KEY = "01939b28-2c45-7173-a5fb-a0c14d6e8b77"
SCRIPT = "01939b2b-5d67-7495-a71e-d3e46f70bc99"
ENTRY = "01939b2c-4d56-7284-b60c-b1d25e7f9c88"
WORKSPACE = "01939b28-1b67-7395-871d-c2e36f80ad99"
PAYLOAD = {"orderId": "o-1042", "total": 99.5}
OUTBOUND = {"type": "order.created", "timestamp": AT, "id": EVENT, "data": PAYLOAD}
PAYLOAD_SCHEMA = {
    "type": "object",
    "required": ["orderId", "total"],
    "properties": {"orderId": {"type": "string"}, "total": {"type": "number"}},
}
CONFIG_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "webhookUrl": {
            "title": "Webhook URL",
            "description": "Made in Slack: an app's Incoming Webhooks, Add New Webhook.",
            "type": "string",
            "maxLength": 1024,
            "secret": True,
            "writeOnly": True,
        }
    },
    "required": ["webhookUrl"],
    "additionalProperties": False,
}
_KEY = {
    "id": KEY,
    "name": "billing service",
    "scope": "ingest",
    "prefix": "ang_dev_",
    "lastFour": "2dN7",
    "fingerprint": "9ac322aecf6fa5a9",
    "lastUsedAt": LATER,
    "expiresAt": None,
}
_DEAD = {
    "status": "FAILED",
    "attemptCount": 10,
    "errorCategory": "TIMEOUT",
    "responseStatus": None,
    "deliveredAt": None,
    "lastError": "no answer within 15000 ms",
}
_SUMS = {"attempts": 1042, "delivered": 1030, "failed": 12, "retried": 11, "deadLettered": 1}

# The id in an example path, by the path's first segment.
PATHS = {
    "api-keys": KEY,
    "audit-logs": ENTRY,
    "deliveries": DELIVERY,
    "destinations": DESTINATION,
    "dlq": DELIVERY,
    "events": EVENT,
    "files": FILE,
    "replay-jobs": JOB,
    "routing-rules": RULE,
    "schemas": SCHEMA,
    "transform-scripts": SCRIPT,
}

# Values of fields, by the beginning of their model's name. The longest beginning that has the field is
# used.
MODELS: dict[str, dict[str, Any]] = {
    "ActorState": {"state": "ACTIVE", "mailbox": 0},
    "Analytics": {**_SUMS, "granularity": "hour", "errorCategories": {"TIMEOUT": 12}},
    "AnalyticsPoint": {
        "attempts": 42,
        "delivered": 42,
        "failed": 0,
        "retried": 0,
        "deadLettered": 0,
    },
    "ApiKey": _KEY,
    "ApiKeyWithSecret": {"secret": "ang_dev_bWFkZSB1cCwgb2Ygbm9ib2R5"},
    "Attempt": {
        "errorMessage": None,
        "responseBody": "ok",
        "responseHeaders": {"content-type": "text/plain"},
    },
    "Audit": {
        "id": ENTRY,
        "action": "destination.update",
        "objectType": "destination",
        "objectId": DESTINATION,
        "actorId": KEY,
        "changes": {"name": {"from": "Orders", "to": "Orders, live"}},
        "previousFingerprint": None,
    },
    "AuthContext": {
        "customerAccountId": None,
        "customerExternalId": None,
        "expiresAt": None,
        "permissions": None,
    },
    "BatchEntry": {"error": None, "index": 0},
    "BatchResult": {"accepted": 1, "duplicates": 0, "rejected": 0},
    "Bulk": {"matched": 12, "remaining": 0, "dryRun": False, "retried": 12, "discarded": 12},
    "BrandColors": {
        "primary": "#0b5fff",
        "accent": "#ffb000",
        "background": "#ffffff",
        "text": "#1c1f26",
    },
    "Branding": {
        "name": "Acme",
        "logoUrl": "https://acme.example.com/logo.svg",
        "locale": "en",
        "supportUrl": "https://acme.example.com/help",
    },
    "Circuit": {"nextProbeAt": None, "openedAt": None},
    "Conflict": {"path": "payload.total", "message": "3 are strings, 97 are numbers"},
    "Delivery": {"id": DELIVERY, "status": "DELIVERED", "updatedAt": LATER},
    "DeliveryDeadLettered": _DEAD,
    "Destination": {
        "id": DESTINATION,
        "config": None,
        "description": None,
        "signing": {"algorithm": "HMAC_SHA256"},
    },
    "DestinationHealth": {
        "consecutiveFailures": 0,
        "failingSince": None,
        "lastError": None,
        "lastFailureAt": None,
    },
    "Dlq": {"id": DELIVERY, **_DEAD, "dlqStatus": "IN_DLQ", "deadLetteredAt": LATER},
    "Customer": {"customerExternalId": "acme", "name": "Acme Corp."},
    "CustomerLimits": {
        "destinations": 50,
        "rules": 500,
        "transforms": 20,
        "requestsPerMinute": 1_200,
    },
    "CustomerUse": {"destinations": 3, "rules": 7, "transforms": 1},
    "EmbedContext": {"locale": "en", "expiresAt": "2026-11-20T12:05:00.000Z"},
    "EmbedLimits": {
        "requestsPerMinute": 1_200,
        "destinations": 20,
        "rules": 100,
        "transforms": 20,
        "retentionDays": 30,
    },
    "DestinationTemplate": {
        "id": "slack",
        "name": "Slack",
        "description": "A message in a channel, by an incoming webhook.",
        "category": "chat",
        "icon": "slack",
        "documentationUrls": [
            "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"
        ],
        "configSchema": CONFIG_SCHEMA,
        "defaults": {"rateLimitPerSecond": 1.0},
    },
    "EmbedSession": {
        "token": "anges_bWFkZSB1cCwgb2Ygbm9ib2R5",
        "url": "https://portal.example.com/#token=anges_bWFkZSB1cCwgb2Ygbm9ib2R5",
    },
    "Error": {"path": "name", "message": "is required"},
    "File": {
        "id": FILE,
        "fileName": "invoice-1042.pdf",
        "contentType": "application/pdf",
        "fileType": "invoice",
        "sizeBytes": 48_213,
        "sha256": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        "metadata": {"invoice": 1042},
        "error": None,
    },
    "FilterErrors": {"count": 3, "lastMessage": "no such key: total"},
    "InferredSchema": {"sampled": 100, "conflicts": [], "created": None},
    "KeyRotated": _KEY,
    "Live": {"status": "ok"},
    "OutboundEvent": {"type": "order.created"},
    "PreviewRule": {"pattern": "order.*", "filterError": None},
    "PreviewRefusal": {"code": "schema_violation", "message": "payload.total: is required"},
    "Queue": {
        "pending": 0,
        "inFlight": 1,
        "suggestedConcurrency": 5,
        "oldestPendingSeconds": None,
    },
    "Rejection": {"code": "invalid_request", "message": "payload: must be an object"},
    "Replay": {
        "id": JOB,
        "status": "RUNNING",
        "customerAccountId": None,
        "deliveryIds": None,
        "statuses": ["FAILED"],
        "from": "2026-11-20T00:00:00.000Z",
        "ratePerSecond": 100.0,
        "total": 2000,
        "enqueued": 600,
        "skipped": 0,
        "delivered": 598,
        "failed": 0,
        "remaining": 1402,
        "percent": 29.9,
        "perSecond": 100.0,
        "etaSeconds": 14,
        "dryRun": False,
        "finishedAt": None,
        "error": None,
    },
    "ReplayFinished": {
        "status": "COMPLETED",
        "enqueued": 2000,
        "delivered": 2000,
        "finishedAt": LATER,
    },
    "Requeued": {"id": DELIVERY},
    "RoutingRule": {"id": RULE, "name": "All about orders", "filterErrors": None},
    "RulePreview": {"refusal": None, "otherRules": 0, "omittedRules": 0},
    "Schema": {"id": SCHEMA, "status": "ACTIVE", "description": "An order was placed."},
    "SentRequest": {
        "body": '{"type":"order.created","timestamp":"2026-11-20T12:00:00.000Z","id":"'
        + EVENT
        + '","data":{"orderId":"o-1042","total":99.5}}',
        "headers": {
            "content-type": "application/json",
            "user-agent": "Angarium/0.1.0",
            "webhook-id": EVENT,
            "webhook-timestamp": "1795435200",
            "angarium-delivery-id": DELIVERY,
            "angarium-attempt": "1",
        },
    },
    "TransformRun": {
        "input": OUTBOUND,
        "output": {"text": "Order o-1042: 99.5"},
        "type": None,
        "headers": {},
        "logs": None,
        "durationMs": 0.412,
        "errorCategory": None,
        "errorMessage": None,
    },
    "TransformScript": {
        "id": SCRIPT,
        "name": "Orders as text",
        "version": 2,
        "source": 'function transform(event) {\n  return { text: "Order " + event.data.orderId };\n}\n',
        "status": "PUBLISHED",
        "publishedAt": LATER,
    },
    "SketchedRequest": {
        "url": "https://hooks.slack.com/***",
        "headers": {"content-type": "application/json", "user-agent": "Angarium/0.1.0"},
        "body": '{"text":"order.created: Order 42"}',
    },
    "TemplateExample": {
        "event": {"type": "order.created", "data": {"text": "Order 42"}},
        "config": {"webhookUrl": "https://hooks.slack.com/services/T00000000/B00000000/XXXX"},
        "body": {"text": "order.created: Order 42"},
    },
    "TemplatePreview": {"errors": []},
    "TestResult": {"responseBody": "ok"},
    "Throughput": {
        "accepted": 120.5,
        "delivered": 119.8,
        "failed": 0.4,
        "attempts": 120.2,
        "pending": 42,
        "inFlight": 8,
    },
    "Workspace": {"id": WORKSPACE, "name": "acme"},
}

FIELDS: dict[str, Any] = {
    "allowedOrigins": ["https://portal.example.com"],
    "attachments": None,
    "attemptCount": 1,
    "code": "invalid_request",
    "concurrency": 8,
    "config": {},
    "contentType": "application/pdf",
    "correlationId": "checkout-7781",
    "customerAccountId": CUSTOMER,
    "customerExternalId": "acme",
    "data": PAYLOAD,
    "deliveredAt": LATER,
    "deliveries": 1,
    "deliveryId": DELIVERY,
    "deliveryIds": [DELIVERY],
    "description": "Orders of the shop",
    "destinationId": DESTINATION,
    "destinationName": "Orders",
    "dlqStatus": None,
    "duplicate": False,
    "durationMs": 42,
    "environment": "DEVELOPMENT",
    "errorCategory": None,
    "errorMessage": None,
    "eventId": EVENT,
    "eventType": "order.created",
    "eventTypes": ["order.*"],
    "example": PAYLOAD,
    "fileName": "invoice.pdf",
    "fileType": "invoice",
    "filter": "event.payload.total > 50.0",
    "fingerprint": "9ac322aecf6fa5a9",
    "headers": {"X-Tenant": "42"},
    "id": EVENT,
    "idempotencyKey": "o-1042-created",
    "inFlight": 1,
    "isReplay": False,
    "keyId": KEY,
    "message": "is required",
    "metadata": {"shop": "berlin"},
    "name": "Orders",
    "nextAttemptAt": None,
    "nextCursor": None,
    "p50": 38,
    "p95": 90,
    "p99": 180,
    "path": "name",
    "payload": PAYLOAD,
    "period": "24h",
    "plan": "scale",
    "previousFingerprint": "2f0d11c8a4be7703",
    "publicKey": "whpk_MCowBQYDK2VwAyEAbWFkZSB1cCwgbm90IGEga2V5IG9mIGFueW9uZQ==",
    "rateLimitPerSecond": None,
    "ratePerSecond": 100.0,
    "replayJobId": None,
    "replayOf": None,
    "requestId": "1f0c2a9b4e-5d",
    "responseStatus": 200,
    "responseTruncated": False,
    "restarts": 0,
    "retrySchedule": [5, 300, 1800],
    "ruleId": RULE,
    "schema": PAYLOAD_SCHEMA,
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
