"""A check for Schemathesis. If the API refuses data that fits the schemas, its reason must be one that no
schema can express.
Schemathesis's own check is stricter: it requires that all data that fits the schemas is accepted.
"""

import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response

ACCEPTED = {401, 403, 404, 409}
# The API refuses some requests for these reasons, which no schema can express. An entry is a pattern for
# the path of a field and a pattern for the message about the field. Each field that a refusal names must
# match an entry.
BEYOND_SCHEMAS = [
    (r"cursor", r"is not a cursor of this list"),
    (r"from", r"is after to"),
    (r".*", r"must not contain NUL|contains a lone surrogate"),
    (
        r".*",
        r"must be a whole number",
    ),  # in JSON Schema 60.0 is a whole number, but the API takes no fraction
    (r"url", r".*"),  # the host, port and path of a URL
    (r"authentication\.tokenUrl", r".*"),
    # A schema cannot say what a PEM must contain, or that a private key must belong to its certificate.
    (r"authentication\.(certificate|privateKey)", r".*"),
    (r"authentication\..*", r"is the mask, but no value is stored: .*|the URL changes: .*"),
    (r"authentication", r"MTLS needs a URL .*|sets the header Authorization: .*"),
    (r"branding\.(logo|support)Url", r".*"),  # as for `url`, but https only
    (r"allowedOrigins.*", r".*"),  # the syntax of an origin, and duplicates
    (r"headers.*", r".*"),  # reserved names, their total size, masks
    (r"customer(ExternalId|AccountId)", r"cannot be changed|.*customerAccountId.*"),
    (r"config.*", r".*"),  # values that the template requires
    (r"templateId", r"cannot be changed"),
    (r"signing\.algorithm", r"makes a new secret: .*"),  # if the present algorithm is another one
    (r"secret", r"belongs to the algorithm HMAC_SHA256: .*"),  # if the algorithm is another one
    (r"graceSeconds", r"no secret is replaced: .*"),
    (r"destinationId", r"the destination was made from another template.*"),
    (r"eventId", r"must be absent if event is given"),
    # The members of a selection that a replay's mode requires or refuses.
    (r"statuses|deliveryIds", r"is not for the mode MISSING: .*"),
    (r"destinationId", r"is required with the mode MISSING"),
    (r"(rule\.)?filter", r".*"),  # the filter language
    (r"schema.*|example.*", r".*"),  # JSON Schema within a document
    (r"(event\.)?eventType", r"types that begin with angarium\. are reserved for the service"),
    (r"(events\[\d+\]\.|event\.)?payload.*", r".*"),  # the active schema of this run
    (
        r"(events\[\d+\]\.|event\.)?attachments.*",
        r"must be a data: URI|no such file|(a|the) URL('s (host|port|address))? .*",
    ),
    (r"source", r".*"),  # the script language
    (r".*", r"must be in the body of this form.*"),  # a parameter of raw bodies only
    (r"metadata", r".*"),  # JSON in a parameter
    (r"event", r"give either event or eventId"),
    (r"(events\[\d+\]\.)?idempotencyKey", r".*"),  # already used for another event in this run
    (r"environment|scope", r".*MCP.*|.*"),
    (r"", r"give at least one of .*|name at least one of .*|.* cannot be cancelled"),
]


@schemathesis.check
def valid_data_is_refused_only_for_what_schemas_cannot_say(
    ctx: CheckContext, response: Response, case: Case[Any]
) -> bool | None:
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
