"""Event schemas. Each JSON text is either refused with a reason, or compiled to a schema with a limited
weight. The compiled schema either accepts a payload, or refuses it with a reason."""

import json

from api.bodies import read_object
from api.envelope import envelope
from engine.ingest.event_json import read_event
from engine.model.errors import Refusal
from engine.schemas.compiled import CompiledSchema, judged
from engine.schemas.patterns import pattern_size
from engine.schemas.weight import MAX_WEIGHT
from tests.fuzz.door import Door

PAYLOADS = (
    b"{}",
    b'{"a":1,"b":[1,2.5,"x",null,true],"c":{"a":{"b":[]}},"d":"2026-11-20T12:00:00Z"}',
    b'{"a":"\\ud800","a":1e999,"b":123456789012345678901234567890,"c":-0,"d":1.00000000000000000001}',
)
BYTES = 4_096  # enough for every expensive schema


def check(data: bytes) -> None:
    data = data[:BYTES]
    size = pattern_size(data.decode("latin-1"))
    assert size >= 0
    try:
        document = read_object(data)
    except Refusal:
        return
    try:
        compiled, weight = judged(document.get("schema"))
    except Refusal as refusal:
        _told(refusal)
        return
    assert 0 <= weight <= MAX_WEIGHT
    payloads = [*PAYLOADS]
    if "payload" in document:
        payloads.append(json.dumps(document["payload"]).encode())
    for payload in payloads:
        _check_payload(compiled, payload)
    if "example" in document:
        _refused_or(compiled, document["example"])


def _check_payload(compiled: CompiledSchema, payload: bytes) -> None:
    if payload[:1] == b"{":
        read_event(b'{"eventType":"a","payload":' + payload + b"}")
    try:
        compiled.check(payload)
    except Refusal as refusal:
        assert refusal.code == "schema_violation"
        _told(refusal)


def _refused_or(compiled: CompiledSchema, example: object) -> None:
    try:
        compiled.check_example(example)
    except Refusal as refusal:
        _told(refusal)


def _told(refusal: Refusal) -> None:
    assert refusal.status == 400
    assert all(len(detail.message) <= 1_000 for detail in refusal.details)
    json.loads(envelope(refusal.code, refusal.message, "r", refusal.details))


DOOR = Door(
    "schema",
    check,
    ("engine.schemas", "api.bodies", "engine.model.json_members"),
    (
        b'{"schema":{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":0},'
        b'"b":{"items":{"type":"number"}}},"additionalProperties":false},"payload":{"a":-1}}',
        b'{"schema":{"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"const":1}]}},"$ref":"#/$defs/x"}}',
        b'{"schema":{"properties":{"c":{"$ref":"#"},"d":{"format":"date-time"}}},"payload":{"c":{"c":{}}}}',
        b'{"schema":{"patternProperties":{"^[a-z]{1,9}$":{"pattern":"^(a|b)*c$"}}},"example":{"a":"b"}}',
        b'{"schema":{"oneOf":[{"required":["a"]},{"not":{}}],"unevaluatedProperties":false},"payload":{}}',
        b'{"schema":{"$id":"https://x.example/a","$anchor":"b","allOf":[{"$ref":"#b"}],"multipleOf":0.1}}',
        b'{"schema":true,"payload":1}',
    ),
    (
        b'"$ref":"#"', b'"$ref":"', b"#/", b"/", b"~1", b"~0", b'"$defs":{', b'"allOf":[', b'"anyOf":[',
        b'"items":', b'"pattern":"', b"[", b"]", b"\\\\", b"(?=", b"{1,999}", b"\\\\p{L}", b'"format":"',
        b'"uniqueItems":true', b'"$dynamicRef":"#a"', b'"$id":"', b"http://json-schema.org/draft-07/schema",
        b"1e999", b"-0", b'"multipleOf":', b'"enum":[', b'"const":', b'"type":"', b'"minLength":',
        b"null", b'"idn-hostname"', b'"regex"', b'"uri"', b'"$schema":', b"%25", b"\\ud800",
    ),
    largest=BYTES,
)  # fmt: skip
