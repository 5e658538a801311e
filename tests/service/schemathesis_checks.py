"""Additions to the document for Schemathesis: refusals of valid data that no schema can express.

The built-in check wants all data that fits the schemas to be accepted. This check allows the refusals
below, each by the place that the refusal must name.
"""

import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response

ACCEPTED = {401, 403, 404, 409}
# (offending place, message): each of a refusal's fields must match an entry.
BEYOND_SCHEMAS = [
    (r"cursor", r"is not a cursor of this list"),
    (r"from", r"is after to"),
    (r".*", r"must not contain NUL|contains a lone surrogate"),
    (
        r".*",
        r"must be a whole number",
    ),  # to JSON Schema 60.0 is a whole number; the API takes no fraction
    (r"url", r".*"),  # what a URL is: its host, its port, its path
    (r"authentication\.tokenUrl", r".*"),  # the same
    (r"authentication\.(certificate|privateKey)", r".*"),  # what PEM holds; that both are a pair
    (r"authentication\..*", r"is the mask, but no value is stored: .*|the URL changes: .*"),
    (r"authentication", r"MTLS needs a URL .*|sets the header Authorization: .*"),
    (r"branding\.(logo|support)Url", r".*"),  # the same, of https
    (r"allowedOrigins.*", r".*"),  # what an origin is; each once
    (r"headers.*", r".*"),  # reserved names, their total size, masks
    (r"customer(ExternalId|AccountId)", r"cannot be changed|.*customerAccountId.*"),
    (r"config.*", r".*"),  # what the template takes that another field names
    (r"templateId", r"cannot be changed"),
    (r"signing\.algorithm", r"makes a new secret: .*"),  # where the present one is another
    (r"secret", r"belongs to the algorithm HMAC_SHA256: .*"),  # where the algorithm is another
    (r"graceSeconds", r"no secret is replaced: .*"),
    (r"destinationId", r"the destination was made from another template.*"),
    (r"eventId", r"must be absent if event is given"),
    # The selection's members that a replay's mode allows, and requires.
    (r"statuses|deliveryIds", r"is not for the mode MISSING: .*"),
    (r"destinationId", r"is required with the mode MISSING"),
    (r"(rule\.)?filter", r".*"),  # the language of filters
    (r"schema.*|example.*", r".*"),  # JSON Schema within a document
    (r"(event\.)?eventType", r"types that begin with angarium\. are reserved for the service"),
    (r"(events\[\d+\]\.|event\.)?payload.*", r".*"),  # the active schema's, made by this very run
    (
        r"(events\[\d+\]\.|event\.)?attachments.*",
        r"must be a data: URI|no such file|(a|the) URL('s (host|port|address))? .*",
    ),
    (r"source", r".*"),  # the language of scripts
    (r".*", r"must be in the body of this form.*"),  # a parameter of raw bodies only
    (r"metadata", r".*"),  # JSON within a parameter
    (r"event", r"give either event or eventId"),
    (r"(events\[\d+\]\.)?idempotencyKey", r".*"),  # used for another event by this very run
    (r"environment|scope", r".*MCP.*|.*"),
    (r"", r"give at least one of .*|name at least one of .*|.* cannot be cancelled"),
]


@schemathesis.check
def valid_data_is_refused_only_for_what_schemas_cannot_say(
    ctx: CheckContext, response: Response, case: Case[Any]
) -> bool | None:
    """Fail if data that fits the schemas is refused for another reason."""
    del ctx
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return None
    status = response.status_code
    if status < 400 or status in ACCEPTED:
        return None
    body = response.json()
    details = body.get("details") or [{"path": "", "message": body["message"]}]
    for each in details:
        place, told = each["path"], each["message"]
        known = any(
            re.fullmatch(path, place) and re.fullmatch(message, told, re.DOTALL)
            for path, message in BEYOND_SCHEMAS
        )
        assert known, f"{status} {body['code']}: {place}: {told}"
    return None
