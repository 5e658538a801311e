"""The words of the document: on the whole, on its groups, and on each error. No structure here."""

DESCRIPTION = """\
Angarium takes events and delivers them to destinations: signed, in order where that was asked for, and
with nothing lost.

- JSON in camelCase, UTF-8. Timestamps are ISO 8601 in UTC with milliseconds and `Z`; ids are UUIDv7.
- A list is `{"items": [...], "nextCursor": ...}`, newest first. A cursor is opaque and good for its list.
- A filter that is a list can be repeated (`status=FAILED&status=RETRYING`): what has any of its values
  passes.
- Unknown query parameters and unknown fields of a body are refused, by name. Ingestion alone ignores
  parameters that it does not know.
- Every answer has `X-Request-Id` and the three `X-RateLimit-*` headers; every error is the same envelope.
- Where several refusals apply, the first of these is told: 404 of the path, 405, 401, 429, 403, 415, 413,
  400, 404 of what the request names, 402, 409.
- Whatever belongs to another workspace, environment or customer is a 404, and so is a malformed id in a
  path.
- An API key fixes the environment. An MCP key names it: header `X-Environment`, or the query parameter or
  body field `environment` where there is one. An embed session sees what belongs to its customer alone,
  and does what its workspace lets customers do.
- Pages in browsers may call from origins that the workspace lists (`PATCH /workspace`): every answer to
  them has CORS headers, and a request from another page gets 403.
- An action and a DELETE take `{}`, an empty body or none.
- HEAD is answered like GET, without a body. OPTIONS answers 204 with `Allow`; another method is a 405,
  with `Allow` as well.
- After a 202 an event is durable. After a 4xx or a 503 it was surely not accepted; after any other 5xx or
  a broken connection repeat it with the same `idempotencyKey`.
"""

TAGS = {
    "Events": "What happened. Events come in here, one by one or in batches, and can be read afterwards.",
    "Files": "Files that were uploaded or came with events. Receivers get them by signed URLs.",
    "Destinations": "Where events are delivered to, and how: order, rate, retries, signing.",
    "Destination templates": "The catalog of services that destinations can be made for, with what each \
is sent.",
    "Routing rules": "Which events go to which destination.",
    "Deliveries": "Each event on its way to each destination, with every attempt.",
    "Dead-letter queue": "Deliveries whose retries are used up: looked at, sent again, or let go.",
    "Replay jobs": "Past deliveries, sent again by selection, behind live traffic.",
    "Event schemas": "What payloads of an event type must look like, in versions; one is active.",
    "Transform scripts": "JavaScript over what a destination is sent, in versions; one is published.",
    "Observability": "How destinations and the environment do, from live actors and committed counters.",
    "Audit": "Who changed which configuration, and how it was before.",
    "Keys": "API keys and MCP keys: made, listed, rotated, revoked.",
    "Customers": "The accounts of customers: what their embed sessions may use, and what they have.",
    "Workspace": "What holds in all environments: how customers' portals look, what customers may do.",
    "Embed": "Short-lived sessions for an end-customer's browser, and what its portal needs.",
    "Agents": "The Model Context Protocol, for agents that find and mend trouble.",
    "Console": "Sessions of the operators' console: tokens that stand for an API key in a browser.",
    "Auth": "The workspace, environment and rights of a credential.",
    "Service": "Answers that need no credential.",
}

WEBHOOKS_TAG = (
    "What receivers get. The scheme is Standard Webhooks: verify the signature over the bytes that \
arrived, then deduplicate by `webhook-id`."
)

# The description of each error's response, and its headline on the page.
ERRORS = {
    400: "The request is malformed.",
    401: "There is no valid credential.",
    402: "A limit of the workspace's plan is reached.",
    403: "The credential does not allow this, or belongs to another environment.",
    404: "There is no such thing, for this credential.",
    408: "The request did not arrive in time: a head has 15 s, a body 30 s.",
    409: "The request conflicts with the resource's current state.",
    413: "The body is too large.",
    415: "The body is of a media type that is not taken here, or is encoded.",
    416: "The content has none of the bytes that `Range` asks for. Content-Range states its length.",
    429: "The rate limit is used up. Retry-After states the wait in seconds.",
    500: "A fault of the service.",
    503: "The service cannot take this now. Retry-After states when to try again.",
}

# An example of each error: its message, and its details where it has any.
ERROR_EXAMPLES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "invalid_request": (
        "name: is required",
        (("name", "is required"), ("colour", "unknown field")),
    ),
    "schema_violation": (
        'payload.total: "many" is not of type "number"',
        (("payload.total", '"many" is not of type "number"'),),
    ),
    "loop_detected": ("the event has come back from deliveries 9 times, the most are 8", ()),
    "idempotency_mismatch": ("the idempotencyKey was used for another event", ()),
    "unauthorized": ("no valid credential", ()),
    "plan_limit": ("the plan free has at most 20 destinations in an environment", ()),
    "forbidden": ("this key belongs to DEVELOPMENT", ()),
    "not_found": ("no such destination", ()),
    "request_timeout": ("the body did not arrive in time", ()),
    "conflict": ("the destination is archived", ()),
    "payload_too_large": ("the body is larger than 262144 bytes", ()),
    "unsupported_media_type": ("the body must be application/json", ()),
    "range_not_satisfiable": ("the content has 1042 bytes", ()),
    "rate_limited": ("rate limit exceeded: try again in 17 s", ()),
    "internal": ("a fault of the service", ()),
    "overloaded": ("the database does not answer: try again", ()),
}
