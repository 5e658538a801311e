"""Fuzzed bodies of requests to the control plane. For each body, the control plane either gives a reason
why it refuses the body, or makes a configuration of it that can be stored and shown."""

import json
from functools import partial
from typing import Any

from api.bodies import BODY_BYTES, read_object
from api.envelope import envelope
from api.table import ROUTES
from engine.control.rotation import OF_ROTATION, SecretRotation, rotation_of
from engine.control.shaping import drafted, patched, receiver_of
from engine.control.views import destination_document, signing_view
from engine.core.destination import SigningKey
from engine.core.vocabulary import DestinationStatus, SigningAlgorithm
from engine.drafts import AnyDestinationDraft, DestinationPatch
from engine.model.configuration import DestinationRecord
from engine.model.documents import read
from engine.model.errors import Refusal
from engine.model.headers import created
from engine.templates.catalog import read_catalog
from tests.fuzz.door import Door

CATALOG = read_catalog()
ID = "01890000-0000-7000-8000-000000000000"
MODELS = {route.body for route in ROUTES if route.body is not None}
NOW = 1_700_000_000.0
KEYS = (SigningKey(SigningAlgorithm.HMAC_SHA256, b"k" * 32),)


def check(data: bytes) -> None:
    """Check that each accepted destination can be shown. If a client sends the shown document back as a
    patch, the destination must not change.
    """
    try:
        document = read_object(data)
    except Refusal as refusal:
        _told(refusal)
        return
    assert document == json.loads(data)
    for model in MODELS:
        _refused_or(partial(read, model, document))
    _refused_or(lambda: _destination(document))
    _refused_or(lambda: _patched(document))


def _refused_or(work: Any) -> None:
    try:
        work()
    except Refusal as refusal:
        _told(refusal)


def _told(refusal: Refusal) -> None:
    assert refusal.status < 500
    told = envelope(refusal.code, refusal.message, "r", refusal.details)
    assert json.loads(told)["code"] == refusal.code


def _destination(document: dict[str, Any]) -> None:
    _shown(_record(read(AnyDestinationDraft, document).root))


def _record(draft: Any) -> DestinationRecord:
    headers = created(draft.headers)
    return drafted(
        draft,
        receiver_of(draft, CATALOG),
        id=ID,
        environment=1,
        version=1,
        status=DestinationStatus.ACTIVE,
        customer=None,
        customer_account=None,
        headers=headers,
        signing=KEYS,
        updated_at_ms=1_700_000_000_000,
    )


PRESENT = _record(
    read(
        AnyDestinationDraft,
        {"name": "a", "url": "https://a.example/b", "headers": {"X-Key": "k", "X-A": "b"}},
    ).root
)


def _patched(document: dict[str, Any]) -> None:
    read(DestinationPatch, document)
    rotation = rotation_of(document)
    patch = {name: value for name, value in document.items() if name not in OF_ROTATION}
    after = patched(PRESENT, patch, CATALOG, rotation=rotation, now=NOW)
    _shown(after)
    shown = destination_document(after)
    again = patched(after, shown, CATALOG, rotation=SecretRotation(), now=NOW)
    assert destination_document(again) == shown


def _shown(record: DestinationRecord) -> None:
    text = json.dumps([destination_document(record), signing_view(record, NOW)], allow_nan=False)
    text.encode()


DOOR = Door(
    "configuration",
    check,
    ("api.bodies", "engine.control", "engine.model.json_members", "engine.model.complaints"),
    (
        b'{"name":"Orders","url":"https://example.com/hooks","headers":{"X-Tenant":"42"},"delivery":'
        b'{"concurrency":8,"ordering":"KEY","timeoutMs":15000,"rateLimitPerSecond":1.5,"retrySchedule":[5]}}',
        b'{"templateId":"slack","name":"x","config":{"webhookUrl":"https://hooks.slack.com/services/T/B/x"}}',
        b'{"templateId":"webhook","name":"x","config":{"url":"https://a.example"}}',
        b'{"headers":{"x-a":null,"X-Key":"***"},"url":"https://b.example","delivery":null}',
        b'{"name":"r","destinationId":"01890000-0000-7000-8000-000000000000","eventTypes":["order.*"],'
        b'"filter":"event.payload.total > 100","priority":"HIGH"}',
        b'{"a":"\\ud800","b":1e999,"c":-0,"d":[[[]]],"a":2}',
    ),
    (
        b'"', b"\\", b'\\"', b"\\u0000", b"\\ud83d\\ude00", b"\\ud800", b"1e999", b"-0", b"NaN", b"null",
        b"[[[[[[[[", b"]]]]]]]]", b'"name":', b'"url":', b'"config":', b'"headers":', b'"delivery":',
        b'"***"', b"9" * 30, b"\r\n", b'"templateId":"github"', b"\x00", b"\xed\xa0\x80", b'"":',
    ),
    most_lines=30_000,  # two lines for each of 10,000 objects
    largest=BODY_BYTES,
)  # fmt: skip
