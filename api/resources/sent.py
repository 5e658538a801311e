"""The last request of a delivery, rebuilt from the records, without signature and secrets."""

import json
from contextlib import suppress

import orjson

from api.call import Call
from api.shapes import SentRequest
from engine.control.templated import shown_headers
from engine.files.attachments import files_named
from engine.files.carrying import HEADER
from engine.log.delivery_log import DeliveryDetail, SentVersion
from engine.model.errors import Refusal
from engine.model.headers import MASK, is_secret
from engine.model.trace import attempt_span, is_sampled, lines_of, with_span
from engine.model.words import word
from engine.wire.head import USER_AGENT
from engine.wire.target import parse_target

FILES = HEADER.decode()
# The limit on a body as JSON. The body of every event fits: an event has at most 256 KiB, and escaped
# quotes can at most double this.
BODY_BYTES = 640 * 1024


async def request_view(call: Call, detail: DeliveryDetail) -> SentRequest | None:
    """Return the last request that was sent. Return None before the first attempt, or if the event was
    removed."""
    attempt = detail.last_sent
    if detail.sent is None or detail.event is None or attempt is None:
        return None
    event = detail.event.event()
    made = await call.services.remake.remade(
        call.environment.workspace,
        detail.entry.destination,
        event,
        attempt,
        detail.sent,
        call.customer,
    )
    own = {
        name: MASK if value is None else value for name, value in json.loads(detail.sent.headers)
    }
    own = _of_template(call, detail.sent, own)
    further = {
        name: MASK if is_secret(name) else value
        for name, value in (
            (n.decode("latin-1"), v.decode("utf-8", "replace")) for n, v in made.headers
        )
    }
    headers = {"host": _host(detail.sent.url)}
    if detail.sent.authorizes:
        own["authorization"] = MASK
    named: set[str] = set()
    # The first source of a name wins, as in the sent request.
    ours = {"content-type": "application/json", "user-agent": USER_AGENT.decode()}
    kept: list[dict[str, str]] = []
    for general in (further, own, ours):
        kept.insert(
            0, {name: value for name, value in general.items() if name.lower() not in named}
        )
        named |= {name.lower() for name in general}
    for general in kept:
        headers |= general
    if event.file is not None or files_named(event.attachments or b"[]"):
        headers[FILES] = MASK  # it differs for each attempt, and gives access to the files
    headers |= {
        "webhook-id": event.id,
        "webhook-timestamp": str(attempt.started_at_ms // 1000),
        "angarium-delivery-id": detail.entry.id,
        "angarium-attempt": str(attempt.number),
    }
    if event.trace is not None and not named & {"traceparent", "tracestate"}:
        headers |= _trace(call, event.trace, detail.entry.id, attempt.number)
    if made.body is not None and made.exact:
        headers["content-length"] = str(len(made.body))
    body, note = None, made.note
    if made.body is not None:
        whole = made.body.decode("utf-8", "replace")
        body = beginning(whole, BODY_BYTES)
        if len(body) < len(whole):
            note = f"the body has {len(made.body)} bytes: its beginning is shown"
    return {
        "method": word(detail.sent.method),
        "url": detail.sent.url,
        "headers": headers,
        "body": body,
        "note": note,
    }


def beginning(text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most `most` bytes as JSON."""
    written = orjson.dumps(text)
    if len(written) <= most:
        return text
    for end in range(most - 1, 0, -1):  # a split escape has at most 6 bytes
        with suppress(orjson.JSONDecodeError):
            return str(orjson.loads(written[:end] + b'"'))
    return ""


def _trace(call: Call, trace: str, delivery: str, number: int) -> dict[str, str]:
    """Return an attempt's trace headers, made with the settings of this server. If another server with
    other settings sent the attempt, the sent headers can differ."""
    if call.services.tracing is not None and is_sampled(trace):
        trace = with_span(trace, attempt_span(delivery, number))
    return {
        name: value
        for line in lines_of(trace).decode("ascii").splitlines()
        for name, _, value in [line.partition(": ")]
    }


def _of_template(call: Call, sent: SentVersion, own: dict[str, str]) -> dict[str, str]:
    """The headers of the template override the destination's."""
    if sent.template is None or sent.config is None:
        return own
    definition = call.services.catalog.get(sent.template)
    made = {} if definition is None else shown_headers(definition, sent.config)
    named = {name.lower() for name in made}
    return {name: value for name, value in own.items() if name.lower() not in named} | made


def _host(url: str) -> str:
    try:
        return parse_target(url).authority.decode()
    except Refusal:
        return ""  # the URL is from a past request, and the rules for URLs are stricter now
