"""Events and batches: accepted JSON has the same meaning for other readers, and payloads keep their
bytes."""

import hashlib
import json
from datetime import datetime
from typing import Any

from msgspec import UNSET

from api.envelope import envelope
from engine.core.records import Event
from engine.filters import facts_of
from engine.filters.parser import FIELDS
from engine.ingest.event_json import (
    BATCH_EVENTS,
    EVENT_BYTES,
    DecodedEvent,
    check_type,
    read_batch,
    read_event,
)
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.json_members import MAX_DEPTH
from engine.wire.body import outbound_body
from tests.fuzz.door import Door

ID = "01890000-0000-7000-8000-000000000000"
TEXTS = ("source", "customerExternalId", "idempotencyKey", "correlationId", "requestId")
NAMES = frozenset(DecodedEvent.__struct_fields__)


def check(data: bytes) -> None:
    try:
        parts = read_batch(data)
    except Refusal as refusal:
        _told(refusal)
        parts = []
    else:
        assert 1 <= len(parts) <= BATCH_EVENTS
        slices = [json.loads(part) for part in parts]
        assert json.loads(data) == {"events": slices}
    for part in (data, *parts[:4]):
        _check_event(part)


def _check_event(data: bytes) -> None:
    try:
        given, payload = read_event(data)
    except Refusal as refusal:
        _told(refusal)
        return
    pairs: list[tuple[str, Any]] = json.loads(data, object_pairs_hook=lambda pairs: pairs)
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    assert set(names) <= NAMES
    document = json.loads(data)
    assert payload in data
    assert payload[:1] == b"{"
    assert payload[-1:] == b"}"
    assert json.loads(payload) == document["payload"]
    assert _depth(document) <= MAX_DEPTH
    assert given.eventType == document["eventType"]
    try:
        check_type(given.eventType)
    except Refusal as refusal:
        _told(refusal)
    else:
        assert given.eventType.isascii()
        assert given.eventType.isprintable()
    for name in TEXTS:
        value = getattr(given, name)
        if value is UNSET or value is None:
            assert document.get(name) is None
        else:
            assert value == document[name]
            assert 1 <= len(value) <= 256
            assert "\0" not in value
            value.encode()
    _check_shown(given, payload)


def _check_shown(given: DecodedEvent, payload: bytes) -> None:
    at_ms = given.occurred_at_ms(0)
    text = iso(at_ms)
    assert datetime.fromisoformat(text).timestamp() * 1000 == at_ms or at_ms < 0
    metadata = None if given.metadata is UNSET else bytes(given.metadata)
    event = Event(
        ID,
        1,
        given.eventType,
        at_ms,
        payload,
        metadata,
        given.source or None,
        given.customerExternalId or None,
        given.correlationId or None,
        given.requestId or None,
        given.idempotencyKey or None,
        None,
    )
    facts_of(event, FIELDS)
    body = outbound_body(event)
    assert payload in body
    assert json.loads(body)["id"] == ID
    hashlib.sha256((event.idempotency_key or "").encode())


def _told(refusal: Refusal) -> None:
    assert refusal.status in (400, 413)
    json.loads(envelope(refusal.code, refusal.message, "r", refusal.details))


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


DOOR = Door(
    "event",
    check,
    ("engine.ingest.event_json", "engine.model", "engine.files", "engine.filters"),
    (
        b'{"eventType":"order.paid","payload":{"n":1}}',
        b'{"eventType":"a","payload":{"a":"\\ud800","b":123456789012345678901234567890},"metadata":{"x":[]},'
        b'"source":"s","customerExternalId":"c","idempotencyKey":"k","correlationId":"r","requestId":"q",'
        b'"occurredAt":"2026-11-20T12:00:00.000Z"}',
        b'{"events":[{"eventType":"a","payload":{}},{"eventType":"b","payload":{"a":1,"a":2}}]}',
        b'{ "\\u0065vents" : [ {"eventType":"a","payload":{"\\ud800":1}} , 1 ] }',
        b'{"eventType":"a","payload":{},"attachments":[{"source":{"kind":"URL","uri":"https://a.b/c"},'
        b'"fileName":"x","contentType":"text/plain","sizeBytes":1,"metadata":{}}]}',
        b'{"eventType":"a","payload":{},"attachments":[{"source":{"kind":"INLINE","uri":"data:,x"}}]}',
        b'{"eventType":"a","payload":{},"occurredAt":"9999-12-31T23:59:59+00:00"}',
    ),
    (
        b'"payload":', b'"eventType":', b'"events":', b'"metadata":null', b'"occurredAt":', b"-23:59",
        b"+23:59", b"0001-01-01T00:00:00Z", b"\\u0000", b"\\ud800", b"\\udc00", b"\\n", b'\\"', b"[[[[",
        b"]]]]", b"1e999", b"-0", b"99999999999999999999", b'"attachments":[', b" - at `$", b"`", b"\\\\",
        b'"kind":"URL\\n"', b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"{}", b",", b"null",
    ),
    largest=EVENT_BYTES,
    most_lines=3_000,
)  # fmt: skip
