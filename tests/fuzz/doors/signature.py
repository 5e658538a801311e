"""Received webhooks: our library accepts only webhooks with a valid signature. The reference library must
accept the same webhooks."""

import base64
import contextlib
import json

from standardwebhooks import Webhook, WebhookVerificationError

import angarium
from engine.core.destination import SigningKey
from engine.core.vocabulary import SigningAlgorithm
from engine.wire.signing import Signer
from tests.fuzz.door import Door

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
NOW = 1_790_000_000
BODY = b'{"type":"a","data":{}}'
ID = "msg_1"
SIGNATURE = angarium.sign(BODY, SECRET, ID, NOW)
SIGNER = Signer([SigningKey(SigningAlgorithm.HMAC_SHA256, KEY)])


def check(data: bytes) -> None:
    for text in (data.decode("latin-1"), data.decode("utf-8", "surrogateescape")):
        _verified(BODY, ID, str(NOW), text)
        _verified(BODY, text, str(NOW), SIGNATURE)
        _verified(BODY, ID, text, SIGNATURE)
        _verified(text, ID, str(NOW), SIGNATURE)
        with contextlib.suppress(ValueError):
            angarium.verify(BODY, _headers(ID, str(NOW), SIGNATURE), text, now=NOW)
    _verified(data, ID, str(NOW), SIGNATURE)
    signature = SIGNER.header(b"%b.%d.%b" % (ID.encode(), NOW, data), NOW).decode()
    assert signature == angarium.sign(data, SECRET, ID, NOW)
    for body in (data, data + b" "):
        assert _is_genuine(body, ID, str(NOW), signature) == (body == data and _is_json(data))


def _headers(identifier: str, timestamp: str, signature: str) -> dict[str, str]:
    return {
        "Webhook-Id": identifier,
        "webhook-timestamp": timestamp,
        "WEBHOOK-SIGNATURE": signature,
    }


def _is_genuine(body: bytes | str, identifier: str, timestamp: str, signature: str) -> bool:
    try:
        angarium.verify(body, _headers(identifier, timestamp, signature), SECRET, now=NOW)
    except angarium.VerificationError:
        return False
    return True


def _verified(body: bytes | str, identifier: str, timestamp: str, signature: str) -> None:
    genuine = _is_genuine(body, identifier, timestamp, signature)
    unchanged = body in (BODY, BODY.decode()) and identifier == ID
    parts = signature.split(" ")[:8]
    signed = any(_is_same(part) for part in parts)
    near = timestamp == str(NOW)
    assert genuine == (unchanged and signed and near)
    if genuine and len(parts) == 1:
        _reference(signature)


def _is_same(part: str) -> bool:
    version, _, encoded = part.partition(",")
    try:
        return version == "v1" and base64.b64decode(encoded, validate=True) == base64.b64decode(
            SIGNATURE.removeprefix("v1,")
        )
    except ValueError:
        return False


def _reference(signature: str) -> None:
    """The reference library's check of the clock is disabled."""
    reference = Webhook(SECRET)
    reference._Webhook__verify_timestamp = lambda _: _at(NOW)  # type: ignore[attr-defined]  # the clock
    lower = {name.lower(): value for name, value in _headers(ID, str(NOW), signature).items()}
    try:
        reference.verify(BODY, lower)
    except WebhookVerificationError as error:
        raise AssertionError("the reference library does not take it") from error


def _at(seconds: int) -> object:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, tz=UTC)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


DOOR = Door(
    "signature",
    check,
    ("angarium.receiver",),
    (
        SIGNATURE.encode(), b"v1,AAAA " + SIGNATURE.encode(), str(NOW).encode(), ID.encode(), BODY,
        SECRET.encode(), b"whpk_" + base64.b64encode(b"p" * 32), b"v1a," + base64.b64encode(b"s" * 64),
    ),
    (b"v1,", b"v1a,", b" ", b"=", b"whsec_", b"+", b"_", b"-1", b".", b"\xff", b"\xb2", b"\xd9\xa3"),
)  # fmt: skip
