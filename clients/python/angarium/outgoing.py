"""The bodies of requests with events. Each event gets an idempotency key, so it can be sent again."""

import json
import uuid
from collections.abc import Iterable, Mapping

from angarium.calls import body_of, dumped
from angarium.errors import ArgumentError
from angarium.shapes import EventInput, JsonObject

Payload = JsonObject | bytes  # bytes are a JSON object, which is sent unchanged


def single(event_type: str, payload: Payload, given: Mapping[str, object]) -> bytes:
    """Return the body of one event. Raises ArgumentError for bytes that are not a JSON object."""
    fields = {"eventType": event_type, **body_of(given)}
    fields.setdefault("idempotencyKey", str(uuid.uuid4()))
    return dumped(fields)[:-1] + b', "payload": ' + _object(payload) + b"}"


def batch(events: Iterable[EventInput | bytes]) -> bytes:
    """Return the body of a batch. An event of bytes is sent unchanged, but gets an idempotency key if
    it has none.

    Raises ArgumentError for bytes that are not a JSON object.
    """
    return b'{"events": [' + b", ".join(_keyed(event) for event in events) + b"]}"


def _keyed(event: EventInput | bytes) -> bytes:
    key = str(uuid.uuid4())
    if not isinstance(event, bytes):
        return dumped({"idempotencyKey": key, **event})
    raw = _object(event)
    fields = json.loads(raw)
    if fields.get("idempotencyKey") is not None or not fields:
        return raw
    if "idempotencyKey" in fields:  # its value is null: a second member must not be added
        return dumped({**fields, "idempotencyKey": key})
    return raw[:-1] + b', "idempotencyKey": "' + key.encode() + b'"}'


def _object(value: Payload) -> bytes:
    if not isinstance(value, bytes):
        return dumped(value)
    raw = value.strip(b" \t\r\n")
    try:
        found = json.loads(raw)
    except ValueError as error:
        raise ArgumentError(f"the bytes are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ArgumentError("the bytes are JSON, but no object")
    return raw
