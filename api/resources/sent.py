"""A request as it was last sent, made again from what was recorded: without signature and secrets."""

import json
from typing import Any

from api.call import Call
from engine.control.headers import MASK, is_secret
from engine.control.templated import shown_headers
from engine.delivery_log import DeliveryDetail, SentVersion
from engine.errors import Refusal
from engine.files.attachments import files_named
from engine.files.carrying import HEADER
from engine.wire.head import USER_AGENT
from engine.wire.target import parse_target

FILES = HEADER.decode()


async def request_view(call: Call, detail: DeliveryDetail) -> dict[str, Any] | None:
    """Return the last request that was sent; None before the first, or without its event."""
    attempt = detail.last_sent
    if detail.sent is None or detail.event is None or attempt is None:
        return None
    event = detail.event.event()
    made = await call.services.remake.remade(
        call.environment.workspace, detail.entry.destination, event, attempt, detail.sent
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
    named: set[str] = set()
    # Each name from the first that has it, as on the wire.
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
        headers[FILES] = MASK  # each attempt's own, and as good as the files
    headers |= {
        "webhook-id": event.id,
        "webhook-timestamp": str(attempt.started_at_ms // 1000),
        "angarium-delivery-id": detail.entry.id,
        "angarium-attempt": str(attempt.number),
    }
    if made.body is not None and made.exact:
        headers["content-length"] = str(len(made.body))
    return {
        "method": "POST",
        "url": detail.sent.url,
        "headers": headers,
        "body": None if made.body is None else made.body.decode("utf-8", "replace"),
        "note": made.note,
    }


def _of_template(call: Call, sent: SentVersion, own: dict[str, str]) -> dict[str, str]:
    """Put the headers that the template makes of its configuration, which win over the destination's."""
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
        return ""  # the rules for URLs became stricter than they were then
