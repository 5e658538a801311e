"""A request as it was last sent, made again from what was recorded: without signature and secrets."""

import json
from typing import Any

from engine.control.headers import MASK
from engine.delivery_log import DeliveryDetail
from engine.errors import Refusal
from engine.wire.body import outbound_body
from engine.wire.head import USER_AGENT
from engine.wire.target import parse_target


def request_view(detail: DeliveryDetail) -> dict[str, Any] | None:
    """Return the request of the last attempt; None before the first, or without its event."""
    if detail.sent is None or detail.event is None or not detail.attempts:
        return None
    attempt = detail.attempts[-1]
    event = detail.event.event()
    body = outbound_body(event)
    own = {
        name: MASK if value is None else value for name, value in json.loads(detail.sent.headers)
    }
    named = {name.lower() for name in own}
    ours = {"content-type": "application/json", "user-agent": USER_AGENT.decode()}
    headers = {"host": _host(detail.sent.url)}
    headers |= {name: value for name, value in ours.items() if name not in named}
    headers |= own
    headers |= {
        "webhook-id": event.id,
        "webhook-timestamp": str(attempt.started_at_ms // 1000),
        "angarium-delivery-id": detail.entry.id,
        "angarium-attempt": str(attempt.number),
        "content-length": str(len(body)),
    }
    return {
        "method": "POST",
        "url": detail.sent.url,
        "headers": headers,
        "body": body.decode("utf-8", "replace"),
    }


def _host(url: str) -> str:
    try:
        return parse_target(url).authority.decode()
    except Refusal:
        return ""  # the rules for URLs became stricter than they were then
