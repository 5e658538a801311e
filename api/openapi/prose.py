"""The texts of the OpenAPI document."""

DESCRIPTION = """\
Angarium accepts events and delivers them to destinations: signed, in order if configured, and without
loss.

- JSON in camelCase, UTF-8. Timestamps are ISO 8601 in UTC with milliseconds and `Z`; ids are UUIDv7.
- A list is `{"items": [...], "nextCursor": ...}`, newest first. A cursor is opaque and valid only for its
  list.
- A filter that is a list can be repeated (`status=FAILED&status=RETRYING`): items with any of the values
  pass.
- Unknown query parameters and unknown fields of a body are refused, by name. Only ingestion ignores
  unknown parameters.
- Every answer has `X-Request-Id` and the three `X-RateLimit-*` headers; every error is the same envelope.
- If several errors apply, the answer is the first of these: 404 for the path, 405, 401, 429, 403, 415,
  413, 400, 404 for an object that the request names, 402, 409.
- An object of another workspace, environment or customer gets 404, and so does a malformed id in a path.
- An API key belongs to one environment. With an MCP key, name the environment in the header
  `X-Environment`, or in the query parameter or body field `environment` if there is one. An embed session
  sees only its customer's objects, and has the permissions that its workspace gives to customers.
- Pages in browsers can call the API from origins that the workspace lists (`PATCH /workspace`): answers
  to them have CORS headers. A request from another page gets 403.
- A POST without parameters, such as `/destinations/{id}/enable`, and a DELETE accept `{}`, an empty body
  or no body.
- HEAD is answered like GET, without a body. OPTIONS gets 204 with `Allow`. Any other method gets 405,
  also with `Allow`.
- After a 202 an event is durable. After a 4xx or a 503 the event was certainly not accepted. After any
  other 5xx or a broken connection, repeat the request with the same `idempotencyKey`.
"""

TAGS = {
    "Events": "Events: send them one by one or in batches, and read them afterwards.",
    "Files": "Uploaded files, and files that came with events. Receivers get signed URLs of them.",
    "Destinations": "The receivers of events, with their settings: order, rate, retries, signing.",
    "Destination templates": "The catalog of services for which destinations can be created.",
    "Routing rules": "The rules that select the destinations of events.",
    "Deliveries": "The deliveries of events to destinations, with every attempt.",
    "Dead-letter queue": "Deliveries without attempts left: inspect, retry or discard them.",
    "Replay jobs": "Jobs that send selected past deliveries again. Live traffic goes first.",
    "Event schemas": "JSON Schemas for the payloads of event types, in versions. One version is active.",
    "Transform scripts": "JavaScript that changes a destination's requests. One version is published.",
    "Observability": "The present state of destinations and environments, and their counters.",
    "Audit": "The changes of the configuration: who made them, and the earlier values.",
    "Keys": "API keys and MCP keys: create, list, rotate and revoke them.",
    "Customers": "The accounts of customers: their quotas, permissions and objects.",
    "Workspace": "The settings for all environments: the look of customers' portals, and permissions.",
    "Embed": "Short-lived sessions for an end-customer's browser, and the data of its portal.",
    "Agents": "The Model Context Protocol, for agents that find and fix problems.",
    "Console": "Sessions of the operators' console: tokens for a browser, opened with an API key.",
    "Auth": "The workspace, environment and rights of a credential.",
    "Service": "Requests that need no credential.",
}

WEBHOOKS_TAG = (
    "The requests to receivers. The scheme is Standard Webhooks: verify the signature over the "
    "received bytes, then drop duplicates by `webhook-id`."
)

ERRORS = {
    400: "The request is malformed.",
    401: "There is no valid credential.",
    402: "The workspace has reached a limit of its plan.",
    403: "The credential does not allow this, or belongs to another environment.",
    404: "No such object exists for this credential.",
    408: "The request did not arrive in time: a head has 15 s, a body 30 s.",
    409: "The request conflicts with the resource's current state.",
    413: "The body is too large.",
    415: "The body has a media type that this route does not accept, or a Content-Encoding.",
    416: "The content has none of the bytes that `Range` asks for. Content-Range states its length.",
    429: "The rate limit is used up. Retry-After states the wait in seconds.",
    500: "An internal error of the service.",
    503: "The service cannot process the request now. Retry-After states when to try again.",
}

# By code: the message, and its details.
ERROR_EXAMPLES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "invalid_request": (
        "name: is required",
        (("name", "is required"), ("colour", "unknown field")),
    ),
    "schema_violation": (
        'payload.total: "many" is not of type "number"',
        (("payload.total", '"many" is not of type "number"'),),
    ),
    "loop_detected": ("the event has passed through this service 9 times, the most are 8", ()),
    "idempotency_mismatch": ("the idempotencyKey was used for another event", ()),
    "unauthorized": ("no valid credential", ()),
    "plan_limit": ("the plan free has at most 20 destinations in an environment", ()),
    "forbidden": ("this key belongs to DEVELOPMENT", ()),
    "not_found": ("no such destination", ()),
    "request_timeout": ("the request's body did not arrive in time", ()),
    "conflict": ("the destination is archived", ()),
    "payload_too_large": ("the body is larger than 262144 bytes", ()),
    "unsupported_media_type": ("the body must be application/json", ()),
    "range_not_satisfiable": ("the content has 1042 bytes", ()),
    "rate_limited": ("rate limit exceeded: try again in 17 s", ()),
    "internal": ("an internal error ended the request: try again", ()),
    "overloaded": ("the database does not respond: try again", ()),
}
